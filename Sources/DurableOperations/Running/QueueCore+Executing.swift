import CompositeOperations
import Foundation

// Attempts: what the engine asks for, and tells.

extension QueueCore {
  /// The engine runs the operations. It is handed the numbers of executions.
  func makeEngine() -> DrivenOperation<Void> {
    let driver = DrivenOperation<Void>.Driver(
      didStart: { _ in },
      makeOperation: { [weak self] _, number in self?.makeOperation(number) },
      operationDidSettle: { [weak self] _, operation, number in
        self?.ended(number, operation.anyOutcome ?? .cancelled)
        return []
      },
      wasCancelled: { _ in })
    let engine = DrivenOperation<Void>(driver: driver)
    engine.name = "durable jobs"
    return engine
  }

  /// Runs jobs that were claimed.
  func run(_ executions: [Execution]) {
    guard configuration.operationQueue != nil else {
      if !executions.isEmpty { engine.run(tags: executions.map(\.number)) }
      return
    }
    for execution in executions {
      if withLock({ _ in execution.interruption != nil }) {
        cancel(execution)
      } else if let place = execution.place {
        place.operation.run(tags: [execution.number])
      } else {
        // Somebody has cancelled its place meanwhile.
        giveBack(execution)
      }
    }
    giveBackWhatIsHeldBack()
  }

  /// Gives back what was claimed for places of the user's queue, and cannot begin because that was suspended since. Other
  /// processes may run it, and it is charged with nothing if this one ends.
  func giveBackWhatIsHeldBack() {
    guard let queue = configuration.operationQueue, queue.isSuspended else { return }
    for execution in withLock({ $0.executions.values.filter { !$0.hasBegun } }) { giveBack(execution) }
  }

  /// Gives a job back that has not begun. Returns false if it has, or was interrupted before.
  @discardableResult
  func giveBack(_ execution: Execution) -> Bool {
    let isFirst = withLock { storage in
      storage.executions[execution.number] != nil && !execution.hasBegun && execution.interrupt(.stop)
    }
    if isFirst { cancel(execution) }
    return isFirst
  }

  func makeOperation(_ number: Int) -> (Operation, tag: Int)? {
    let execution = withLock { storage -> Execution? in
      guard let execution = storage.executions[number] else { return nil }
      if execution.place?.operation.isCancelled == true { _ = execution.interrupt(.stop) }
      execution.hasBegun = execution.interruption == nil
      return execution
    }
    guard let execution else { return nil }
    // Without a registration it was interrupted from the beginning.
    guard execution.hasBegun, let registration = execution.registration else {
      ended(number, .cancelled)
      return nil
    }
    let operation: Operation
    do {
      operation = try registration.makeOperation(execution.job, JobContext(execution, of: self))
      // What it settled with then would be taken for the outcome of this attempt.
      if operation.isFinished || operation.isExecuting {
        throw JobError(.operationUsedBefore, id: execution.job.id, kind: execution.kindName)
      }
    } catch {
      ended(number, .failure(error))
      return nil
    }
    if events.isHeard, let operation = operation as? SettlingOperation {
      operation.addProgressObserver { [events, id = execution.job.id] in events.tell(.progress(id, fraction: $0)) }
    }
    if operation.name == nil { operation.name = "\(execution.kindName) \(execution.job.id)" }
    let isInterrupted = withLock { _ in
      execution.operation = operation
      return execution.interruption != nil || execution.place?.operation.isCancelled == true
    }
    if isInterrupted {
      cancel(execution)
    } else if let timeout = execution.job.timeout {
      setTimeout(timeout, of: execution)
    }
    return (operation, number)
  }

  private func setTimeout(_ timeout: Duration, of execution: Execution) {
    let timer = clock.timekeeper.after(timeout) { [weak self] in self?.interrupt(execution, .timeout) }
    let isUnneeded = withLock { _ in
      // One that was interrupted in between has another.
      if execution.timer != nil { return true }
      execution.timer = timer
      return false
    }
    if isUnneeded { clock.timekeeper.cancel(timer) }
  }

  /// Cancels the operation of an attempt, if it is under way and was not cancelled before.
  func interrupt(_ execution: Execution, _ reason: Execution.Interruption) {
    let isFirst = withLock { $0.executions[execution.number] != nil && execution.interrupt(reason) }
    if isFirst { cancel(execution) }
  }

  /// Cancels the operation of an attempt that was interrupted, and tells if it does not end. What has not begun ends here.
  func cancel(_ execution: Execution) {
    let (hasBegun, operation) = withLock { _ in (execution.hasBegun, execution.operation) }
    guard hasBegun else {
      // It may wait for a queue of the user's that is suspended.
      execution.place?.operation.cancelAll()
      ended(execution.number, .cancelled)
      return
    }
    operation?.cancel()
    watch(execution)
  }

  /// Tells if an attempt that was interrupted does not end. If the queue is suspended before, that is seen to when it is resumed.
  func watch(_ execution: Execution) {
    guard withLock({ $0.canBeToldOf(execution) }) else { return }
    let timer = clock.timekeeper.after(configuration.unresponsiveAfter) { [weak self] in
      guard let self else { return }
      let isToTell = withLock { storage in
        guard storage.canBeToldOf(execution) else { return false }
        execution.isToldOf = true
        return true
      }
      if isToTell { events.report(.unresponsive(execution.job.id, kind: execution.kindName)) }
    }
    let unneeded = withLock { storage -> Timekeeper.Timer? in
      // It may have ended in between.
      guard storage.canBeToldOf(execution) else { return timer }
      defer { execution.timer = timer }
      return execution.timer
    }
    if let unneeded { clock.timekeeper.cancel(unneeded) }
  }

  /// An attempt has ended.
  func ended(_ number: Int, _ outcome: Outcome<any Sendable>) {
    let now = clock.now()
    let (execution, interruption, isComplete) = withLock { storage in
      let execution = storage.executions.removeValue(forKey: number)
      return (execution, execution?.interruption, execution?.isComplete ?? false)
    }
    guard let execution else { return }
    let pending =
      isComplete
      ? nil
      : execution.acknowledgement(of: outcome, interruptedBy: interruption, now: now, isOnline: network.isOnline) {
        self.delay(afterAttempt: $0, of: execution.job)
      }
    if interruption == .lostLease { events.tell(.leaseLost(execution.job.id, kind: execution.kindName)) }
    let (timer, stops) = withLock { storage in
      for index in storage.overtakenStops.indices { storage.overtakenStops[index].running.remove(number) }
      if storage.executionNumbers[execution.job.id] == number { storage.executionNumbers[execution.job.id] = nil }
      storage.state.ended(kind: execution.job.kind, isAlone: execution.job.isAlone, pending)
      execution.core = nil
      return (execution.timer.take(), storage.takeEndedStops())
    }
    if let timer { clock.timekeeper.cancel(timer) }
    execution.place?.giveBack()
    for waiter in stops { waiter.resume() }
    pump()
  }

  private func delay(afterAttempt attempt: Int, of job: ClaimedJob) -> Duration {
    let backoff = job.backoff.flatMap { Backoff(storedForm: $0) } ?? configuration.backoff
    var generator = AnyGenerator(configuration.randomNumberGenerator())
    return backoff.jobDelay(afterAttempt: attempt, using: &generator)
  }
}

extension QueueCore.Storage {
  /// Whether it has not ended, nor been told that it does not.
  fileprivate func canBeToldOf(_ execution: Execution) -> Bool {
    executions[execution.number] != nil && suspension == nil && !execution.isToldOf
  }
}

/// A generator whose type is not known.
private struct AnyGenerator: RandomNumberGenerator {
  private var generator: any RandomNumberGenerator

  init(_ generator: any RandomNumberGenerator) { self.generator = generator }

  mutating func next() -> UInt64 { generator.next() }
}
