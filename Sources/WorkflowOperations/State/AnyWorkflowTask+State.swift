extension AnyWorkflowTask {
  /// How a task stands.
  public enum State: Int, Sendable, CaseIterable, CustomStringConvertible {
    /// It waits for prerequisites that have not finished.
    case pending
    /// All prerequisites have finished. It runs when it is started; if it was, when there is room for it.
    case ready
    /// An attempt is under way. A condition that waits to be fulfilled is executing, too.
    case executing
    /// It has a result.
    case finished
    /// Its last attempt failed.
    case failed
    /// It was cancelled.
    case cancelled

    /// The state in one word, such as `executing`.
    public var description: String {
      switch self {
      case .pending: "pending"
      case .ready: "ready"
      case .executing: "executing"
      case .finished: "finished"
      case .failed: "failed"
      case .cancelled: "cancelled"
      }
    }
  }
}
