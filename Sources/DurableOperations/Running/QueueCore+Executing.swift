import CompositeOperations
import Foundation

// Attempts: the requests and reports of the engine.

extension QueueCore {
  /// Makes the engine, which runs the operations. It receives the numbers of executions.
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

  /// Runs claimed jobs.
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
        // Another part of the program has cancelled its place meanwhile.
        giveBack(execution)
      }
    }
    giveBackWhatIsHeldBack()
  }

  /// Returns jobs that were claimed for places of the user's queue, and cannot begin because that
  /// queue was suspended since. Other processes may run them, and the end of this process costs
  /// them nothing.
  func giveBackWhatIsHeldBack() {
    guard let queue = configuration.operationQueue, queue.isSuspended else { return }
    for execution in withLock({ $0.executions.values.filter { !$0.hasBegun } }) { giveBack(execution) }
  }

  /// Returns a job that has not begun. Returns false if it has begun, or was interrupted.
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
      // Its earlier outcome would be taken for the outcome of this attempt.
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
    if operation.name == nil { operation.nameUnlessTaken("\(execution.kindName) \(execution.job.id)") }
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
      // An attempt that was interrupted in between has another timer.
      if execution.timer != nil { return true }
      execution.timer = timer
      return false
    }
    if isUnneeded { clock.timekeeper.cancel(timer) }
  }

  /// Cancels the operation of an attempt, unless it has ended or was cancelled before.
  func interrupt(_ execution: Execution, _ reason: Execution.Interruption) {
    let isFirst = withLock { $0.executions[execution.number] != nil && execution.interrupt(reason) }
    if isFirst { cancel(execution) }
  }

  /// Cancels the operations of interrupted attempts, each on another thread: for threads of the
  /// store. There, hooks of the operations could not use the queue, and rounds and leases would
  /// wait for them.
  func cancelElsewhere(_ executions: [Execution]) {
    for execution in executions { QualityOfService.default.promptQueue.async { self.cancel(execution) } }
  }

  /// Cancels the operation of an interrupted attempt, and reports it if it does not end. An attempt
  /// that has not begun ends here. Calls hooks of the operation: not for threads of the store.
  func cancel(_ execution: Execution) {
    let (hasBegun, operation) = withLock { _ in (execution.hasBegun, execution.operation) }
    guard hasBegun else {
      // The place may wait for a queue of the user that is suspended.
      execution.place?.operation.cancelAll()
      ended(execution.number, .cancelled)
      return
    }
    operation?.cancel()
    watch(execution)
  }

  /// Reports an interrupted attempt that does not end. If the queue is suspended before, the
  /// resumed queue does so.
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
      // The attempt may have ended in between.
      guard storage.canBeToldOf(execution) else { return timer }
      defer { execution.timer = timer }
      return execution.timer
    }
    if let unneeded { clock.timekeeper.cancel(unneeded) }
  }

  /// Handles the end of an attempt.
  func ended(_ number: Int, _ outcome: Outcome<any Sendable>) {
    let now = clock.now()
    let (execution, interruption, isComplete) = withLock { storage in
      // It still counts as one that executes, until the second lock.
      guard let execution = storage.executions[number], !execution.isEnding else {
        return (nil as Execution?, nil as Execution.Interruption?, false)
      }
      execution.isEnding = true
      return (execution, execution.interruption, execution.isComplete)
    }
    guard let execution else { return }
    var pending =
      isComplete
      ? nil
      : execution.acknowledgement(of: outcome, interruptedBy: interruption, now: now, isOnline: network.isOnline) {
        self.delay(afterAttempt: $0, of: execution.job)
      }
    if interruption == .lostLease { events.tell(.leaseLost(execution.job.id, kind: execution.kindName)) }
    let (timer, stops, abandoned) = withLock { storage in
      storage.executions[number] = nil
      // Also in between.
      if execution.isGivenBack { pending?.isGivenBack = true }
      for index in storage.overtakenStops.indices { storage.overtakenStops[index].running.remove(number) }
      if storage.executionNumbers[execution.job.id] == number { storage.executionNumbers[execution.job.id] = nil }
      storage.state.ended(kind: execution.job.kind, isAlone: execution.job.isAlone, pending)
      execution.core = nil
      let stops = storage.takeEndedStops()
      // Another stop may have given up what still runs, and these were the last that waited.
      let abandoned = stops.isEmpty || storage.executions.isEmpty ? nil : storage.giveUpUnlessAwaited()
      return (execution.timer.take(), stops, abandoned)
    }
    if let timer { clock.timekeeper.cancel(timer) }
    execution.place?.giveBack()
    if let abandoned { abandon(abandoned, telling: abandoned, ending: stops) } else { end(stops) }
    pump()
  }

  private func delay(afterAttempt attempt: Int, of job: ClaimedJob) -> Duration {
    let backoff = job.backoff.flatMap { Backoff(storedForm: $0) } ?? configuration.backoff
    return OperationContext.bindNone {
      var generator = AnyGenerator(configuration.randomNumberGenerator())
      return backoff.jobDelay(afterAttempt: attempt, using: &generator)
    }
  }
}

extension QueueCore.Storage {
  /// Whether it still runs, and was not reported yet.
  fileprivate func canBeToldOf(_ execution: Execution) -> Bool {
    executions[execution.number] != nil && !execution.isEnding && suspension == nil && !execution.isToldOf
  }
}

/// A type-erased generator.
private struct AnyGenerator: RandomNumberGenerator {
  private var generator: any RandomNumberGenerator

  init(_ generator: any RandomNumberGenerator) { self.generator = generator }

  mutating func next() -> UInt64 { generator.next() }
}
