import CompositeOperations
import Foundation

// A suspended queue, which leaves its files alone, as the app is suspended.

/// What goes on when the queue is resumed.
struct QueueSuspension {
  var isToRun: Bool
}

extension QueueCore {
  /// How long the last write waits for another process. The system gives an app little time.
  private static let lastWriteTimeout = Duration.seconds(1)

  func suspend() async {
    let (executions, places, timers, stops) = withLock {
      storage -> ([Execution], [JobPlace], [Timekeeper.Timer], [WaitingStop]) in
      guard storage.suspension == nil else { return ([], [], [], []) }
      storage.suspension = QueueSuspension(isToRun: storage.state.phase == .running)
      database.isSuspended = true
      storage.owedWorker = storage.state.worker
      storage.state.giveUp()
      for execution in storage.executions.values {
        _ = execution.interrupt(.suspension)
        execution.isGivenBack = true
      }
      let places = storage.state.takeAskedPlaces().compactMap { storage.places.removeValue(forKey: $0) }
      let stops = storage.overtakeStopsBySuspension()
      return (storage.executions.values.filter { !$0.isEnding }, places, storage.takeTimers(), stops)
    }
    for timer in timers { clock.timekeeper.cancel(timer) }
    for place in places { place.operation.cancel() }
    giveBack(withLock { $0.state.takeUnneededPlaces() })
    await database.interrupt { [self] store in giveBackAll(in: store) }
    if reader !== database { await reader.interrupt { _ in } }
    // Not before: the store would refuse the end of a job.
    for execution in executions { cancel(execution) }
    end(stops)
  }

  /// Writes what has ended, and makes all jobs that run here wait again, as if they had not been
  /// claimed. If the queue was resumed by now, its next look or round does that.
  private func giveBackAll(in store: any StoreSession) {
    let owed = withLock { storage -> (ends: [Acknowledgement], worker: Int64?)? in
      guard storage.suspension != nil else { return nil }
      return (storage.state.takeAcknowledgements(), storage.owedWorker ?? storage.state.worker)
    }
    guard let (acknowledgements, worker) = owed else { return }
    do {
      try store.giveBackJobs(
        of: worker, after: acknowledgements, keepsDone: keepsDone, within: Self.lastWriteTimeout)
      if let worker { withLock { $0.hasGivenBack(worker) } }
    } catch {
      // The lease ends, but the process lives, which is no crash either. Or the queue is resumed
      // before.
      withLock { $0.state.putBack(acknowledgements) }
      tellFailure(error, in: .round)
    }
  }

  /// Returns the jobs that ran when the queue was suspended, if that was impossible then, or that
  /// were cancelled in an outage. Call on a thread of the store. A waiting round does it itself: it
  /// has ends of attempts to write first.
  func giveBackOwedJobs(in store: any StoreSession) throws {
    if withLock({ !$0.state.isInRound }) { try giveBackOwedJobs(after: [], in: store) }
  }

  /// Does the same at the beginning of a round, before it claims jobs.
  ///
  /// - Parameter ends: the ends that the round would write. Empty if they were written here.
  @discardableResult
  func giveBackOwedJobs(after ends: [Acknowledgement], in store: any StoreSession) throws -> [Acknowledgement] {
    guard let worker = withLock({ $0.owedWorker }) else { return ends }
    let further = withLock { $0.state.takeAcknowledgements() }
    do {
      try store.giveBackJobs(of: worker, after: ends + further, keepsDone: keepsDone, within: nil)
    } catch {
      withLock { $0.state.putBack(further) }
      throw error
    }
    withLock { $0.hasGivenBack(worker) }
    return []
  }

  func resume() {
    let (suspension, interrupted) = withLock { storage -> (QueueSuspension?, [Execution]) in
      guard storage.suspension != nil else { return (nil, []) }
      storage.state.pauseIsOver()
      database.isSuspended = false
      return (storage.suspension.take(), storage.executions.values.filter { $0.interruption != nil })
    }
    guard let suspension else { return }
    // The suspension took their timers.
    for execution in interrupted { watch(execution) }
    if suspension.isToRun { start() }
    database.async { [weak self] store in
      do {
        try self?.giveBackOwedJobs(in: store)
      } catch {
        // The lease of jobs that are not looked at again ends.
        self?.tellFailure(error, in: .look)
      }
      self?.poll(store)
    }
  }
}

extension QueueCore.Storage {
  /// Has the stops wait for what still runs, though all jobs are returned. Takes those that wait no
  /// longer: also those with a limit, since a suspended queue sets no timer.
  mutating func overtakeStopsBySuspension() -> [WaitingStop] {
    overtakeStops()
    return takeOvertakenStops { $0.running.isEmpty || $0.patience != nil }
  }

  /// Notes that the jobs of a worker of this process wait again.
  mutating func hasGivenBack(_ worker: Int64) {
    owedWorker = nil
    state.workMayHaveCome()
    if state.worker == worker { state.workerWasLost() }
  }

  /// Takes all timers but those of stops that wait.
  mutating func takeTimers() -> [Timekeeper.Timer] {
    let ofExecutions = executions.values.compactMap { $0.timer.take() }
    return [grace.take()?.timer, alarm.take()?.timer, retryTimer.take()].compactMap { $0 } + ofExecutions
  }
}
