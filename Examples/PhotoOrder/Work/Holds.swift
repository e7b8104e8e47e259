import ExampleSupport

/// Where tasks are to stop, and those that have.
///
/// A task that comes to its hold gives its thread back. It is called again when the hold is
/// released.
final class Holds: Sendable {
  private struct State {
    var thresholds: [String: Double] = [:]
    var stopped: [String: [@Sendable () -> Void]] = [:]
    var whenStopped: (@Sendable () -> Void)?
  }

  private let state = Shared(State())

  /// Called whenever a task has stopped.
  var whenStopped: (@Sendable () -> Void)? {
    get { state.withLock(\.whenStopped) }
    set { state.withLock { $0.whenStopped = newValue } }
  }

  /// Lets a task stop when it has come to `progress`, from 0 to 1.
  func hold(_ task: String, at progress: Double) {
    state.withLock { $0.thresholds[task] = progress }
  }

  /// Lets a task go on. Returns whether it was to stop.
  @discardableResult
  func release(_ task: String) -> Bool {
    let wasHeld = state.withLock { $0.thresholds.removeValue(forKey: task) != nil }
    wake(task)
    return wasHeld
  }

  /// Whether a task is to stop, or has.
  func isHeld(_ task: String) -> Bool {
    state.withLock { $0.thresholds[task] != nil }
  }

  /// Whether a task has stopped.
  func isStopped(_ task: String) -> Bool {
    state.withLock { $0.stopped[task] != nil }
  }

  /// Asked by a task between two steps. If it is to stop it returns, and `resume` is called later,
  /// once.
  func stops(_ task: String, at progress: Double, resume: @escaping @Sendable () -> Void) -> Bool {
    let (stops, tell): (Bool, (@Sendable () -> Void)?) = state.withLock { state in
      guard let threshold = state.thresholds[task], progress >= threshold else { return (false, nil) }
      state.stopped[task, default: []].append(resume)
      return (true, state.whenStopped)
    }
    tell?()
    return stops
  }

  /// Calls the attempts of a task that have stopped; those that are to stop nevertheless will ask
  /// again.
  func wake(_ task: String) {
    let stopped = state.withLock { $0.stopped.removeValue(forKey: task) ?? [] }
    for resume in stopped { resume() }
  }
}
