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
    let engine = DrivenOperation<Void>(operationQueue: configuration.operationQueue, driver: driver)
    engine.name = "durable jobs"
    return engine
  }

  private func makeOperation(_ number: Int) -> (Operation, tag: Int)? {
    let (known, registration) = withLock { storage in
      let execution = storage.executions[number]
      return (execution, execution.flatMap { storage.registrations[$0.job.kind] })
    }
    guard let execution = known, let registration else { return nil }
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
      return execution.interruption != nil
    }
    if isInterrupted { operation.cancel() }
    if let timeout = execution.job.timeout { setTimeout(timeout, of: execution) }
    return (operation, number)
  }

  private func setTimeout(_ timeout: Duration, of execution: Execution) {
    let timer = clock.timekeeper.after(timeout) { [weak self] in self?.interrupt(execution, .timeout) }
    withLock { _ in execution.timer = timer }
  }

  /// Cancels the operation of an attempt, if it is under way and was not cancelled before.
  func interrupt(_ execution: Execution, _ reason: Execution.Interruption) {
    let operation = withLock { storage -> Operation? in
      guard storage.executions[execution.number] != nil, execution.interruption == nil else { return nil }
      execution.interruption = reason
      return execution.operation
    }
    operation?.cancel()
  }

  /// An attempt has ended.
  private func ended(_ number: Int, _ outcome: Outcome<any Sendable>) {
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
    let timer = withLock { storage in
      if storage.executionNumbers[execution.job.id] == number { storage.executionNumbers[execution.job.id] = nil }
      storage.state.ended(kind: execution.job.kind, isAlone: execution.job.isAlone, pending)
      execution.core = nil
      return execution.timer.take()
    }
    if let timer { clock.timekeeper.cancel(timer) }
    pump()
  }

  private func delay(afterAttempt attempt: Int, of job: ClaimedJob) -> Duration {
    let backoff = job.backoff.flatMap { JobBackoff(storedForm: $0) } ?? configuration.backoff
    var generator = AnyGenerator(configuration.randomNumberGenerator())
    return backoff.delay(afterAttempt: attempt, using: &generator)
  }
}

/// A generator whose type is not known.
private struct AnyGenerator: RandomNumberGenerator {
  private var generator: any RandomNumberGenerator

  init(_ generator: any RandomNumberGenerator) { self.generator = generator }

  mutating func next() -> UInt64 { generator.next() }
}
