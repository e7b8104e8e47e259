import CompositeOperations
import Foundation

// What a queue looks for from time to time: changes by other processes, and jobs that have become
// due.

extension QueueCore {
  /// Looks around. Call on a thread of the store.
  func poll(_ store: any StoreSession) {
    let (phase, isSuspended) = withLock { ($0.state.phase, $0.suspension != nil) }
    if isSuspended { return }
    var seen: StoreLookAnswer?
    if phase != .idle {
      giveBackWhatIsHeldBack()
      seen = lookAround(in: store)
      pump()
    }
    if let seen {
      // Jobs that are still due could not be handled, or are for other processes: do not look again
      // at once.
      lookAhead(Result { try seen.ahead ?? store.ahead(whatIsAhead) }, in: store, isAfterLook: true)
    } else {
      wakeWaiters(in: store)
    }
    if let pause = longestPause {
      setAlarm(in: database.isPaced ? Self.spread(pause, by: .random(in: 0...1)) : pause)
    }
    // A queue that does not poll would not look again.
    if seen == nil, phase != .idle { setAlarm(in: Self.pauseAfterFailure) }
  }

  /// Returns nil if something fails.
  private func lookAround(in store: any StoreSession) -> StoreLookAnswer? {
    defer { store.lookIsOver() }
    var seen = StoreLookAnswer()
    if let failure = failure(ofLookIn: store, &seen) {
      tellFailure(failure, in: .look)
      return nil
    }
    databaseAnswers(in: .look, takesChanges: true)
    return seen
  }

  /// Looks, and acts on what it finds. Tries each part even if another fails.
  private func failure(ofLookIn store: any StoreSession, _ seen: inout StoreLookAnswer) -> (any Error)? {
    var failure: (any Error)?
    /// Returns false if each further part would wait as long.
    func attempt(_ part: () throws -> Void) -> Bool {
      do {
        try part()
      } catch {
        failure = failure ?? error
        return (error as? DatabaseError)?.code != .busy
      }
      return true
    }
    guard attempt({ try giveBackOwedJobs(in: store) }), attempt({ seen = try store.look(question) })
    else { return failure }
    failure = failure ?? seen.failure
    // First: the store reports them only once, whatever becomes of the other parts.
    followWishes(seen)
    for part in [prolongLease, rescue, promote, enqueuePeriodicJobs, pruneNowAndThen, lookForUnknownKinds] {
      guard attempt({ try part(&seen, store) }) else { break }
    }
    return failure
  }

  private var question: StoreLook {
    var ahead = whatIsAhead
    let (worker, kinds) = withLock { ($0.state.worker, Array($0.registrations.keys)) }
    if wantsUnknownKinds { ahead.knownKinds = Set(kinds) }
    return StoreLook(worker: worker, kinds: kinds, ahead: ahead)
  }

  // MARK: - What others want

  private func followWishes(_ seen: StoreLookAnswer) {
    guard let wishes = seen.wishes else { return }
    withLock { storage in
      if wishes.mayHaveWork { storage.state.workMayHaveCome() }
      storage.state.setRules(wishes.rules)
    }
    cancelElsewhere(withLock { $0.interrupt(wishes.cancelRequests, .cancelRequest) })
  }

  /// Applies the stored rules of kinds after this process changed them: after work under way, which
  /// may have read them before.
  func followKindRules() {
    database.async { [weak self] store in
      guard let self else { return }
      do {
        let rules = try store.kindRules()
        withLock { storage in
          storage.state.setRules(rules)
          storage.state.workMayHaveCome()
        }
        pump()
      } catch {
        // The next look sees it.
        setAlarm(in: Self.pauseAfterFailure)
      }
    }
  }

  /// Cancels some jobs in a transaction. Cancels their operations once it has succeeded.
  func cancel(_ ids: ArraySlice<JobID>, in store: any StoreSession) throws -> Int {
    let (count, isAnyExecuting) = try store.cancel(ids)
    if isAnyExecuting { followCancelRequests() }
    return count
  }

  /// Cancels the operations of jobs with a stored cancel request: after a round that is under way,
  /// since its claims are not known before.
  func followCancelRequests() {
    database.async { [weak self] store in
      guard let self, let worker = withLock({ $0.state.worker }) else { return }
      // The next look sees what cannot be read.
      let ids = (try? store.cancelRequests(worker: worker)) ?? []
      cancelElsewhere(withLock { $0.interrupt(ids, .cancelRequest) })
    }
  }

  /// Handles a stored cancel request. Cancels the job's operation at once if it is known by now.
  func cancelIsStored(of id: JobID) {
    for execution in withLock({ $0.interrupt([id], .cancelRequest) }) { cancel(execution) }
    followCancelRequests()
  }

  // MARK: - Workers

  private func prolongLease(_ seen: inout StoreLookAnswer, in store: any StoreSession) throws {
    let now = seen.now
    let lease = configuration.leaseDuration
    let (worker, last) = withLock { ($0.state.worker, $0.watch.leaseProlongedAt) }
    if let last, now >= last, now - last < lease.milliseconds / 3 { return }
    let (kinds, isIdle) = withLock {
      (Array($0.registrations.keys), $0.executions.isEmpty && $0.state.runningCount == 0)
    }
    if isIdle {
      if let worker, try store.leave(worker) { withLock { $0.state.workerWasLost() } }
      // An idle queue does not write, unless a job waits here that other processes may take for one
      // of an unknown kind.
      if try !(seen.isAnythingDue ?? store.isAnythingDue(of: kinds)) { return }
    }
    let isKept = try store.prolongLease(of: withLock { $0.state.worker }, by: lease, knowing: kinds)
    withLock { storage in
      storage.watch.leaseProlongedAt = now
      if !isKept { storage.state.workerWasLost() }
    }
    if !isKept { cancelElsewhere(withLock { $0.interruptAll(.lostLease) }) }
  }

  private func rescue(_ seen: inout StoreLookAnswer, in store: any StoreSession) throws {
    guard let others = seen.others else { return }
    withLock { $0.watch.hasOtherWorkers = !others.isEmpty }
    let longest = (longestPause ?? configuration.leaseDuration / 3) * 2
    let uptime = clock.uptime()  // under no lock: the clock may be the user's
    let unchanged = withLock { $0.watch.leases.ages(of: others, at: uptime, longest: longest) }
    let lost = others.compactMap { worker -> (row: WorkerRow, loss: WorkerLoss)? in
      let loss = worker.loss(
        worker.identity.liveness(seenFrom: configuration.processIdentity),
        at: seen.areLeasesComparable ? seen.now : nil, unchangedFor: unchanged[worker.id] ?? .zero,
        connectedFor: seen.connectedFor)
      return loss.map { (worker, $0) }
    }
    guard !lost.isEmpty || !seen.orphaning.isEmpty else { return }
    seen.ahead = nil
    let hasRescued = try store.rescue(
      LostWorkers(
        workers: lost, orphaning: seen.orphaning, maxCrashes: configuration.maxCrashes,
        maxLapses: configuration.maxLapses))
    if hasRescued { withLock { $0.state.workMayHaveCome() } }
  }

  // MARK: - What is due

  private func enqueuePeriodicJobs(_ seen: inout StoreLookAnswer, in store: any StoreSession) throws {
    let now = seen.now
    let isToBeTriedAgain = withLock { $0.watch.periodicFailedAt }.map { failedAt in
      now < failedAt || now - failedAt >= Self.pauseAfterFailure.milliseconds
    }
    guard seen.arePeriodicJobsDue || isToBeTriedAgain == true else { return }
    seen.ahead = nil
    let occurrences = try store.enqueueOccurrences()
    let enqueued = occurrences.enqueued
    didEnqueue(enqueued, in: store)
    if occurrences.isMoreDue { enqueueFurtherOccurrences() }
    guard let unreadable = occurrences.unreadable else { return withLock { $0.watch.periodicFailedAt = nil } }
    // That passes, unlike what is wrong with one of them: the look fails, and the next one tries
    // again.
    if let error = unreadable as? DatabaseError, error.code == .busy || Outage.cause(of: error) != nil { throw error }
    if isToBeTriedAgain ?? true { events.tell(.databaseFailed(DatabaseError(any: unreadable))) }
    // Those that were enqueued may have further times, for which the next look is at once.
    if enqueued.isEmpty { withLock { $0.watch.periodicFailedAt = now } }
  }

  /// Enqueues the times that are due though no time passes, as on a clock of a test.
  private func enqueueFurtherOccurrences() {
    goOnLater { core, store in
      guard core.withLock({ $0.state.phase == .running }) else { return }
      let occurrences = try store.enqueueOccurrences()
      core.didEnqueue(occurrences.enqueued, in: store)
      core.pump()
      if occurrences.isMoreDue { core.enqueueFurtherOccurrences() } else { core.lookAhead(in: store) }
    }
  }

  private func promote(_ seen: inout StoreLookAnswer, in store: any StoreSession) throws {
    guard let due = seen.nextDue, due <= seen.now else { return }
    seen.ahead = nil
    // Also if nothing was promoted: an earlier attempt, whose answer was lost, may have done it.
    _ = try store.promote()
    withLock { $0.state.workMayHaveCome() }
  }

  private func pruneNowAndThen(_ seen: inout StoreLookAnswer, in store: any StoreSession) throws {
    guard let duration = configuration.retention.pruned else { return }
    let now = seen.now
    if let last = withLock({ $0.watch.prunedAt }), now >= last, now - last < Self.pruneInterval(keeping: duration) {
      return
    }
    withLock { $0.watch.prunedAt = now }
    seen.ahead = nil
    try prune(in: store, keeping: duration)
  }

  private func prune(in store: any StoreSession, keeping time: Duration) throws {
    guard try store.prune(keeping: time) else { return }
    goOnLater { core, store in try core.prune(in: store, keeping: time) }
  }

  /// Does a further part of long work: rounds go on in between.
  private func goOnLater(_ part: @escaping @Sendable (QueueCore, any StoreSession) throws -> Void) {
    database.async { [weak self] store in
      guard let self, withLock({ $0.suspension == nil }) else { return }
      do { try part(self, store) } catch { tellFailure(error, in: .look) }
    }
  }

  // MARK: - Unknown kinds

  private var wantsUnknownKinds: Bool { events.isHeard || configuration.unknownKinds != .leave }

  private func lookForUnknownKinds(_ seen: inout StoreLookAnswer, in store: any StoreSession) throws {
    guard wantsUnknownKinds else { return }
    let now = seen.now
    let known = withLock { Set($0.registrations.keys) }
    // If the look has made something due, what was seen at its beginning is outdated.
    let kinds = try (seen.ahead?.unknownKinds ?? store.unknownKinds(besides: known)).filter { !known.contains($0.id) }
    for kind in kinds {
      let isNew = withLock { storage in
        if storage.watch.unknownKinds[KindName(kind.name)] != nil { return false }
        storage.watch.unknownKinds[KindName(kind.name)] = now
        return true
      }
      if isNew { events.tell(.unknownKind(kind.name)) }
    }
    guard case .dead(let after) = configuration.unknownKinds.value else { return }
    let limit = after.milliseconds
    if let last = withLock({ $0.watch.gaveUpAt }), now >= last, now - last < Self.unknownKindsInterval(limit: limit) {
      return
    }
    withLock { $0.watch.gaveUpAt = now }
    let patience = patienceWithUnknownKinds(limit: limit)
    let (firstSeen, silence) = (withLock { $0.watch.unknownKinds }, silenceOfUnknownKinds(limit: limit))
    for kind in kinds where kind.knownAt < now - silence && now - (firstSeen[KindName(kind.name)] ?? now) >= patience {
      seen.ahead = nil
      try giveUp(kind, in: store, dueFor: after)
    }
  }

  private func giveUp(_ kind: UnknownKind, in store: any StoreSession, dueFor time: Duration) throws {
    guard try store.giveUp(kind, dueFor: time) else { return }
    withLock { $0.state.workMayHaveCome() }
    goOnLater { core, store in try core.giveUp(kind, in: store, dueFor: time) }
  }
}
