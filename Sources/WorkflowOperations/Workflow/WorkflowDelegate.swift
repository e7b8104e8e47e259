public import CompositeOperations

/// Is told what happens in a workflow. Every method has an empty default.
///
/// A workflow tells its hooks, its delegate and its event streams one thing after the other, in the order in which they
/// happened, under no lock: on the thread that made it happen or, if another thread is just telling something, on that
/// one. Of each event the task's hook is told first, then the delegate, then the streams. Tasks that become ready by it
/// run after that, and whoever awaits the workflow goes on after that. So nothing here should block.
///
/// All of them may use the workflow as they like. What they change takes effect at once, and is told of when they have
/// returned. To get events elsewhere, on the main actor for instance, read ``Workflow/events(bufferingPolicy:)`` there.
public protocol WorkflowDelegate: AnyObject, Sendable {
  /// A run began.
  func workflowDidStart(_ workflow: Workflow)
  /// A run ended: every task has finished.
  func workflowDidFinish(_ workflow: Workflow)
  /// A run ended: something failed, and nothing can run any more.
  func workflow(_ workflow: Workflow, didFailWith error: WorkflowError)
  /// A run ended as cancelled.
  func workflowDidCancel(_ workflow: Workflow)
  /// A run ended, and there are tasks left that can run and were not started.
  func workflowDidPause(_ workflow: Workflow)
  /// The workflow was reset as a whole. What that did to each task is told next.
  func workflowDidReset(_ workflow: Workflow)
  /// The workflow was retried as a whole. What that did to each task is told next.
  func workflowDidRetry(_ workflow: Workflow)
  /// An attempt of a task started.
  func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask)
  /// A task has a result.
  func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask)
  /// An attempt of a task failed.
  func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error)
  /// A task was cancelled.
  func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask)
  /// A task was reset.
  func workflow(_ workflow: Workflow, taskDidReset task: AnyWorkflowTask)
  /// A task will run again.
  func workflow(_ workflow: Workflow, taskDidRetry task: AnyWorkflowTask)
  /// An attempt ended that did not count any more: the task was cancelled or reset in the meantime.
  func workflow(
    _ workflow: Workflow, task: AnyWorkflowTask, didDiscardAttempt attempt: Int, outcome: Outcome<any Sendable>)
}

extension WorkflowDelegate {
  /// Does nothing.
  public func workflowDidStart(_ workflow: Workflow) {}
  /// Does nothing.
  public func workflowDidFinish(_ workflow: Workflow) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, didFailWith error: WorkflowError) {}
  /// Does nothing.
  public func workflowDidCancel(_ workflow: Workflow) {}
  /// Does nothing.
  public func workflowDidPause(_ workflow: Workflow) {}
  /// Does nothing.
  public func workflowDidReset(_ workflow: Workflow) {}
  /// Does nothing.
  public func workflowDidRetry(_ workflow: Workflow) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidStart task: AnyWorkflowTask) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, task: AnyWorkflowTask, didFailWith error: any Error) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidCancel task: AnyWorkflowTask) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidReset task: AnyWorkflowTask) {}
  /// Does nothing.
  public func workflow(_ workflow: Workflow, taskDidRetry task: AnyWorkflowTask) {}
  /// Does nothing.
  public func workflow(
    _ workflow: Workflow, task: AnyWorkflowTask, didDiscardAttempt attempt: Int, outcome: Outcome<any Sendable>
  ) {}
}
