public import CompositeOperations

/// Something that happened in a workflow.
///
/// Switch on ``kind``; ``outcome`` is what the events of some kinds carry. An event keeps its
/// workflow alive.
public struct WorkflowEvent: Sendable, CountedEvent {
  let content: Content
  private let workflow: Workflow
  /// How many events the stream has dropped before this one, because they were not read in time; 0
  /// for a delegate, which gets them all.
  public package(set) var droppedCount = 0

  init(_ content: Content, in workflow: Workflow) {
    self.content = content
    self.workflow = workflow
  }

  /// What happened.
  public var kind: Kind { Kind(value: content.kind) }

  /// The task that it happened to; nil for what happens to the workflow.
  public var task: AnyWorkflowTask? { content.task.map(workflow.handle) }

  /// The number of the attempt; 0 for what happens to the workflow.
  public var attempt: Int { content.attempt }

  /// How the task ended, of ``Kind/finished``, ``Kind/failed`` and ``Kind/cancelled``; how the
  /// attempt ended, of ``Kind/discarded``; how the run ended, of ``Kind/workflowFinished``,
  /// ``Kind/workflowFailed`` and ``Kind/workflowCancelled``; nil for other kinds.
  ///
  /// It is what it was when the event happened, also if the task runs again meanwhile. The value of
  /// a run is `Void`, and its error a ``WorkflowError``.
  public var outcome: Outcome<any Sendable>? {
    switch content.ending {
    case nil: nil
    case .attempt(let outcome): outcome
    case .run(let settlement): settlement.outcome(of: workflow).map { _ in () as any Sendable }
    }
  }

  /// The error of ``outcome``, if that is a failure.
  public var error: (any Error)? { outcome?.error }
}

extension WorkflowEvent: CustomStringConvertible {
  /// What happened to which task, such as `upload: failed (attempt 2)`.
  public var description: String {
    let what =
      switch content.kind {
      case .workflowStarted: "workflow started"
      case .workflowFinished: "workflow finished"
      case .workflowFailed: "workflow failed"
      case .workflowCancelled: "workflow cancelled"
      case .workflowPaused: "workflow paused"
      case .workflowReset: "workflow reset"
      case .workflowRetried: "workflow retried"
      case .started, .finished, .failed, .cancelled, .reset, .retried, .discarded: content.kind.rawValue
      }
    return task.map { "\($0.name): \(what)\(attempt > 0 ? " (attempt \(attempt))" : "")" } ?? what
  }
}
