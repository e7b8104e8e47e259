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
        // Not when the queue opens: a program that only reads may know other rules of time zones.
        try store.updateNextOccurrences()
      } catch {
        tellFailure(error, in: .look)
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
      grace > .zero ? clock.timekeeper.at(graceEnd) { [weak self] in self?.graceIsOver() } : nil
    let patience = patience.map { patience in
      let end = graceEnd + max(patience, .zero)
      return (end: end, timer: clock.timekeeper.at(end) { [weak self] in self?.patienceIsOver() })
    }
    let stop = waiter().map { WaitingStop(waiter: $0, graceEnd: graceEnd, patience: patience) }
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
    // The lease of jobs for which the queue waits again is renewed again. If the process ends all
    // the same, that still does not count against them: a stop has given them up.
    if isResuming { database.async { [self] in poll($0) } }
    pump()
  }

  /// Ends stops that wait, and their timers, when the listeners know of all that happened before.
  func end(_ stops: [WaitingStop]) {
    for stop in stops {
      if let patience = stop.patience { clock.timekeeper.cancel(patience.timer) }
      events.afterReports { stop.waiter.resume() }
    }
  }

  /// Handles the end of the patience of a stop. If no other stop waits, leaves what still runs to
  /// the lease; the end of this process does not count against the jobs. If such a job ends after
  /// all while this process runs, its end is written after the next start, or by the next stop.
  private func patienceIsOver() {
    let now = clock.timekeeper.now
    // Both may end at once, and what is abandoned must have been told to end.
    graceIsOver()
    let (stops, abandoned, untold) = withLock { storage -> ([WaitingStop], [Execution]?, [Execution]) in
      let overtaken = storage.takeOvertakenStops { $0.givesUp(at: now) }
      // One that was noted since, and has to end its grace first, comes here itself.
      let stops = storage.isGraceOver ? storage.takeStopWaiters { $0.givesUp(at: now) } : []
      let untold = overtaken.isEmpty && stops.isEmpty ? nil : storage.giveUpUnlessAwaited()
      // Attempts that a start has overtaken go on.
      guard !stops.isEmpty || untold != nil else { return (overtaken, nil, []) }
      // The flag on the server or in the file is for those too that are ending, or are awaited.
      return (overtaken + stops, storage.executions.values.sorted { $0.number < $1.number }, untold ?? [])
    }
    guard let abandoned else { return end(stops) }
    abandon(abandoned, telling: untold, ending: stops)
  }

  /// Notes that stops no longer wait for attempts, and then ends the stops.
  ///
  /// - Parameter untold: the attempts of which is to be told that they are left to the lease.
  func abandon(_ abandoned: [Execution], telling untold: [Execution], ending stops: [WaitingStop]) {
    giveBack(withLock { $0.state.takeUnneededPlaces() })
    for execution in untold { events.report(.abandoned(execution.job.id, kind: execution.kindName)) }
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
      tellFailure(error, in: .round)
      tellUnwritten(acknowledgements, error)
    }
  }

  /// Reports the jobs that have ended here, of which the database does not know when a stop
  /// returns.
  func tellUnwritten(_ ends: [Acknowledgement], _ error: any Error) {
    let ids = ends.filter { !$0.isGivenBack }.map(\.id)
    if !ids.isEmpty { events.report(.unwritten(ids, error: DatabaseError(any: error))) }
  }

  /// Tells what runs to end, if the grace of a stop that waits is over: who calls may be late, when
  /// there are other stops. No stop waits when a queue is released, which gives no grace.
  func graceIsOver() {
    let now = clock.timekeeper.now
    let (executions, timer) = withLock { storage -> ([Execution], Timekeeper.Timer?) in
      let stops = storage.stopWaiters
      guard storage.state.phase == .stopping, stops.isEmpty || stops.contains(where: { $0.graceEnd <= now }) else {
        return ([], nil)
      }
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

  /// Leaves what still runs to the lease, unless a stop waits, also one that was overtaken: the
  /// queue stops on for it. Returns the attempts of which that is to be told; nil if one waits.
  mutating func giveUpUnlessAwaited() -> [Execution]? {
    guard state.phase == .stopping, stopWaiters.isEmpty, overtakenStops.isEmpty else { return nil }
    state.giveUp()
    let untold = executions.values.filter { !$0.isEnding && !$0.isLeftToLease }
    for execution in untold { execution.isLeftToLease = true }
    return untold.sorted { $0.number < $1.number }
  }
}
