import CompositeOperations
import Foundation

// How a task executes, and how that ends.

/// What is needed to make the operation of an attempt.
struct ClaimedAttempt: Sendable {
  let slot: Int
  let number: Int
  let plan: AnyTaskPlan
  /// The results of the prerequisites, as they are now.
  let inputs: [any Sendable]
  /// The task-local values of the operation.
  let context: ContextValues?
}

extension WorkflowState {
  /// Begins the attempt of a task that was handed to the operation of a run. Nil if the task is no
  /// longer to run.
  mutating func claim(_ task: Int, run number: Int) -> ClaimedAttempt? {
    guard run?.number == number, nodes[task].handedInTo == number else { return nil }
    nodes[task].handedInTo = 0
    guard nodes[task].isWanted else { return nil }
    unwant(task)
    execute(task)
    let context = context(of: task)
    let slot = takeSlot(Attempt(task: task, number: nodes[task].attempt, run: number, context: context))
    nodes[task].slot = slot
    let plan = nodes[task].plan
    return ClaimedAttempt(
      slot: slot, number: nodes[task].attempt, plan: plan, inputs: plan.prerequisites.map { nodes[$0].value ?? () },
      context: context)
  }

  /// The notice to wait for, if another thread has to pass on the start of the attempt that was
  /// just claimed, because it is passing on earlier events.
  ///
  /// - Parameter effects: the effects of the claim.
  mutating func noticeOfStart(after effects: WorkflowEffects) -> StartNotice? {
    guard isObserved, outbox.isDelivering, !effects.delivers else { return nil }
    let notice = StartNotice()
    outbox.append(.toldStart(notice))
    return notice
  }

  mutating func execute(_ task: Int) {
    move(task, to: .executing)
    nodes[task].attempt += 1
    nodes[task].startDate = Date()
    tell(.started, of: task)
  }

  private mutating func takeSlot(_ attempt: Attempt) -> Int {
    liveCount += 1
    guard let slot = freeSlots.popLast() else {
      attempts.append(attempt)
      return attempts.count - 1
    }
    attempts[slot] = attempt
    return slot
  }

  /// Stores the operation of an attempt. Returns whether the attempt was cancelled meanwhile.
  mutating func attach(_ operation: Operation, slot: Int) -> Bool {
    attempts[slot]!.operation = operation
    return attempts[slot]!.isCancelled
  }

  /// Ends an attempt: its operation has settled, or could not be made.
  mutating func settle(slot: Int, _ outcome: Outcome<any Sendable>) {
    guard let attempt = attempts[slot] else { preconditionFailure("An attempt settled twice") }
    attempts[slot] = nil
    if let context = attempt.context { effects.released.append(context) }
    freeSlots.append(slot)
    liveCount -= 1
    let task = attempt.task
    if nodes[task].slot == slot {
      nodes[task].slot = nil
      switch outcome {
      case .success(let value): finish(task, value)
      case .failure(let error): fail(task, error)
      case .cancelled: for reached in reach(from: task) { cancelNode(reached, follows: reached == task) }
      }
    } else if isObserved {
      events.append(
        WorkflowEvent.Content(
          kind: .discarded, task: task, attempt: attempt.number, ending: .attempt(outcome), context: attempt.context))
    }
    if let left = draining[attempt.run] { drain(attempt.run, left: left - 1) }
  }

  mutating func finish(_ task: Int, _ value: any Sendable) {
    move(task, to: .finished)
    nodes[task].value = value
    nodes[task].finishDate = Date()
    effects.hasProgressed = true
    tell(.finished, of: task, ending: .attempt(.success(value)))
    let runsOn = run.map { !$0.isClosing } ?? false
    for dependent in dependents[task] {
      nodes[dependent].unmetCount -= 1
      guard nodes[dependent].unmetCount == 0, nodes[dependent].state == .pending else { continue }
      move(dependent, to: .ready)
      if runsOn { want(dependent) }
    }
  }

  mutating func fail(_ task: Int, _ error: any Error) {
    move(task, to: .failed)
    nodes[task].error = error
    nodes[task].finishDate = Date()
    tell(.failed, of: task, ending: .attempt(.failure(error)))
    guard failurePolicy == .cancelRemaining else { return }
    run?.isClosing = true
    for other in nodes.indices { cancelNode(other) }
  }

  // MARK: - Conditions

  /// Gives a condition its result. False if it has one.
  mutating func fulfill(_ task: Int, with value: any Sendable) -> Bool {
    guard fulfilments[task] == nil else { return false }
    fulfilments[task] = value
    if nodes[task].state == .executing { fulfilled(task, value) }
    return true
  }

  mutating func fulfilled(_ task: Int, _ value: any Sendable) {
    waitingCount -= 1
    finish(task, value)
  }

  // MARK: - Settled from outside

  /// Finishes a task whatever its attempt does. False if it does not execute.
  mutating func finishExecuting(_ task: Int, with value: any Sendable) -> Bool {
    guard nodes[task].state == .executing else { return false }
    if nodes[task].plan.isCondition { return fulfill(task, with: value) }
    stopAttempt(of: task)
    finish(task, value)
    return true
  }

  /// Fails a task or a condition whatever its attempt does. False if it does not execute.
  mutating func rejectExecuting(_ task: Int, with error: any Error) -> Bool {
    guard nodes[task].state == .executing else { return false }
    if error is CancellationError { return cancel(task) }
    stopAttempt(of: task)
    fail(task, error)
    return true
  }
}
