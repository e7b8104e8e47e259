import CompositeOperations

extension WorkflowEvent {
  /// What can happen.
  ///
  /// More kinds may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// A run began.
    public static let workflowStarted = Kind(value: .workflowStarted)
    /// A run ended, and every task has finished.
    public static let workflowFinished = Kind(value: .workflowFinished)
    /// A run ended, a task failed, and no other task can run. ``WorkflowEvent/error`` is a
    /// ``WorkflowError``.
    public static let workflowFailed = Kind(value: .workflowFailed)
    /// A run ended as cancelled.
    public static let workflowCancelled = Kind(value: .workflowCancelled)
    /// A run ended, and tasks are left that can run and were not started. The workflow has no
    /// outcome.
    public static let workflowPaused = Kind(value: .workflowPaused)
    /// The workflow was reset as a whole. The tasks' own events come next.
    public static let workflowReset = Kind(value: .workflowReset)
    /// The workflow was retried as a whole. The tasks' own events come next.
    public static let workflowRetried = Kind(value: .workflowRetried)
    /// An attempt of the task started.
    public static let started = Kind(value: .started)
    /// The task has a result.
    public static let finished = Kind(value: .finished)
    /// The attempt failed with ``WorkflowEvent/error``.
    public static let failed = Kind(value: .failed)
    /// The task was cancelled.
    public static let cancelled = Kind(value: .cancelled)
    /// The task was reset.
    public static let reset = Kind(value: .reset)
    /// The task will run again.
    public static let retried = Kind(value: .retried)
    /// An attempt ended that no longer counts, because the task was cancelled, reset or settled
    /// from outside before. ``WorkflowEvent/outcome`` is what the attempt ended with.
    public static let discarded = Kind(value: .discarded)

    /// The kind in a word, such as `workflowStarted`.
    public var description: String { value.rawValue }

    /// What the library itself switches on, without a `default`.
    enum Value: String {
      case workflowStarted, workflowFinished, workflowFailed, workflowCancelled, workflowPaused, workflowReset
      case workflowRetried
      case started, finished, failed, cancelled, reset, retried, discarded
    }

    let value: Value
  }

  /// What the state says of an event. It knows tasks by their places, and no handles.
  struct Content: Sendable {
    /// How what the event tells of ended.
    enum Ending: Sendable {
      case attempt(Outcome<any Sendable>)
      case run(WorkflowSettlement)
    }

    let kind: Kind.Value
    /// The place of the task; nil for what happens to the workflow.
    var task: Int?
    var attempt = 0
    var ending: Ending?
    /// The task-local values that hooks, the delegate and sinks see.
    var context: ContextValues?

    /// Whether the workflow has settled.
    var settles: Bool {
      if case .run = ending { true } else { false }
    }

    /// The end of a run; nil for one that leaves tasks that can run and were not started.
    static func runEnded(_ settlement: WorkflowSettlement?) -> Content {
      switch settlement {
      case nil: Content(kind: .workflowPaused)
      case .finished?: Content(kind: .workflowFinished, ending: .run(.finished))
      case .failed(let record)?: Content(kind: .workflowFailed, ending: .run(.failed(record)))
      case .cancelled?: Content(kind: .workflowCancelled, ending: .run(.cancelled))
      }
    }
  }
}
