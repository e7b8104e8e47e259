import CompositeOperations
import Foundation
import Synchronization

// From the state machine to operations, and back.

extension Workflow {
  /// Feeds an input to the state machine, and does what it asks for.
  @discardableResult
  func input<R>(_ body: (inout WorkflowState) -> R) -> R {
    let (result, effects) = storage.withLock { storage in
      let result = body(&storage.state)
      return (result, storage.state.conclude())
    }
    perform(effects)
    return result
  }

  func perform(_ effects: WorkflowEffects) {
    let ready = perform(effects, inRun: 0)
    assert(ready.isEmpty)
  }

  /// - Parameter run: the run whose operation the caller hands ready tasks to. They are returned.
  func perform(_ effects: WorkflowEffects, inRun run: Int) -> [Int] {
    for operation in effects.cancelled { operation.cancel() }
    for (plan, verb) in effects.subworkflows {
      if let subworkflow = plan.subworkflow { Unwinding.perform { subworkflow.perform(verb) } }
    }
    if effects.delivers { deliver() }
    if !effects.ready.isEmpty, effects.run != run { handIn(effects.ready, run: effects.run) }
    for end in effects.ends { finish(end) }
    if let start = effects.start { makeRun(startsEverything: start == .everything, joins: false).start() }
    return effects.run == run ? effects.ready : []
  }

  func handIn(_ tasks: [Int], run: Int) {
    // None if the run was cancelled meanwhile; then so were the tasks.
    storage.withLock { $0.runs[run]?.operation }?.run(tags: tasks)
  }

  // MARK: - Runs

  /// Makes an operation that runs the workflow when it is started.
  ///
  /// - Parameter joins: whether it waits for a run that is under way by then.
  func makeRun(startsEverything: Bool, joins: Bool) -> DrivenOperation<Workflow> {
    let ticket = RunTicket()
    var driver = DrivenOperation<Workflow>.Driver(
      didStart: { [self] operation in
        begin(operation, ticket, startsEverything: startsEverything, joins: joins)
      },
      makeOperation: { [self] _, task in makeAttempt(of: task, run: ticket.number) },
      operationDidSettle: { [self] driven, operation, slot in
        let ready = attemptDidSettle(operation, slot: slot, run: ticket.number)
        driven.progressDidChange()
        return ready
      },
      wasCancelled: { [self] operation in wasCancelled(operation, ticket) })
    driver.countDone = { [self] in
      storage.withLock { ($0.state.counts[.finished], $0.state.nodes.count) }
    }
    driver.attempt = { [self] slot in storage.withLock { $0.state.attempts[slot]?.number ?? 1 } }
    let operation = DrivenOperation<Workflow>(operationQueue: operationQueue, driver: driver)
    operation.name = name
    return operation
  }

  private func begin(
    _ operation: DrivenOperation<Workflow>, _ ticket: RunTicket, startsEverything: Bool, joins: Bool
  ) {
    let begun: (WorkflowState.RunStart, WorkflowEffects)? = storage.withLock { storage in
      guard ticket.number != RunTicket.cancelled else { return nil }
      let start = storage.state.begin(startsEverything: startsEverything)
      switch start {
      case .begins(let number):
        ticket.number = number
        storage.runs[number] = WorkflowStorage.RunOperations(operation: operation)
      case .joins(let number):
        if joins { storage.runs[number]?.joined.append(operation) }
      }
      return (start, storage.state.conclude())
    }
    guard let (start, effects) = begun else { return }
    if case .begins = start {
      applyLimit(to: operation)
      applySuspension(to: operation)
    }
    perform(effects)
    if case .joins = start, !joins { operation.settle(with: .cancelled) }
  }

  /// The operation was cancelled: the run is, if it is the run's own; else it stops waiting.
  private func wasCancelled(_ operation: DrivenOperation<Workflow>, _ ticket: RunTicket) {
    let number = storage.withLock { storage in
      if ticket.number == 0 {
        ticket.number = RunTicket.cancelled
        for run in storage.runs.keys { storage.runs[run]?.joined.removeAll { $0 === operation } }
      }
      return ticket.number
    }
    guard number > 0 else {
      operation.settle(with: .cancelled)
      return
    }
    Unwinding.perform { [self] in
      input { $0.runWasCancelled(number) }
      // What the engine has not made yet is forgotten; what is under way has been cancelled.
      operation.cancelAll()
    }
  }

  /// Ends the operations of a run.
  func finish(_ end: RunEnd) {
    // The end of a run may be the end of the workflow around it, and so on.
    Unwinding.perform { [self] in finishNow(end) }
  }

  private func finishNow(_ end: RunEnd) {
    guard let run = storage.withLock({ $0.runs.removeValue(forKey: end.run) }) else { return }
    // Tasks that the operation was told of, and that are not to run any more.
    run.operation.cancelAll()
    let outcome: Outcome<Workflow> =
      switch end.settlement {
      case .finished: .success(self)
      case .failed(let record): .failure(WorkflowError(workflow: self, record: record))
      case .cancelled: .cancelled
      }
    run.operation.settle(with: outcome)
    for joined in run.joined { joined.settle(with: outcome) }
  }

  // MARK: - Attempts

  /// Makes the operation of an attempt. Called where it will run.
  private func makeAttempt(of task: Int, run: Int) -> (Operation, tag: Int)? {
    let claimed: (ClaimedAttempt, WorkflowEffects, StartNotice?)? = storage.withLock { storage in
      guard let attempt = storage.state.claim(task, run: run) else { return nil }
      let effects = storage.state.conclude()
      return (attempt, effects, storage.state.noticeOfStart(after: effects))
    }
    guard let (attempt, effects, notice) = claimed else { return nil }
    perform(effects)
    do {
      let operation: Operation
      if let notice {
        let name = attempt.plan.name ?? TaskNames.automatic(task)
        operation = ToldAttempt(name, after: notice) { [self] in try makeOperation(for: attempt, of: task) }
      } else {
        operation = try makeOperation(for: attempt, of: task)
      }
      if storage.withLock({ $0.state.attach(operation, slot: attempt.slot) }) { operation.cancel() }
      return (operation, attempt.slot)
    } catch {
      input { $0.settle(slot: attempt.slot, error is CancellationError ? .cancelled : .failure(error)) }
      return nil
    }
  }

  private func makeOperation(for attempt: ClaimedAttempt, of task: Int) throws -> Operation {
    switch attempt.plan.work {
    case .body(let body):
      let plan = attempt.plan
      let taskName: @Sendable () -> String = { plan.name ?? TaskNames.automatic(task) }
      let operation = try body(
        PrerequisiteResults(workflow: self, plan: plan, values: attempt.inputs, taskName: taskName))
      guard !operation.isFinished else {
        throw WorkflowAttemptError(
          .operationAlreadyFinished, taskName: taskName(), attempt: attempt.number, operation: operation)
      }
      guard let queue = plan.operationQueue else { return operation }
      return QueuedAttempt(operation, in: queue)
    case .subworkflow(let subworkflow):
      if attempt.number > 1 { subworkflow.perform(.rearm) }
      return subworkflow.makeOperation()
    case .condition:
      preconditionFailure("A condition has no operation")
    }
  }

  private func attemptDidSettle(_ operation: Operation, slot: Int, run: Int) -> [Int] {
    var outcome = (operation as? any WrappedAttempt)?.attemptOutcome ?? operation.anyOutcome ?? .cancelled
    if outcome.error is CancellationError { outcome = .cancelled }
    let (task, subworkflow, effects) = storage.withLock { storage in
      let task = storage.state.attempts[slot]!.task
      storage.state.settle(slot: slot, outcome)
      return (task, storage.state.nodes[task].plan.subworkflow, storage.state.conclude())
    }
    // Its run had ended and the task had not, so that it could not follow.
    if let subworkflow, subworkflow.storage.withLock(\.state.wasResetSinceRun) {
      input { _ = $0.follow(task, .reset) }
    }
    return perform(effects, inRun: run)
  }
}

/// Which run an operation is. Changed under the lock of the workflow only.
final class RunTicket: Sendable {
  private let stored = Atomic(0)

  /// The number of the run; 0 if it has not begun, or the operation only waits for another's.
  var number: Int {
    get { stored.load(ordering: .acquiring) }
    set { stored.store(newValue, ordering: .releasing) }
  }

  /// The operation was cancelled, and will not be a run.
  static let cancelled = -1
}
