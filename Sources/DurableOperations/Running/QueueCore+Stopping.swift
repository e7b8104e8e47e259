import CompositeOperations
import Foundation

// Starting and stopping.

extension QueueCore {
  func start() {
    let (ended, graceTimer): ([WaitingStop]?, Timekeeper.Timer?) = withLock { storage in
      if storage.suspension != nil {
        storage.suspension?.isToRun = true
        return (nil, nil)
      }
      guard storage.state.start() else { return (nil, nil) }
      storage.isGraceOver = false
      storage.overtakeStops()
      return (storage.takeEndedStops(), storage.grace.take()?.timer)
    }
    guard let ended else { return }
    if let graceTimer { clock.timekeeper.cancel(graceTimer) }
    end(ended)
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
    let graceEnd = clock.timekeeper.now + max(grace, .zero)
    // Made now, so that all is noted at once: a start may come at any time, also from user code.
    let graceTimer =
      grace > .zero ? clock.timekeeper.at(graceEnd) { [weak self] in self?.graceIsOver(setFor: graceEnd) } : nil
    let patience = patience.map { patience in
      let end = graceEnd + max(patience, .zero)
      return (end: end, timer: clock.timekeeper.at(end) { [weak self] in self?.patienceIsOver() })
    }
    let stop = waiter().map { WaitingStop(waiter: $0, patience: patience) }
    let (isStopping, isResuming, ended, places, unneeded) = withLock {
      storage -> (Bool, Bool, [WaitingStop], [JobPlace], Timekeeper.Timer?) in
      if let stop { storage.stopWaiters.append(stop) }
      let isIdle = storage.state.phase == .idle
      // A queue that is released leaves to the lease what a stop before has left to it.
      guard storage.suspension == nil, stop != nil || !isIdle, storage.state.stop() else {
        storage.suspension?.isToRun = false
        return (false, false, storage.overtakeStopsBySuspension(), [], graceTimer)
      }
      let places = storage.state.takeAskedPlaces().compactMap { storage.places.removeValue(forKey: $0) }
      return (true, isIdle, [], places, graceTimer.flatMap { storage.shortenGrace(to: graceEnd, $0) })
    }
    if let unneeded { clock.timekeeper.cancel(unneeded) }
    for place in places { place.operation.cancel() }
    end(ended)
    guard isStopping else { return }
    giveBackWhatIsHeldBack()
    // Either may have ended before it was noted.
    if clock.timekeeper.hasPassed(graceEnd) { graceIsOver() }
    if let patience, clock.timekeeper.hasPassed(patience.end) { patienceIsOver() }
    // The lease of jobs for which the queue waits again is renewed again.
    if isResuming { database.async { [self] in poll($0) } }
    pump()
  }

  /// Ends stops that wait, and their timers.
  func end(_ stops: [WaitingStop]) {
    for stop in stops {
      if let patience = stop.patience { clock.timekeeper.cancel(patience.timer) }
      stop.waiter.resume()
    }
  }

  /// Handles the end of the patience of a stop. If no other stop waits, leaves what still runs to
  /// the lease; the end of this process does not count against the jobs. If such a job ends after
  /// all while this process runs, its end is written after the next start, or by the next stop.
  private func patienceIsOver() {
    let now = clock.timekeeper.now
    // Both may end at once, and what is abandoned must have been told to end.
    if withLock({ $0.stopWaiters.contains { $0.givesUp(at: now) } }) { graceIsOver() }
    let (overtaken, abandoned, stops) = withLock { storage -> ([WaitingStop], [Execution], [WaitingStop]) in
      let overtaken = storage.takeOvertakenStops { $0.givesUp(at: now) }
      let stops = storage.takeStopWaiters { $0.givesUp(at: now) }
      guard !stops.isEmpty else { return (overtaken, [], []) }
      if storage.stopWaiters.isEmpty { storage.state.giveUp() }
      // The flag on the server or in the file is for those too that are ending.
      return (overtaken, storage.executions.values.sorted { $0.number < $1.number }, stops)
    }
    // Attempts that a start has overtaken go on.
    end(overtaken)
    guard !stops.isEmpty else { return }
    giveBack(withLock { $0.state.takeUnneededPlaces() })
    for execution in abandoned where withLock({ _ in !execution.isEnding }) {
      events.report(.abandoned(execution.job.id, kind: execution.kindName))
    }
    // After a round that is under way: some of the attempts in it may have ended.
    database.async { [self] store in
      writeEnds(in: store, abandoned: abandoned)
      end(stops)
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

  /// - Parameter end: the end of the grace whose timer calls; nil for the grace that there is. The
  ///   timer may come late, when there is another grace.
  func graceIsOver(setFor end: Timekeeper.Time? = nil) {
    let (executions, timer) = withLock { storage -> ([Execution], Timekeeper.Timer?) in
      guard storage.state.phase == .stopping, end == nil || storage.grace?.end == end else { return ([], nil) }
      // For jobs that a round under way has claimed by now.
      storage.isGraceOver = true
      return (storage.interruptAll(.stop), storage.grace.take()?.timer)
    }
    if let timer { clock.timekeeper.cancel(timer) }
    for execution in executions { cancel(execution) }
  }
}

extension QueueCore.Storage {
  /// The stop with the shortest grace decides. Returns the timer that is no longer needed.
  fileprivate mutating func shortenGrace(to end: Timekeeper.Time, _ timer: Timekeeper.Timer) -> Timekeeper.Timer? {
    if let grace, grace.end <= end { return timer }
    defer { grace = (end, timer) }
    return grace?.timer
  }
}
