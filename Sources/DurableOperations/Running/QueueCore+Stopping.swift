import CompositeOperations
import Foundation

// Starting and stopping.

extension QueueCore {
  func start() {
    let (ended, timers): ([CheckedContinuation<Void, Never>]?, [Timekeeper.Timer]) = withLock { storage in
      if storage.suspension != nil {
        storage.suspension?.isToRun = true
        return (nil, [])
      }
      guard storage.state.start() else { return (nil, []) }
      storage.isGraceOver = false
      let timers = storage.overtakeStops()
      return (storage.takeEndedStops(), timers)
    }
    guard let ended else { return }
    for timer in timers { clock.timekeeper.cancel(timer) }
    for waiter in ended { waiter.resume() }
    network.start(configuration.networkMonitor) { [weak self] _ in
      self?.withLock { $0.state.workMayHaveCome() }
      self?.pump()
    }
    database.listen { [weak self] in self?.heard($0) }
    database.async { [self] store in
      do {
        // Attempts from before the start are watched again.
        try store.begin(resuming: withLock { $0.executions.isEmpty ? nil : $0.state.worker })
      } catch {
        tellFailure(error)
      }
      poll(store)
    }
  }

  func stop(grace: Duration, patience: Duration?) async {
    await withCheckedContinuation { continuation in
      stop(grace: grace, patience: patience) { continuation }
    }
  }

  /// Stops; resumes the continuation when nothing runs any longer.
  func stop(grace: Duration, patience: Duration? = nil, waiter: () -> CheckedContinuation<Void, Never>?) {
    let waiter = waiter()
    let (isStopping, places) = withLock { storage -> (Bool, [JobPlace]) in
      storage.suspension?.isToRun = false
      guard storage.state.stop() else { return (false, []) }
      if let waiter { storage.stopWaiters.append(waiter) }
      return (true, storage.state.takeAskedPlaces().compactMap { storage.places.removeValue(forKey: $0) })
    }
    for place in places { place.operation.cancel() }
    guard isStopping else {
      waiter?.resume()
      return
    }
    giveBackWhatIsHeldBack()
    if grace <= .zero {
      graceIsOver()
    } else {
      setGrace(until: clock.timekeeper.now + grace)
    }
    if let patience { setPatience(until: clock.timekeeper.now + max(grace, .zero) + max(patience, .zero)) }
    pump()
  }

  /// The stop with the least patience decides.
  private func setGrace(until end: Timekeeper.Time) {
    let timer = clock.timekeeper.at(end) { [weak self] in self?.graceIsOver() }
    let unneeded = withLock { storage -> Timekeeper.Timer? in
      if let grace = storage.grace, grace.end <= end { return timer }
      defer { storage.grace = (end, timer) }
      return storage.grace?.timer
    }
    if let unneeded { clock.timekeeper.cancel(unneeded) }
  }

  private func setPatience(until end: Timekeeper.Time) {
    let timer = clock.timekeeper.at(end) { [weak self] in self?.patienceIsOver() }
    let unneeded = withLock { storage -> Timekeeper.Timer? in
      guard storage.state.phase == .stopping else { return timer }
      if let patience = storage.patience, patience.end <= end { return timer }
      defer { storage.patience = (end, timer) }
      return storage.patience?.timer
    }
    if let unneeded { clock.timekeeper.cancel(unneeded) }
    // The patience may have ended before it was stored.
    if clock.timekeeper.hasPassed(end) { patienceIsOver() }
  }

  /// Leaves what still runs to the lease; the end of this process does not count against the jobs.
  /// If such a job ends after all while this process runs, its end is written after the next start.
  private func patienceIsOver() {
    let now = clock.timekeeper.now
    let (overtaken, abandoned, waiters) = withLock {
      storage -> ([CheckedContinuation<Void, Never>], [Execution], [CheckedContinuation<Void, Never>]) in
      let overtaken = storage.takeOvertakenStops(at: now)
      guard storage.state.phase == .stopping, let patience = storage.patience, patience.end <= now else {
        return (overtaken, [], [])
      }
      storage.state.giveUp()
      return (overtaken, storage.executions.values.sorted { $0.number < $1.number }, storage.takeStopWaiters())
    }
    // Attempts that a start has overtaken go on.
    for waiter in overtaken { waiter.resume() }
    giveBack(withLock { $0.state.takeUnneededPlaces() })
    for execution in abandoned { events.report(.abandoned(execution.job.id, kind: execution.kindName)) }
    guard !waiters.isEmpty || !abandoned.isEmpty else { return }
    // After a round that is under way: some of the attempts in it may have ended.
    database.async { [self] store in
      writeEnds(in: store, abandoned: abandoned)
      for waiter in waiters { waiter.resume() }
    }
  }

  /// Writes what has ended, outside a round, and what was abandoned.
  private func writeEnds(in store: any StoreSession, abandoned: [Execution]) {
    let acknowledgements = withLock { $0.state.takeAcknowledgements() }
    guard !acknowledgements.isEmpty || !abandoned.isEmpty else { return }
    do {
      try store.write(acknowledgements, keepsDone: keepsDone, abandoned: abandoned.map(\.job))
      // Jobs that waited for one that has ended may run, if the queue was started again.
      withLock { $0.state.workMayHaveCome() }
    } catch {
      withLock { $0.state.putBack(acknowledgements) }
      tellFailure(error)
    }
  }

  private func graceIsOver() {
    let isStopping = withLock { storage in
      guard storage.state.phase == .stopping else { return false }
      // For jobs that a round under way has claimed by now.
      storage.isGraceOver = true
      return true
    }
    if isStopping { interruptAll(.stop) }
  }

  /// Cancels all operations that were not cancelled before.
  ///
  /// - Parameter begin: notes the change under the same lock; returns false to cancel nothing.
  func interruptAll(_ reason: Execution.Interruption, if begin: (inout Storage) -> Bool = { _ in true }) {
    let executions = withLock { storage in
      begin(&storage) ? storage.executions.values.filter { $0.interrupt(reason) } : []
    }
    for execution in executions { cancel(execution) }
  }
}
