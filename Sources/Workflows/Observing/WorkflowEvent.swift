public import CompositeOperations

/// Something that happened in a workflow.
public struct WorkflowEvent: Sendable {
  /// What happened.
  public enum Kind: Sendable {
    /// A run began.
    case workflowStarted
    /// A run ended, and every task has finished.
    case workflowFinished
    /// A run ended, something failed, and nothing can run any more.
    case workflowFailed(WorkflowError)
    /// A run ended as cancelled.
    case workflowCancelled
    /// A run ended, and there are tasks left that can run and were not started. The workflow has no outcome.
    case workflowPaused
    /// The workflow was reset as a whole. The tasks' own events come next.
    case workflowReset
    /// The workflow was retried as a whole. The tasks' own events come next.
    case workflowRetried
    /// An attempt of the task started.
    case started
    /// The task has a result.
    case finished
    /// The attempt failed.
    case failed(any Error)
    /// The task was cancelled.
    case cancelled
    /// The task was reset.
    case reset
    /// The task will run again.
    case retried
    /// An attempt has ended that did not count any more, because the task was cancelled or reset in the meantime. This is
    /// what it ended with.
    case discarded(Outcome<any Sendable>)
  }

  /// What happened.
  public let kind: Kind
  /// The task that it happened to; nil for what happens to the workflow.
  public let task: AnyWorkflowTask?
  /// The number of the attempt; 0 for what happens to the workflow.
  public let attempt: Int
  /// How many events the stream had dropped, because nobody took them in time, when this one was put in.
  public let droppedCount: Int
}

extension WorkflowEvent: CustomStringConvertible {
  /// What happened to which task, such as `upload: failed (attempt 2)`.
  public var description: String {
    let what =
      switch kind {
      case .workflowStarted: "workflow started"
      case .workflowFinished: "workflow finished"
      case .workflowFailed: "workflow failed"
      case .workflowCancelled: "workflow cancelled"
      case .workflowPaused: "workflow paused"
      case .workflowReset: "workflow reset"
      case .workflowRetried: "workflow retried"
      case .started: "started"
      case .finished: "finished"
      case .failed: "failed"
      case .cancelled: "cancelled"
      case .reset: "reset"
      case .retried: "retried"
      case .discarded: "discarded"
      }
    return task.map { "\($0.name): \(what)\(attempt > 0 ? " (attempt \(attempt))" : "")" } ?? what
  }
}
