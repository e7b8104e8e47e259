import CompositeOperations

/// What a `ReachabilityMonitor` last said, and a call when that changes.
///
/// Its states are idle → starting → watching → ended, or from any to ended. Until the monitor has said something, the
/// network counts as one that cannot be reached: work that needs it waits until somebody knows.
final class NetworkWatch: Sendable {
  fileprivate enum Phase {
    case idle, starting, ended
    case watching(Task<Void, Never>)
  }

  fileprivate struct State {
    var phase = Phase.idle
    var isOnline = false
  }

  private let state = LockBox(State())

  deinit { stop() }

  /// Whether the network can be reached, as far as is known.
  var isOnline: Bool { state.withLock { $0.isOnline } }

  /// Begins to watch. Only the first call does, and none after ``stop()``.
  ///
  /// - Parameters:
  ///   - monitor: whom to ask.
  ///   - onChange: called with each change, in order, one call at a time, on a thread of the concurrency system; also when
  ///     the network is reachable from the start. Released when the watch ends. It must not keep this object alive.
  func start(_ monitor: any ReachabilityMonitor, onChange: @escaping @Sendable (_ isOnline: Bool) -> Void) {
    let isFirst = state.withLock { state in
      guard case .idle = state.phase else { return false }
      state.phase = .starting
      return true
    }
    guard isFirst else { return }
    // Not `self`, which the watch would keep alive.
    let task = Task.detached { [state] in
      for await isOnline in monitor.reachability() where state.withLock({ $0.learn(isOnline) }) { onChange(isOnline) }
    }
    let isOver = state.withLock { state in
      guard case .starting = state.phase else { return true }
      state.phase = .watching(task)
      return false
    }
    if isOver { task.cancel() }
  }

  /// Ends watching, at once. A call that is under way goes on; no other begins. What was known last is kept.
  func stop() {
    let last = state.withLock { state in
      defer { state.phase = .ended }
      return state.phase
    }
    if case .watching(let task) = last { task.cancel() }
  }
}

extension NetworkWatch.State {
  /// Returns whether that is news.
  fileprivate mutating func learn(_ isOnline: Bool) -> Bool {
    if case .ended = phase { return false }
    guard isOnline != self.isOnline else { return false }
    self.isOnline = isOnline
    return true
  }
}
