import CompositeOperations
import Foundation

// What a queue looks for from time to time: what other processes did, and what has become due.

/// What was seen the last time.
struct PollState {
  var dataVersion: Int64?
  var clockOffset: Int64?
  var leaseProlongedAt: Int64?
  var prunedAt: Int64?
  /// When kinds that are not registered here were seen for the first time.
  var unknownKinds: [String: Int64] = [:]
  var gaveUpAt: Int64?
  var leases = LeaseWatch()
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
    let phase = withLock { $0.state.phase }
    var isFine = false
    if phase != .idle {
      isFine = lookAround(in: store, now: clock.milliseconds)
      pump()
    }
    // What is due still could not be seen to, or is for others to see to: not at once again.
    if isFine { lookAhead(in: store, now: clock.milliseconds) } else { wakeWaiters(in: store) }
    setAlarm(in: longestPause)
  }

  /// How long it is from one look to the next at most: a lease is prolonged three times before it ends.
  private var longestPause: Duration {
    min(configuration.pollInterval, max(configuration.leaseDuration / 3, .milliseconds(1)))
  }

  /// Each part is tried even if another fails. Returns false if one does.
  private func lookAround(in store: JobStore, now: Int64) -> Bool {
    let parts = [
      watchClock, prolongLease, rescue, enqueuePeriodicJobs, promote, pruneNowAndThen, lookForUnknownKinds,
      lookAtOthers,
    ]
    var failure: (any Error)?
    for part in parts {
      do {
        try part(store, now)
      } catch {
        failure = failure ?? error
        // Each further part would wait as long.
        if (error as? DatabaseError)?.code == .busy { break }
      }
    }
    if store.hasFreedJobs { withLock { $0.state.workMayHaveCome() } }
    if let failure { events.tell(.databaseFailed(DatabaseError(any: failure))) }
    return failure == nil
  }

  private func promote(in store: JobStore, now: Int64) throws {
    guard let due = try store.nextDue(), due <= now else { return }
    if try store.transaction({ try store.promote(now: now) }) > 0 { withLock { $0.state.workMayHaveCome() } }
  }

  private func lookAtOthers(in store: JobStore, now: Int64) throws {
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
    let worker = withLock { storage in
      storage.state.setPaused(paused)
      return storage.state.worker
    }
    guard let worker else { return }
    for id in try store.cancelRequests(worker: worker) { interrupt(id, .cancelRequest) }
  }

  /// Cancels the operation of a job that runs here.
  func interrupt(_ id: JobID, _ reason: Execution.Interruption) {
    let execution = withLock { storage in storage.executionNumbers[id].flatMap { storage.executions[$0] } }
    if let execution { interrupt(execution, reason) }
  }

  // MARK: - Parts of it

  /// The time to count delays and leases from. What is stored was counted with a clock that shows the same: one that was
  /// set anew since is noticed here, so that what is stored now does not move with what was stored before.
  func time(in store: JobStore) throws -> Int64 {
    let now = clock.milliseconds
    let offset = now - clock.uptime().milliseconds
    if isClockKnown(offset: offset) { return now }
    try store.transaction { try store.clockShows(now, offset: offset, boot: clock.bootID) }
    withLock { $0.watch.clockOffset = offset }
    return now
  }

  private func isClockKnown(offset: Int64) -> Bool {
    withLock { $0.watch.clockOffset.map { abs(offset - $0) <= 1000 } ?? false }
  }

  private func watchClock(in store: JobStore, now: Int64) throws {
    _ = try time(in: store)
  }

  private func prolongLease(in store: JobStore, now: Int64) throws {
    let lease = configuration.leaseDuration.milliseconds
    let (worker, last) = withLock { ($0.state.worker, $0.watch.leaseProlongedAt) }
    if let last, now >= last, now - last < lease / 3 { return }
    let kinds = withLock { Array($0.registrations.keys) }
    let isKept = try store.transaction {
      try store.noteTime(now)
      try store.noteKnown(kinds, now: now)
      return try worker.map { try store.prolongLease(of: $0, until: now + lease) } ?? true
    }
    withLock { storage in
      storage.watch.leaseProlongedAt = now
      if !isKept { storage.state.workerWasLost() }
    }
    if !isKept { interruptAll(.lostLease) }
  }

  private func rescue(in store: JobStore, now: Int64) throws {
    let own = withLock { $0.state.worker }
    // As long as the leases were not moved with the clock they tell nothing.
    let now = clock.milliseconds
    let isClockKnown = isClockKnown(offset: now - clock.uptime().milliseconds)
    let workers = try store.workers().filter { $0.id != own }
    let unchanged = withLock { storage in
      storage.watch.leases.ages(of: workers, at: clock.uptime(), longest: longestPause * 2)
    }
    let lost = workers.compactMap { worker -> (row: WorkerRow, hasCrashed: Bool)? in
      let liveness = worker.identity.liveness()
      let isOver = worker.hasRunOut(
        at: isClockKnown ? now : nil, unchangedFor: unchanged[worker.id] ?? .zero, isAlive: liveness == .alive)
      // The jobs of one that is there for sure, and stood still, did nothing wrong.
      return liveness == .dead || isOver ? (worker, liveness != .alive) : nil
    }
    guard !lost.isEmpty else { return }
    let hasRescued = try store.transaction {
      // Another process may have been faster, or theirs may have come back.
      let leases = try Dictionary(uniqueKeysWithValues: store.workers().map { ($0.id, $0.leaseUntil) })
      return try lost.filter { leases[$0.row.id] == $0.row.leaseUntil }.map { worker in
        try store.rescue(
          from: worker.row.id, hasCrashed: worker.hasCrashed, maxCrashes: configuration.maxCrashes, now: now)
      }.contains(true)
    }
    if hasRescued { withLock { $0.state.workMayHaveCome() } }
  }

  private func enqueuePeriodicJobs(in store: JobStore, now: Int64) throws {
    if try store.hasPeriodicJobsFarAhead(of: now) {
      try store.transaction { try store.bringBackPeriodicJobs(now: now) }
    }
    guard let next = try store.nextOccurrence(), next <= now else { return }
    let (enqueued, unreadable) = try store.transaction { try store.enqueueOccurrences(now: now) }
    didEnqueue(enqueued, in: store)
    if let unreadable { throw unreadable }
  }

  private func pruneNowAndThen(in store: JobStore, now: Int64) throws {
    let duration: Duration
    switch configuration.retention {
    case .none: duration = .zero
    case .keep(let time): duration = time
    case .forever: return
    }
    // As often as half of the time that they are kept for, at most once a minute.
    let interval = min(max(duration.milliseconds / 2, 1000), 60_000)
    if let last = withLock({ $0.watch.prunedAt }), now >= last, now - last < interval { return }
    withLock { $0.watch.prunedAt = now }
    try prune(in: store, finishedBefore: now - duration.milliseconds)
  }

  private func prune(in store: JobStore, finishedBefore time: Int64) throws {
    guard try store.transaction({ try store.prune(finishedBefore: time) }) else { return }
    goOnLater { core, store in try core.prune(in: store, finishedBefore: time) }
  }

  /// Does a further part of something long: rounds go on in between.
  private func goOnLater(_ part: @escaping @Sendable (QueueCore, JobStore) throws -> Void) {
    database.async { [weak self] store in
      guard let self else { return }
      do { try part(self, store) } catch { events.tell(.databaseFailed(DatabaseError(any: error))) }
    }
  }

  private func lookForUnknownKinds(in store: JobStore, now: Int64) throws {
    let registered = withLock { Set($0.registrations.keys) }
    guard events.isHeard || configuration.unknownKinds != .leave else { return }
    let kinds = try store.unknownKinds(besides: registered)
    for kind in kinds {
      let isNew = withLock { storage in
        if storage.watch.unknownKinds[kind.name] != nil { return false }
        storage.watch.unknownKinds[kind.name] = now
        return true
      }
      if isNew { events.tell(.unknownKind(kind.name)) }
    }
    guard case .dead(let after) = configuration.unknownKinds else { return }
    let limit = after.milliseconds
    // Looking for them reads all that wait.
    let interval = min(max(limit / 10, 1000), 60_000)
    if let last = withLock({ $0.watch.gaveUpAt }), now >= last, now - last < interval { return }
    withLock { $0.watch.gaveUpAt = now }
    // Kinds are often registered a moment after the start.
    let patience = min(limit, configuration.leaseDuration.milliseconds)
    let seen = withLock { $0.watch.unknownKinds }
    for kind in kinds where kind.knownAt < now - limit && now - (seen[kind.name] ?? now) >= patience {
      try giveUp(kind, in: store, dueBefore: now - limit, now: now)
    }
  }

  private func giveUp(_ kind: UnknownKind, in store: JobStore, dueBefore: Int64, now: Int64) throws {
    let ids = try store.jobs(ofKind: kind.id, dueBefore: dueBefore)
    guard !ids.isEmpty else { return }
    try store.transaction { try store.giveUp(ids, kind: kind.name, now: now) }
    withLock { $0.state.workMayHaveCome() }
    goOnLater { core, store in try core.giveUp(kind, in: store, dueBefore: dueBefore, now: now) }
  }

  // MARK: - The next time

  /// Sets the alarm for what becomes due before the next look, and wakes those who wait until nothing is.
  func lookAhead(in store: JobStore, now: Int64) {
    do {
      let next = try [store.nextDue(), store.nextOccurrence()].compactMap { $0 }.min()
      if let next { setAlarm(in: .milliseconds(max(next - now, 1))) }
    } catch {
      // It is found at the next look.
    }
    wakeWaiters(in: store)
  }

  /// Has `poll` called after a time, or earlier.
  func setAlarm(in delay: Duration) {
    let timekeeper = clock.timekeeper
    let time = timekeeper.now + delay
    let (number, replaced) = withLock { storage -> (Int?, Timekeeper.Timer?) in
      guard storage.state.phase != .idle || !storage.waiters.isEmpty else { return (nil, nil) }
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
