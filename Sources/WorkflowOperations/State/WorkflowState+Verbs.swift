import CompositeOperations
import Foundation

// What users can do to tasks. Each verb reaches every dependent once, and returns whether it
// changed anything.

extension WorkflowState {
  /// Adds a task after its prerequisites. Returns its place.
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
    if node.state == .ready, let run, run.startsEverything, !run.isClosing {
      reopen()
      want(task)
    }
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
    run?.startsEverything = true
    run?.isClosing = false
    wantEverything()
  }

  mutating func wantEverything() {
    // If there is nothing to start, a run that was cancelled stays so.
    guard counts[.ready] > wantedCount else { return }
    reopen()
    for task in nodes.indices where nodes[task].state == .ready { want(task) }
  }

  /// Keeps a run going that was about to end, because a task is to run.
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
    run?.isClosing = true
    var changes = false
    for task in nodes.indices where cancelNode(task) { changes = true }
    return changes
  }

  /// - Parameter follows: whether the task follows its subworkflow, which has ended as cancelled.
  ///   What was reset in the subworkflow meanwhile stays reset.
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
    tell(.cancelled, of: task, ending: .attempt(.cancelled))
    return true
  }

  /// Abandons the attempt of an executing task, and those of its subworkflow.
  mutating func stopAttempt(of task: Int) {
    abandonAttempt(of: task)
    if nodes[task].plan.isSubworkflow { effects.subworkflows.append((nodes[task].plan, .cancel)) }
  }

  /// Cancels the attempt of an executing task, which no longer counts. The run waits for it.
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

  /// - Parameter follows: whether the task follows its subworkflow, which was reset.
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
      if run == nil { wasResetSinceRun = true }
    }
    return changes
  }

  private mutating func resetNode(_ task: Int, follows: Bool) -> Bool {
    let fulfilment = fulfilments.removeValue(forKey: task)
    if let fulfilment { effects.released.append(fulfilment) }
    // Also if the task is pending: its subworkflow may have been run by itself.
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
    setRetryContext(nil, of: task)
    tell(.reset, of: task)
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

  /// Sets the task-local values of tasks that are retried, and of those that wait for them.
  private mutating func setContext(_ context: ContextValues?, ofRetried retried: [Int], in tasks: [Int]) {
    var changed = Set(retried)
    // Prerequisites come first.
    for task in tasks.sorted() {
      if nodes[task].state == .pending, nodes[task].plan.prerequisites.contains(where: changed.contains) {
        changed.insert(task)
      }
    }
    for task in changed { setRetryContext(context, of: task) }
  }

  /// - Parameters:
  ///   - context: the task-local values of who retries.
  ///   - follows: whether the task follows its subworkflow, which was retried.
  mutating func retry(_ task: Int, in context: ContextValues? = nil, follows: Bool = false) -> Bool {
    retry(reach(from: task), starts: true, in: context, following: follows ? task : nil)
  }

  /// - Parameter context: the task-local values of who retries.
  mutating func retryEverything(in context: ContextValues? = nil) -> Bool {
    let retries = tellFirst(.workflowRetried, in: context) {
      $0.retry(Array($0.nodes.indices), starts: true, in: context)
    }
    guard retries else { return false }
    startEverything()
    return true
  }

  /// Makes the failed and cancelled tasks runnable again, and starts none.
  ///
  /// - Parameter context: the task-local values of who retries.
  mutating func rearm(in context: ContextValues?) -> Bool {
    tellFirst(.workflowRetried, in: context) { $0.retry(Array($0.nodes.indices), starts: false, in: context) }
  }

  private mutating func retry(
    _ tasks: [Int], starts: Bool, in context: ContextValues?, following follower: Int? = nil
  ) -> Bool {
    let retried = tasks.filter { nodes[$0].state == .failed || nodes[$0].state == .cancelled }
    if context != nil || !retryContexts.isEmpty { setContext(context, ofRetried: retried, in: tasks) }
    for task in retried {
      clear(task)
      if task != follower, nodes[task].plan.isSubworkflow {
        effects.subworkflows.append((nodes[task].plan, .rearm(in: context)))
      }
      tell(.retried, of: task)
    }
    guard !retried.isEmpty else { return false }
    settlement = nil
    reopen()
    for task in retried where nodes[task].unmetCount == 0 {
      move(task, to: .ready)
      if starts { want(task) }
    }
    // Also if none of them can run: then the run ends at once, with what keeps them from it.
    if starts, run == nil {
      effects.start = .wanted
      wasRetriedSinceRun = true
    }
    return true
  }
}
