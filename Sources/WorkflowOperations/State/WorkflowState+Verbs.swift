import CompositeOperations
import Foundation

// What can be done to tasks from outside. Each verb reaches every dependent once, and returns whether anything changed.

extension WorkflowState {
  /// A task is added, after its prerequisites. Returns its place.
  mutating func add(_ plan: AnyTaskPlan) -> Int {
    let task = nodes.count
    var node = TaskNode(plan: plan)
    dependents.addTask()
    for prerequisite in plan.prerequisites {
      dependents.add(task, to: prerequisite)
      if nodes[prerequisite].state != .finished { node.unmetCount += 1 }
    }
    if node.unmetCount > 0 { node.state = .pending }
    counts[node.state] += 1
    nodes.append(node)
    if let name = plan.name { named[name] = task }
    settlement = nil
    if node.state == .ready, let run, run.startsEverything, !run.isClosing, !run.wasCancelled { want(task) }
    return task
  }

  // MARK: - Start

  mutating func start(_ task: Int) -> Bool {
    guard nodes[task].state == .ready, !nodes[task].isWanted else { return false }
    reopen()
    want(task)
    return true
  }

  mutating func startEverything() {
    guard run != nil else {
      effects.start = .everything
      return
    }
    reopen()
    run?.startsEverything = true
    wantEverything()
  }

  mutating func wantEverything() {
    guard counts[.ready] > wantedCount else { return }
    for task in nodes.indices where nodes[task].state == .ready { want(task) }
  }

  /// Something is to run again in a run that was about to end.
  private mutating func reopen() {
    run?.isClosing = false
    run?.wasCancelled = false
  }

  // MARK: - Cancel

  mutating func cancel(_ task: Int) -> Bool {
    var changes = false
    for reached in reach(from: task) where cancelNode(reached) { changes = true }
    return changes
  }

  mutating func cancelEverything() -> Bool {
    run?.wasCancelled = true
    var changes = false
    for task in nodes.indices where cancelNode(task) { changes = true }
    return changes
  }

  /// - Parameter follows: whether the task's own workflow has ended as cancelled, and the task follows. What was reset in
  ///   that workflow meanwhile stays as it is.
  @discardableResult
  mutating func cancelNode(_ task: Int, follows: Bool = false) -> Bool {
    switch nodes[task].state {
    case .finished, .failed, .cancelled:
      return false
    case .pending:
      break
    case .ready:
      unwant(task)
    case .executing:
      abandonAttempt(of: task)
    }
    move(task, to: .cancelled)
    if !follows, nodes[task].plan.isSubworkflow { effects.subworkflows.append((nodes[task].plan, .cancel)) }
    tell(.cancelled(task, attempt: nodes[task].attempt))
    return true
  }

  /// The attempt of an executing task does not count any more, and neither do those of its own workflow.
  mutating func stopAttempt(of task: Int) {
    abandonAttempt(of: task)
    if nodes[task].plan.isSubworkflow { effects.subworkflows.append((nodes[task].plan, .cancel)) }
  }

  /// The attempt of an executing task does not count any more. It is waited for.
  private mutating func abandonAttempt(of task: Int) {
    if nodes[task].plan.isCondition {
      waitingCount -= 1
      return
    }
    // None if the attempt has just settled as cancelled.
    guard let slot = nodes[task].slot else { return }
    nodes[task].slot = nil
    attempts[slot]!.isCancelled = true
    if let operation = attempts[slot]!.operation { effects.cancelled.append(operation) }
  }

  // MARK: - Reset

  /// - Parameter follows: whether the task's own workflow has been reset, and the task follows.
  mutating func reset(_ task: Int, follows: Bool = false) -> Bool {
    reset(reach(from: task), following: follows ? task : nil)
  }

  mutating func resetEverything() -> Bool {
    tellFirst(.workflowReset, if: { $0.reset(Array($0.nodes.indices)) })
  }

  private mutating func reset(_ tasks: [Int], following follower: Int? = nil) -> Bool {
    var changes = false
    for task in tasks where resetNode(task, follows: task == follower) { changes = true }
    for task in tasks where nodes[task].unmetCount == 0 && nodes[task].state == .pending { move(task, to: .ready) }
    if changes {
      settlement = nil
      wasResetSinceRun = run == nil
    }
    return changes
  }

  private mutating func resetNode(_ task: Int, follows: Bool) -> Bool {
    let fulfilment = fulfilments.removeValue(forKey: task)
    if let fulfilment { effects.released.append(fulfilment) }
    // A task that is pending, too: its workflow may have been run by itself.
    if !follows, nodes[task].plan.isSubworkflow { effects.subworkflows.append((nodes[task].plan, .reset)) }
    switch nodes[task].state {
    case .pending:
      return fulfilment != nil
    case .ready:
      unwant(task)
    case .executing:
      abandonAttempt(of: task)
    case .finished:
      for dependent in dependents[task] { nodes[dependent].unmetCount += 1 }
    case .failed, .cancelled:
      break
    }
    clear(task)
    tell(.reset(task, attempt: nodes[task].attempt))
    return true
  }

  mutating func clear(_ task: Int) {
    move(task, to: .pending)
    if let value = nodes[task].value { effects.released.append(value) }
    if let error = nodes[task].error { effects.released.append(error) }
    nodes[task].value = nil
    nodes[task].error = nil
    nodes[task].startDate = nil
    nodes[task].finishDate = nil
  }

  // MARK: - Retry

  /// - Parameter follows: whether the task's own workflow has been retried, and the task follows.
  mutating func retry(_ task: Int, follows: Bool = false) -> Bool {
    retry(reach(from: task), starts: true, following: follows ? task : nil)
  }

  mutating func retryEverything() -> Bool {
    guard tellFirst(.workflowRetried, if: { $0.retry(Array($0.nodes.indices), starts: true) }) else { return false }
    if run != nil {
      run?.startsEverything = true
      wantEverything()
    } else {
      effects.start = .everything
    }
    return true
  }

  /// The failed and cancelled tasks can run again, and are not started.
  mutating func rearm() -> Bool {
    tellFirst(.workflowRetried, if: { $0.retry(Array($0.nodes.indices), starts: false) })
  }

  private mutating func retry(_ tasks: [Int], starts: Bool, following follower: Int? = nil) -> Bool {
    let retried = tasks.filter { nodes[$0].state == .failed || nodes[$0].state == .cancelled }
    for task in retried {
      clear(task)
      if task != follower, nodes[task].plan.isSubworkflow {
        effects.subworkflows.append((nodes[task].plan, .rearm))
      }
      tell(.retried(task, attempt: nodes[task].attempt))
    }
    guard !retried.isEmpty else { return false }
    settlement = nil
    reopen()
    for task in retried where nodes[task].unmetCount == 0 {
      move(task, to: .ready)
      if starts { want(task) }
    }
    // Also if none of them can run: then the run ends at once, with what keeps them from it.
    if starts, run == nil { effects.start = .wanted }
    return true
  }
}
