import WorkflowOperations

/// How a task stands, as people see it: a condition that executes waits, and a task that was
/// stopped is held.
enum Standing: String, CaseIterable, Sendable {
  case pending, ready, executing, waiting, held, finished, failed, cancelled

  init(_ state: AnyWorkflowTask.State, isCondition: Bool, isStopped: Bool) {
    self =
      switch state {
      case .pending: .pending
      case .ready: .ready
      case .executing: isCondition ? .waiting : isStopped ? .held : .executing
      case .finished: .finished
      case .failed: .failed
      case .cancelled: .cancelled
      }
  }

  /// What comes next for a task that stands so; nil if it has to wait for others.
  var nextAction: Command.Action? {
    switch self {
    case .pending: nil
    case .ready: .start
    case .executing: .cancel
    case .waiting: .fulfill
    case .held: .release
    case .finished: .reset
    case .failed, .cancelled: .retry
    }
  }
}
