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
    let graceEnd = clock.timekeeper.now + max(grace, .zero)
    let patienceEnd = patience.map { graceEnd + max($0, .zero) }
    // Made now, so that all is noted at once: a start may come at any time, also from user code.
    let graceTimer = grace > .zero ? clock.timekeeper.at(graceEnd) { [weak self] in self?.graceIsOver() } : nil
    let patienceTimer = patienceEnd.map { clock.timekeeper.at($0) { [weak self] in self?.patienceIsOver() } }
    let (isStopping, places, unneeded) = withLock { storage -> (Bool, [JobPlace], [Timekeeper.Timer?]) in
      storage.suspension?.isToRun = false
      guard storage.state.stop() else { return (false, [], [graceTimer, patienceTimer]) }
      if let waiter { storage.stopWaiters.append(waiter) }
      let places = storage.state.takeAskedPlaces().compactMap { storage.places.removeValue(forKey: $0) }
      var unneeded: [Timekeeper.Timer?] = []
      if let graceTimer { unneeded.append(Self.shorten(&storage.grace, to: graceEnd, graceTimer)) }
      if let patienceEnd, let patienceTimer {
        unneeded.append(Self.shorten(&storage.patience, to: patienceEnd, patienceTimer))
      }
      return (true, places, unneeded)
    }
    for case let timer? in unneeded { clock.timekeeper.cancel(timer) }
    for place in places { place.operation.cancel() }
    guard isStopping else {
      waiter?.resume()
      return
    }
    giveBackWhatIsHeldBack()
    // Either may have ended before it was noted.
    if clock.timekeeper.hasPassed(graceEnd) { graceIsOver() }
    if let patienceEnd, clock.timekeeper.hasPassed(patienceEnd) { patienceIsOver() }
    pump()
  }

  /// The stop with the least patience decides. Returns the timer that is no longer needed.
  private static func shorten(
    _ limit: inout (end: Timekeeper.Time, timer: Timekeeper.Timer)?, to end: Timekeeper.Time, _ timer: Timekeeper.Timer
  ) -> Timekeeper.Timer? {
    if let limit, limit.end <= end { return timer }
    defer { limit = (end, timer) }
    return limit?.timer
  }

  /// Leaves what still runs to the lease; the end of this process does not count against the jobs.
  /// If such a job ends after all while this process runs, its end is written after the next start.
  private func patienceIsOver() {
    let now = clock.timekeeper.now
    // Both may end at once, and what is abandoned must have been told to end.
    if withLock({ $0.state.phase == .stopping && $0.patience.map { $0.end <= now } == true }) { graceIsOver() }
    let (overtaken, abandoned, waiters) = withLock {
      storage -> ([CheckedContinuation<Void, Never>], [Execution], [CheckedContinuation<Void, Never>]) in
      let overtaken = storage.takeOvertakenStops(at: now)
      guard storage.state.phase == .stopping, let patience = storage.patience, patience.end <= now else {
        return (overtaken, [], [])
      }
      storage.state.giveUp()
      // The flag on the server or in the file is for those too that are ending.
      return (overtaken, storage.executions.values.sorted { $0.number < $1.number }, storage.takeStopWaiters())
    }
    // Attempts that a start has overtaken go on.
    for waiter in overtaken { waiter.resume() }
    giveBack(withLock { $0.state.takeUnneededPlaces() })
    for execution in abandoned where withLock({ _ in !execution.isEnding }) {
      events.report(.abandoned(execution.job.id, kind: execution.kindName))
    }
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
