public import CompositeOperations

/// Something that happened in a workflow.
///
/// Switch on ``kind``; ``error`` and ``discardedOutcome`` are what the events of some kinds carry.
public struct WorkflowEvent: Sendable, CountedEvent {
  /// What can happen.
  ///
  /// More kinds may come: a `switch` over them needs a `default`.
  public struct Kind: Sendable, Hashable, CustomStringConvertible {
    /// A run began.
    public static let workflowStarted = Kind(value: .workflowStarted)
    /// A run ended, and every task has finished.
    public static let workflowFinished = Kind(value: .workflowFinished)
    /// A run ended, something failed, and nothing can run any more. ``WorkflowEvent/error`` is a
    /// ``WorkflowError``.
    public static let workflowFailed = Kind(value: .workflowFailed)
    /// A run ended as cancelled.
    public static let workflowCancelled = Kind(value: .workflowCancelled)
    /// A run ended, and there are tasks left that can run and were not started. The workflow has no
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
    /// An attempt has ended that did not count any more, because the task was cancelled or reset in
    /// the meantime. ``WorkflowEvent/discardedOutcome`` is what it ended with.
    public static let discarded = Kind(value: .discarded)

    /// The kind in a word, such as `workflowStarted`.
    public var description: String { value.rawValue }

    enum Value: String {
      case workflowStarted, workflowFinished, workflowFailed, workflowCancelled, workflowPaused, workflowReset
      case workflowRetried
      case started, finished, failed, cancelled, reset, retried, discarded
    }

    let value: Value
  }

  /// What the library itself switches on, without a `default`.
  enum Content {
    case workflowStarted
    case workflowFinished
    case workflowFailed(WorkflowError)
    case workflowCancelled
    case workflowPaused
    case workflowReset
    case workflowRetried
    case started
    case finished
    case failed(any Error)
    case cancelled
    case reset
    case retried
    case discarded(Outcome<any Sendable>)
  }

  let content: Content
  /// The task that it happened to; nil for what happens to the workflow.
  public let task: AnyWorkflowTask?
  /// The number of the attempt; 0 for what happens to the workflow.
  public let attempt: Int
  /// How many events the stream has dropped before this one, because they were not read in time.
  public package(set) var droppedCount = 0

  /// What happened.
  public var kind: Kind {
    switch content {
    case .workflowStarted: .workflowStarted
    case .workflowFinished: .workflowFinished
    case .workflowFailed: .workflowFailed
    case .workflowCancelled: .workflowCancelled
    case .workflowPaused: .workflowPaused
    case .workflowReset: .workflowReset
    case .workflowRetried: .workflowRetried
    case .started: .started
    case .finished: .finished
    case .failed: .failed
    case .cancelled: .cancelled
    case .reset: .reset
    case .retried: .retried
    case .discarded: .discarded
    }
  }

  /// What the attempt failed with, of ``Kind/failed``, or the ``WorkflowError`` that the workflow
  /// failed with, of ``Kind/workflowFailed``; nil for other kinds.
  public var error: (any Error)? {
    switch content {
    case .failed(let error): error
    case .workflowFailed(let error): error
    default: nil
    }
  }

  /// What an attempt ended with that did not count any more, of ``Kind/discarded``; nil for other
  /// kinds.
  public var discardedOutcome: Outcome<any Sendable>? {
    if case .discarded(let outcome) = content { outcome } else { nil }
  }
}

extension WorkflowEvent: CustomStringConvertible {
  /// What happened to which task, such as `upload: failed (attempt 2)`.
  public var description: String {
    let what =
      switch kind.value {
      case .workflowStarted: "workflow started"
      case .workflowFinished: "workflow finished"
      case .workflowFailed: "workflow failed"
      case .workflowCancelled: "workflow cancelled"
      case .workflowPaused: "workflow paused"
      case .workflowReset: "workflow reset"
      case .workflowRetried: "workflow retried"
      case .started, .finished, .failed, .cancelled, .reset, .retried, .discarded: kind.value.rawValue
      }
    return task.map { "\($0.name): \(what)\(attempt > 0 ? " (attempt \(attempt))" : "")" } ?? what
  }
}
