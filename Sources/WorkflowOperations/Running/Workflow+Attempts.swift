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
      let operation: Operation = try OperationContext.bind(attempt.context) {
        guard let notice else { return try makeOperation(for: attempt, of: task, isStep: false) }
        return WrappedAttempt(attempt.plan.name(at: task), after: notice) { [self] in
          try makeOperation(for: attempt, of: task, isStep: true)
        } isAbandoned: { [self] in
          isAbandoned(attempt)
        }
      }
      operation.inheritContextUnlessTaken(attempt.context)
      if storage.withLock({ $0.state.attach(operation, slot: attempt.slot) }) { operation.cancelAttempt() }
      return (operation, attempt.slot)
    } catch {
      input { $0.settle(slot: attempt.slot, error is CancellationError ? .cancelled : .failure(error)) }
      return nil
    }
  }

  /// - Parameter isStep: whether it is a step of a sequence, which refuses an operation that other
  ///   code has started.
  private func makeOperation(for attempt: ClaimedAttempt, of task: Int, isStep: Bool) throws -> Operation {
    switch attempt.plan.work {
    case .body(let body):
      let results = PrerequisiteResults(workflow: self, task: task, plan: attempt.plan, values: attempt.inputs)
      let operation = try body(results)
      guard !operation.isFinished else {
        throw WorkflowAttemptError(
          .operationAlreadyFinished, taskName: results.taskName, attempt: attempt.number, operation: operation)
      }
      let queue = attempt.plan.operationQueue
      // An operation of Foundation sees the task-local values of a composite around it.
      let isOwn = operation is SettlingOperation || !OperationContext.isUsed
      return queue == nil && isOwn && !isStep ? operation : WrappedAttempt(operation, in: queue)
    case .subworkflow(let subworkflow):
      try rearm(subworkflow, for: attempt, of: task)
      subworkflow.storage.withLock { $0.state.beginFollowing() }
      return subworkflow.makeRun(startsEverything: true, joins: true, isAttempt: true)
    case .condition:
      preconditionFailure("A condition has no operation")
    }
  }

  /// Makes what failed or was cancelled in a subworkflow runnable again, unless the attempt is the
  /// first.
  ///
  /// Throws `CancellationError` if the attempt no longer counts: the delegate that was told of its
  /// start may have cancelled the task, or another thread. What that did inside stays.
  private func rearm(_ subworkflow: Workflow, for attempt: ClaimedAttempt, of task: Int) throws {
    if isAbandoned(attempt) { throw CancellationError() }
    guard attempt.number > 1 else { return }
    subworkflow.perform(.rearm(in: attempt.context))
    guard isAbandoned(attempt) else { return }
    // It may have been cancelled before it was made runnable again. Not if the task will run again.
    if storage.withLock({ $0.state.nodes[task].outcome != nil }) { subworkflow.perform(.cancel) }
    throw CancellationError()
  }

  /// Whether an attempt that has not settled no longer counts.
  private func isAbandoned(_ attempt: ClaimedAttempt) -> Bool {
    storage.withLock { $0.state.attempts[attempt.slot]!.isCancelled }
  }

  func attemptDidSettle(_ operation: Operation, slot: Int, run: Int) -> [Int] {
    var outcome = (operation as? WrappedAttempt)?.attemptOutcome ?? operation.anyOutcome ?? .cancelled
    if outcome.error is CancellationError { outcome = .cancelled }
    let (task, subworkflow, isReset, dates, effects) = storage.withLock { storage in
      let task = storage.state.attempts[slot]!.task
      // A task whose attempt no longer counts has followed its subworkflow by itself.
      let counts = storage.state.nodes[task].slot == slot
      storage.state.settle(slot: slot, outcome)
      let node = storage.state.nodes[task]
      let subworkflow = counts ? node.plan.subworkflow : nil
      // The subworkflow was reset or restored after its run had ended and before the task had: the
      // task follows now, before the run ends, whose last task it may be. A thread that resets the
      // subworkflow after this look finds a task that has ended, and lets it follow.
      let wasReset = subworkflow?.storage.withLock(\.state.wasResetSinceRun) == true
      let isReset = wasReset && storage.state.follow(task, .reset)
      return (task, subworkflow, isReset, node.dates, storage.state.conclude())
    }
    // And outwards: another thread may have passed on the end of the run meanwhile.
    follow(.reset, if: isReset)
    let ready = perform(effects, inRun: run)
    // It was retried then. After the effects: a failure may have cancelled what runs again now.
    if let subworkflow, subworkflow.storage.withLock(\.state.goesOnAfterRun) {
      let context = subworkflow.storage.withLock(\.state.runContext)
      OperationContext.bind(context) {
        // Unless something else has been done to the task since the attempt has ended.
        let verb = OwnVerb.retry(in: context)
        follow(verb, if: input { $0.nodes[task].dates == dates && $0.follow(task, verb) })
      }
    }
    return ready
  }
}
