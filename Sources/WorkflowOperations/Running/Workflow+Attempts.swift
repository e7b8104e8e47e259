import CompositeOperations
import Foundation

// How the operations of attempts are made, and how their ends are reported.

extension Workflow {
  /// Makes the operation of an attempt. Called where it will run.
  func makeAttempt(of task: Int, run: Int) -> (Operation, tag: Int)? {
    // Not returned together: to unwrap them would copy them all.
    var claimed: ClaimedAttempt?
    var notice: StartNotice?
    let effects = storage.withLock { storage in
      claimed = storage.state.claim(task, run: run)
      let effects = storage.state.conclude()
      if claimed != nil { notice = storage.state.noticeOfStart(after: effects) }
      return effects
    }
    perform(effects)
    guard let attempt = claimed else { return nil }
    do {
      let operation: Operation
      if let notice {
        operation = WrappedAttempt(attempt.plan.name(at: task), after: notice) { [self] in
          try makeOperation(for: attempt, of: task)
        }
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
      let results = PrerequisiteResults(workflow: self, task: task, plan: attempt.plan, values: attempt.inputs)
      let operation = try body(results)
      guard !operation.isFinished else {
        throw WorkflowAttemptError(
          .operationAlreadyFinished, taskName: results.taskName, attempt: attempt.number, operation: operation)
      }
      guard let queue = attempt.plan.operationQueue else { return operation }
      return WrappedAttempt(operation, in: queue)
    case .subworkflow(let subworkflow):
      if attempt.number > 1 { subworkflow.perform(.rearm) }
      subworkflow.storage.withLock { $0.state.beginFollowing() }
      return subworkflow.makeRun(startsEverything: true, joins: true, isAttempt: true)
    case .condition:
      preconditionFailure("A condition has no operation")
    }
  }

  func attemptDidSettle(_ operation: Operation, slot: Int, run: Int) -> [Int] {
    var outcome = (operation as? WrappedAttempt)?.attemptOutcome ?? operation.anyOutcome ?? .cancelled
    if outcome.error is CancellationError { outcome = .cancelled }
    let (task, subworkflow, effects) = storage.withLock { storage in
      let task = storage.state.attempts[slot]!.task
      // A task whose attempt no longer counts has followed its subworkflow by itself.
      let counts = storage.state.nodes[task].slot == slot
      storage.state.settle(slot: slot, outcome)
      return (task, counts ? storage.state.nodes[task].plan.subworkflow : nil, storage.state.conclude())
    }
    // The subworkflow was reset or restored after its run had ended and before the task had: the
    // task follows now.
    if let subworkflow, subworkflow.storage.withLock(\.state.wasResetSinceRun) {
      // And outwards: another thread may have passed on the end of the run meanwhile.
      follow(.reset, if: input { $0.follow(task, .reset) })
    }
    let ready = perform(effects, inRun: run)
    // It was retried then. After the effects: a failure may have cancelled what runs again now.
    if let subworkflow, subworkflow.storage.withLock(\.state.goesOnAfterRun) {
      follow(.retry, if: input { $0.follow(task, .retry) })
    }
    return ready
  }
}
