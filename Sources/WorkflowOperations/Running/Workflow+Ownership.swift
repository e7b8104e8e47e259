import CompositeOperations

// A workflow and the task of another one that it is.

extension Workflow {
  /// What has been done to a workflow that the task which it is follows.
  enum OwnVerb {
    case retry, reset
  }

  /// Tells the task that this workflow is, if it is one.
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

  /// Does what has been done to the task that this workflow is.
  func perform(_ verb: WorkflowEffects.SubworkflowVerb) {
    switch verb {
    case .cancel: input { _ = $0.cancelEverything() }
    case .reset: input { _ = $0.resetEverything() }
    case .rearm: input { _ = $0.rearm() }
    }
  }
}

extension WorkflowState {
  /// The workflow that a task is was retried or reset by itself. Returns whether the task followed.
  mutating func follow(_ task: Int, _ verb: Workflow.OwnVerb) -> Bool {
    switch (verb, nodes[task].state) {
    case (.retry, .failed), (.retry, .cancelled):
      return retry(task, follows: true)
    case (.reset, .finished), (.reset, .failed), (.reset, .cancelled):
      return reset(task, follows: true)
    case (_, .pending), (_, .ready), (_, .executing), (.retry, .finished):
      return false
    }
  }
}
