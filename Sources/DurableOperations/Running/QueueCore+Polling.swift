import CompositeOperations
import Foundation

// What a queue looks for from time to time: what other processes did, and what has become due.

/// What was seen the last time.
struct PollState {
  var dataVersion: Int64?
  var clockOffset: Int64?
  /// Whether the clock was set back since periodic jobs were looked at, or nobody looked before.
  var mayBeSetBack = true
  var leaseProlongedAt: Int64?
  var prunedAt: Int64?
  /// When kinds that are not registered here were seen for the first time.
  var unknownKinds: [KindName: Int64] = [:]
  var gaveUpAt: Int64?
  var reserveMadeAt: Int64?
  var hasUsedReserve = false
  var leases = LeaseWatch()
  var hasOtherWorkers = false
  /// Whether it was told that the device is locked.
  var isDeviceLocked = false
}

/// How long leases of others have been as they are, by the time that goes on whatever the date is set to.
struct LeaseWatch {
  private var seen: [Int64: (until: Int64, age: Duration)] = [:]
  private var lastLook: Duration?

  /// - Parameter longest: how long it is from one look to the next at most. If it was longer the machine slept, or this
  ///   process stood still, and the others may have, too.
  mutating func ages(of workers: [WorkerRow], at uptime: Duration, longest: Duration) -> [Int64: Duration] {
    let step = lastLook.map { min(max(uptime - $0, .zero), longest) } ?? .zero
    lastLook = uptime
    var now: [Int64: (until: Int64, age: Duration)] = [:]
    for worker in workers {
      let before = seen[worker.id].flatMap { $0.until == worker.leaseUntil ? $0.age + step : nil }
      now[worker.id] = (worker.leaseUntil, before ?? .zero)
    }
    seen = now
    return now.mapValues(\.age)
  }
}

extension QueueCore {
  /// Looks around. On the database's queue.
  func poll(_ store: JobStore) {
    let (phase, isSuspended) = withLock { ($0.state.phase, $0.suspension != nil) }
    if isSuspended { return }
    var isFine = false
    if phase != .idle {
      giveBackWhatIsHeldBack()
      isFine = lookAround(in: store)
      makeReserveNowAndThen()
      pump()
    }
    // What is due still could not be seen to, or is for others to see to: not at once again.
    if isFine { lookAhead(in: store) } else { wakeWaiters(in: store) }
    if let pause = longestPause { setAlarm(in: pause) }
    // A queue that does not poll would not look again.
    if !isFine, phase != .idle { setAlarm(in: Self.pauseAfterFailure) }
  }

  private static let pauseAfterFailure = Duration.seconds(5)

  /// How long it is from one look to the next at most; nil for as long as it takes until something happens.
  var longestPause: Duration? {
    // A lease is watched, and prolonged three times before it ends.
    let hasLeases = withLock { $0.state.worker != nil || $0.watch.hasOtherWorkers }
    let third = hasLeases ? max(configuration.leaseDuration / 3, .milliseconds(1)) : nil
    return [configuration.pollInterval, third].compactMap { $0 }.min()
  }

  /// Each part is tried even if another fails. Returns false if one does.
  private func lookAround(in store: JobStore) -> Bool {
    let parts = [
      watchClock, giveBackOwedJobs, prolongLease, rescue, enqueuePeriodicJobs, promote, pruneNowAndThen,
      lookForUnknownKinds,
      lookAtOthers,
    ]
    var failure: (any Error)?
    for part in parts {
      do {
        try part(store)
      } catch {
        failure = failure ?? error
        // Each further part would wait as long.
        if (error as? DatabaseError)?.code == .busy { break }
      }
    }
    if store.hasFreedJobs { withLock { $0.state.workMayHaveCome() } }
    if let failure { tellFailure(failure) } else { withLock { $0.watch.isDeviceLocked = false } }
    return failure == nil
  }

  private func promote(in store: JobStore) throws {
    guard let due = try store.nextDue(), due <= store.now else { return }
    if try store.transaction({ try store.promote() }) > 0 {
      withLock { $0.state.workMayHaveCome() }
    }
  }

  private func lookAtOthers(in store: JobStore) throws {
    let version = try store.dataVersion()
    let hasChanged = withLock { storage in
      let hasChanged = storage.watch.dataVersion != version
      if hasChanged { storage.state.workMayHaveCome() }
      storage.watch.dataVersion = version
      return hasChanged
    }
    if hasChanged { try readWishes(in: store) }
  }

  /// What other processes have asked for.
  func readWishes(in store: JobStore) throws {
    let paused = try store.pausedKinds()
    withLock { $0.state.setPaused(paused) }
    try readCancelRequests(in: store)
  }

  /// Cancels some jobs, in a transaction. Operations of theirs are cancelled when it has succeeded.
  func cancel(_ ids: ArraySlice<JobID>, in store: JobStore) throws -> Int {
    let (count, isAnyExecuting) = try store.cancel(ids)
    if isAnyExecuting { database.async { [weak self] store in try? self?.readCancelRequests(in: store) } }
    return count
  }

  /// Cancels the operations of jobs whose cancel is stored.
  func readCancelRequests(in store: JobStore) throws {
    guard let worker = withLock({ $0.state.worker }) else { return }
    for id in try store.cancelRequests(worker: worker) { interrupt(id, .cancelRequest) }
  }

  /// Cancels the operation of a job that runs here.
  func interrupt(_ id: JobID, _ reason: Execution.Interruption) {
    let execution = withLock { storage in storage.executionNumbers[id].flatMap { storage.executions[$0] } }
    if let execution { interrupt(execution, reason) }
  }

  /// Tells that the database did not do what is needed. That the device is locked is told once, until it is not.
  func tellFailure(_ error: any Error) {
    let error = DatabaseError(any: error)
    let isKnown = withLock { storage in
      guard error.code == .deviceLocked else { return false }
      defer { storage.watch.isDeviceLocked = true }
      return storage.watch.isDeviceLocked
    }
    if !isKnown { events.tell(.databaseFailed(error)) }
  }

  // MARK: - Parts of it

  /// What is stored was counted with a clock that shows the same as this one: one that was set anew since is noticed here, so
  /// that what is stored next does not move with what was stored before. Not inside of a transaction.
  func watchClock(in store: JobStore) throws {
    if isClockKnown(offset: clock.offset) { return }
    try store.transaction {
      let offset = clock.offset
      try store.clockShows(offset: offset, boot: clock.bootID)
      withLock { storage in
        if let before = storage.watch.clockOffset, offset < before { storage.watch.mayBeSetBack = true }
        storage.watch.clockOffset = offset
      }
    }
  }

  private func isClockKnown(offset: Int64) -> Bool {
    withLock { $0.watch.clockOffset.map { abs(offset - $0) <= 1000 } ?? false }
  }

  private func prolongLease(in store: JobStore) throws {
    let now = store.now
    let lease = configuration.leaseDuration.milliseconds
    let (worker, last) = withLock { ($0.state.worker, $0.watch.leaseProlongedAt) }
    if let last, now >= last, now - last < lease / 3 { return }
    let (kinds, isIdle) = withLock {
      (Array($0.registrations.keys), $0.executions.isEmpty && $0.state.runningCount == 0)
    }
    if isIdle {
      if let worker { try leave(worker, in: store) }
      // A queue that is idle does not write, unless a job waits here that others may take for one of a kind that nobody knows.
      if try !store.isAnythingDue(of: kinds) { return }
    }
    let isKept = try store.transaction {
      try store.noteTime()
      try store.noteKnown(kinds)
      let worker = withLock { $0.state.worker }
      return try worker.map { try store.prolongLease(of: $0, by: lease) } ?? true
    }
    withLock { storage in
      storage.watch.leaseProlongedAt = now
      if !isKept { storage.state.workerWasLost() }
    }
    if !isKept { interruptAll(.lostLease) }
  }

  /// Takes this process out of those that run jobs, until it claims one.
  private func leave(_ worker: Int64, in store: JobStore) throws {
    guard try store.transaction({ try store.removeIdleWorker(worker) }) else { return }
    withLock { $0.state.workerWasLost() }
  }

  private func rescue(in store: JobStore) throws {
    let own = withLock { $0.state.worker }
    // As long as the leases were not moved with the clock they tell nothing.
    let now = store.now
    let isClockKnown = isClockKnown(offset: clock.offset)
    let workers = try store.workers().filter { $0.id != own }
    withLock { $0.watch.hasOtherWorkers = !workers.isEmpty }
    let longest = (longestPause ?? configuration.leaseDuration / 3) * 2
    let unchanged = withLock { storage in
      storage.watch.leases.ages(
        of: workers, at: clock.uptime(), longest: longest)
    }
    let lost = workers.compactMap { worker -> (row: WorkerRow, loss: WorkerLoss)? in
      let liveness = worker.identity.liveness()
      let isOver = worker.hasRunOut(
        at: isClockKnown ? now : nil, unchangedFor: unchanged[worker.id] ?? .zero, isAlive: liveness == .alive)
      return switch liveness {
      case .dead: (worker, .ofDeadProcess)
      case .unknown: isOver ? (worker, .lapsed) : nil
      case .alive: isOver ? (worker, .stoodStill) : nil
      }
    }
    let orphaning = try store.orphaningWorkers()
    guard !lost.isEmpty || !orphaning.isEmpty else { return }
    let hasRescued = try store.transaction {
      // Another process may have been faster, or theirs may have come back.
      let leases = try Dictionary(store.workers().map { ($0.id, $0.leaseUntil) }, uniquingKeysWith: { $1 })
      for worker in orphaning where leases[worker] == nil {
        try store.rescue(from: worker, after: .stoodStill, maxCrashes: nil)
      }
      return try lost.filter { leases[$0.row.id] == $0.row.leaseUntil }.map { worker in
        try store.rescue(
          from: worker.row.id, after: worker.loss, maxCrashes: configuration.maxCrashes,
          maxLapses: configuration.maxLapses)
      }.contains(true) || !orphaning.isEmpty
    }
    if hasRescued { withLock { $0.state.workMayHaveCome() } }
  }

  /// The clock is read inside of the transaction: whoever waited for it, or stood still, would compare the time from before
  /// with what others have stored since.
  private func enqueuePeriodicJobs(in store: JobStore) throws {
    if withLock(\.watch.mayBeSetBack) {
      if try store.hasPeriodicJobsFarAhead() {
        try store.transaction { try store.bringBackPeriodicJobs() }
      }
      withLock { $0.watch.mayBeSetBack = false }
    }
    guard let next = try store.nextOccurrence(), next <= store.now,
      try store.hasOccurrences()
    else { return }
    let (enqueued, unreadable) = try store.transaction { try store.enqueueOccurrences() }
    didEnqueue(enqueued, in: store)
    if let unreadable { throw unreadable }
  }

  private func pruneNowAndThen(in store: JobStore) throws {
    let now = store.now
    let duration: Duration
    switch configuration.retention {
    case .none: duration = .zero
    case .keep(let time): duration = time
    case .forever: return
    }
    let interval = Self.pruneInterval(keeping: duration)
    if let last = withLock({ $0.watch.prunedAt }), now >= last, now - last < interval { return }
    withLock { $0.watch.prunedAt = now }
    try prune(in: store, finishedBefore: now - duration.milliseconds)
  }

  /// As often as half of the time that jobs are kept for, at most once a minute.
  private static func pruneInterval(keeping duration: Duration) -> Int64 {
    min(max(duration.milliseconds / 2, 1000), 60_000)
  }

  private func prune(in store: JobStore, finishedBefore time: Int64) throws {
    guard try store.transaction({ try store.prune(finishedBefore: time) }) else { return }
    goOnLater { core, store in try core.prune(in: store, finishedBefore: time) }
  }

  /// Does a further part of something long: rounds go on in between.
  private func goOnLater(_ part: @escaping @Sendable (QueueCore, JobStore) throws -> Void) {
    database.async { [weak self] store in
      guard let self, withLock({ $0.suspension == nil }) else { return }
      do { try part(self, store) } catch { events.tell(.databaseFailed(DatabaseError(any: error))) }
    }
  }

  private func lookForUnknownKinds(in store: JobStore) throws {
    let now = store.now
    let registered = withLock { Set($0.registrations.keys) }
    guard events.isHeard || configuration.unknownKinds != .leave else { return }
    let kinds = try store.unknownKinds(besides: registered)
    for kind in kinds {
      let isNew = withLock { storage in
        if storage.watch.unknownKinds[KindName(kind.name)] != nil { return false }
        storage.watch.unknownKinds[KindName(kind.name)] = now
        return true
      }
      if isNew { events.tell(.unknownKind(kind.name)) }
    }
    guard case .dead(let after) = configuration.unknownKinds else { return }
    let limit = after.milliseconds
    let interval = Self.unknownKindsInterval(limit: limit)
    if let last = withLock({ $0.watch.gaveUpAt }), now >= last, now - last < interval { return }
    withLock { $0.watch.gaveUpAt = now }
    let patience = patienceWithUnknownKinds(limit: limit)
    let seen = withLock { $0.watch.unknownKinds }
    for kind in kinds where kind.knownAt < now - limit && now - (seen[KindName(kind.name)] ?? now) >= patience {
      try giveUp(kind, in: store, dueBefore: now - limit)
    }
  }

  /// Looking for their jobs reads all that wait.
  private static func unknownKindsInterval(limit: Int64) -> Int64 { min(max(limit / 10, 1000), 60_000) }

  /// Kinds are often registered a moment after the start.
  private func patienceWithUnknownKinds(limit: Int64) -> Int64 {
    min(limit, configuration.leaseDuration.milliseconds)
  }

  /// When jobs of a kind that nobody knows may have waited too long. A queue that polls finds it anyway.
  private func nextLookForUnknownKinds(in store: JobStore) throws -> Int64? {
    guard configuration.pollInterval == nil, case .dead(let after) = configuration.unknownKinds else { return nil }
    let limit = after.milliseconds, patience = patienceWithUnknownKinds(limit: limit)
    let (registered, seen, last) = withLock { storage in
      (Set(storage.registrations.keys), storage.watch.unknownKinds, storage.watch.gaveUpAt)
    }
    let now = store.now
    let earliest = last.map { $0 + Self.unknownKindsInterval(limit: limit) } ?? now
    return try store.unknownKinds(besides: registered).map { kind in
      max(min(kind.knownAt, .max / 4) + limit + 1, (seen[KindName(kind.name)] ?? now) + patience, earliest)
    }.min()
  }

  private func giveUp(_ kind: UnknownKind, in store: JobStore, dueBefore: Int64) throws {
    let ids = try store.jobs(ofKind: kind.id, dueBefore: dueBefore)
    guard !ids.isEmpty else { return }
    try store.transaction { try store.giveUp(ids, kind: kind.name) }
    withLock { $0.state.workMayHaveCome() }
    goOnLater { core, store in try core.giveUp(kind, in: store, dueBefore: dueBefore) }
  }

  // MARK: - The next time

  /// Sets the alarm for what becomes due before the next look, and wakes those who wait until nothing is.
  func lookAhead(in store: JobStore) {
    do {
      let next = try [
        store.nextDue(), store.nextOccurrence(), nextPruning(in: store), nextLookForUnknownKinds(in: store),
      ].compactMap { $0 }.min()
      if let next { setAlarm(in: .milliseconds(max(next.clampedDifference(to: store.now), 1))) }
    } catch {
      setAlarm(in: Self.pauseAfterFailure)
    }
    wakeWaiters(in: store)
  }

  /// When there is something to delete. A queue that polls finds it anyway.
  private func nextPruning(in store: JobStore) throws -> Int64? {
    guard configuration.pollInterval == nil, case .keep(let time) = configuration.retention else { return nil }
    // Not for each job alone.
    let patience = min(time.milliseconds, .max / 4) + min(time.milliseconds / 2, 60_000)
    // What is not deleted yet then is looked at again after a while, not at once.
    let next = withLock { $0.watch.prunedAt }.map { min($0, .max / 4) + Self.pruneInterval(keeping: time) } ?? .min
    return try store.firstFinish().map { max(min($0, .max / 4) + patience, next) }
  }

  /// Has `poll` called after a time, or earlier.
  func setAlarm(in delay: Duration) {
    let timekeeper = clock.timekeeper
    let time = timekeeper.now + delay
    let (number, replaced) = withLock { storage -> (Int?, Timekeeper.Timer?) in
      guard storage.suspension == nil, storage.state.phase != .idle || !storage.waiters.isEmpty else {
        return (nil, nil)
      }
      if let alarm = storage.alarm, alarm.time <= time { return (nil, nil) }
      storage.lastAlarm += 1
      defer { storage.alarm = (time, storage.lastAlarm, nil) }
      return (storage.lastAlarm, storage.alarm?.timer)
    }
    guard let number else { return }
    if let replaced { timekeeper.cancel(replaced) }
    let timer = timekeeper.at(time) { [weak self] in self?.alarmRang(number) }
    let isReplaced = withLock { storage in
      // It may have rung by now, or made room for an earlier one.
      guard storage.alarm?.number == number else { return true }
      storage.alarm?.timer = timer
      return false
    }
    if isReplaced { timekeeper.cancel(timer) }
  }

  private func alarmRang(_ number: Int) {
    withLock { storage in if storage.alarm?.number == number { storage.alarm = nil } }
    database.async { [weak self] in self?.poll($0) }
  }
}
