/// What can be done to an order, by a key or by a line of a script.
enum Command: Equatable, Sendable {
  /// A verb, done to one task or to all.
  enum Action: Equatable, Sendable {
    case start, fulfill, reject, cancel, retry, reset, release
    /// Stops a task when it has come so far, from 0 to 1.
    case hold(Double)

    var name: String {
      switch self {
      case .start: "start"
      case .fulfill: "fulfill"
      case .reject: "reject"
      case .cancel: "cancel"
      case .retry: "retry"
      case .reset: "reset"
      case .release: "release"
      case .hold: "hold"
      }
    }
  }

  enum Target: Equatable, Sendable {
    case all
    /// The task at this place, from 0.
    case task(Int)
  }

  case act(Action, Target)
  /// Goes on when no task runs.
  case waitForEnd
  /// Goes on when the task at this place stands so.
  case wait(Int, Standing)
  case show
  case quit
}
