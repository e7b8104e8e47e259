import CompositeOperations

/// The last state that a `ReachabilityMonitor` reported, with a call on each change.
///
/// Its states are idle → starting → watching → ended, or from any to ended. Until the monitor has
/// reported, the network counts as unreachable: work that needs it waits.
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

  /// Whether the network can be reached, as far as the watch knows.
  var isOnline: Bool { state.withLock { $0.isOnline } }

  /// Begins to watch. Only the first call does, and none after ``stop()``.
  ///
  /// - Parameters:
  ///   - monitor: the monitor to watch.
  ///   - onChange: called with each change, in order, one call at a time, on a thread of the
  ///     concurrency system; also when the network is reachable from the start. Released when the
  ///     watch ends. It must not keep this object alive.
  func start(_ monitor: any ReachabilityMonitor, onChange: @escaping @Sendable (_ isOnline: Bool) -> Void) {
    let isFirst = state.withLock { state in
      guard case .idle = state.phase else { return false }
      state.phase = .starting
      return true
    }
    guard isFirst else { return }
    // Not `self`: the watch would keep it alive.
    let task = Task.detached(priority: .prompt) { [state] in
      for await isOnline in monitor.reachability() where state.withLock({ $0.learn(isOnline) }) { onChange(isOnline) }
    }
    let isOver = state.withLock { state in
      guard case .starting = state.phase else { return true }
      state.phase = .watching(task)
      return false
    }
    if isOver { task.cancel() }
  }

  /// Ends the watch at once. A call that is under way finishes; no other begins. The last state
  /// stays.
  func stop() {
    let last = state.withLock { state in
      defer { state.phase = .ended }
      return state.phase
    }
    if case .watching(let task) = last { task.cancel() }
  }
}

extension NetworkWatch.State {
  /// Returns whether the state changed.
  fileprivate mutating func learn(_ isOnline: Bool) -> Bool {
    if case .ended = phase { return false }
    guard isOnline != self.isOnline else { return false }
    self.isOnline = isOnline
    return true
  }
}
