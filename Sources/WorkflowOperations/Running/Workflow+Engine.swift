import CompositeOperations
import Foundation

// How the effects of the state machine are carried out.

extension Workflow {
  /// Feeds an input to the state machine, and carries out the effects.
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

  /// - Parameter run: the run whose operation the caller hands ready tasks to, which are returned,
  ///   and tells of progress.
  func perform(_ effects: WorkflowEffects, inRun run: Int) -> [Int] {
    for operation in effects.cancelled { operation.cancelAttempt() }
    for (plan, verb) in effects.subworkflows {
      if let subworkflow = plan.subworkflow { Unwinding.perform { subworkflow.perform(verb) } }
    }
    if effects.delivers {
      if effects.subworkflows.isEmpty {
        deliver()
      } else {
        // After what was done inside, which may have been put off.
        Unwinding.perform { self.deliver() }
      }
    }
    if !effects.ready.isEmpty, effects.run != run { handIn(effects.ready, run: effects.run) }
    for end in effects.ends { finish(end) }
    if let start = effects.start { makeRun(startsEverything: start == .everything, joins: false).start() }
    if effects.hasProgressed {
      for operation in storage.withLock({ $0.operations(except: run) }) { operation.progressDidChange() }
    }
    return effects.run == run ? effects.ready : []
  }

  func handIn(_ tasks: [Int], run: Int) {
    // None if the run was cancelled meanwhile; then so were the tasks.
    storage.withLock { $0.runs[run]?.operation }?.run(tags: tasks)
  }
}

// MARK: - A workflow that is a task of another one

extension Workflow {
  /// What a task follows that was done to its subworkflow.
  enum OwnVerb {
    /// A retry, with the task-local values of who retries.
    case retry(in: ContextValues?)
    case reset
  }

  /// Lets the task whose subworkflow this is follow a verb, and so on outwards.
  ///
  /// - Parameter changes: whether the verb changed anything. Returned.
  @discardableResult
  func follow(_ verb: OwnVerb, if changes: Bool) -> Bool {
    guard changes else { return false }
    var child = self
    while let owner = child.storage.withLock({ $0.owner }), let parent = owner.workflow {
      let follows = parent.input { $0.follow(owner.index, verb) }
      guard follows else { break }
      child = parent
    }
    return true
  }

  /// Does what has been done to the task whose subworkflow this is.
  func perform(_ verb: WorkflowEffects.SubworkflowVerb) {
    switch verb {
    case .cancel: input { _ = $0.cancelEverything() }
    case .reset: input { _ = $0.resetEverything() }
    case .rearm(let context): input { _ = $0.rearm(in: context) }
    }
  }
}

extension WorkflowState {
  /// Lets a task follow its subworkflow, which was retried or reset by itself. Returns whether it
  /// did.
  mutating func follow(_ task: Int, _ verb: Workflow.OwnVerb) -> Bool {
    switch (verb, nodes[task].state) {
    case (.retry(let context), .failed), (.retry(let context), .cancelled):
      return retry(task, in: context, follows: true)
    case (.reset, .finished), (.reset, .failed), (.reset, .cancelled):
      return reset(task, follows: true)
    case (_, .pending), (_, .ready), (_, .executing), (.retry, .finished):
      return false
    }
  }
}
