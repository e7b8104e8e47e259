public import CompositeOperations

/// A network that a test switches on and off.
///
/// ```swift
/// let network = ManualReachabilityMonitor(isReachable: false)
/// let upload = Upload().condition(.reachable(monitor: network, waits: true))
/// upload.start()
/// await network.wait(forWatchers: 1)
/// network.isReachable = true
/// ```
///
/// All members may be used from any thread, and by any number of tasks at once.
public final class ManualReachabilityMonitor: ReachabilityMonitor {
  private typealias Watcher = AsyncStream<Bool>.Continuation

  private struct State {
    var isReachable: Bool
    var lastNumber = 0
    var watchers: [Int: Watcher] = [:]
    /// What to put into which stream.
    var outbox = Outbox<(Watcher, Bool)>()
    var waiters: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

    /// Removes the waiters whose number of watchers is reached.
    mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
      let ready = waiters.filter { $0.count == watchers.count }.map(\.continuation)
      waiters.removeAll { $0.count == watchers.count }
      return ready
    }
  }

  private let state: LockBox<State>

  /// Makes a network that can be reached by default.
  public init(isReachable: Bool = true) {
    state = LockBox(State(isReachable: isReachable))
  }

  /// Whether the network can be reached. Watchers get each value that this is set to, in order.
  public var isReachable: Bool {
    get { state.withLock { $0.isReachable } }
    set {
      state.withLock { state in
        state.isReachable = newValue
        for watcher in state.watchers.values { state.outbox.append((watcher, newValue)) }
      }
      deliver()
    }
  }

  /// The present number of watchers.
  package var watcherCount: Int { state.withLock { $0.watchers.count } }

  /// Suspends the task until there are exactly that many watchers. Cancelling the task does not end
  /// the wait.
  public func wait(forWatchers count: Int) async {
    await withCheckedContinuation { continuation in
      let ready = state.withLock { state in
        state.waiters.append((count, continuation))
        return state.takeWaiters()
      }
      for waiter in ready { waiter.resume() }
    }
  }

  /// Whether the network can be reached: first the present value, then each value that
  /// ``isReachable`` is set to.
  public func reachability() -> AsyncStream<Bool> {
    AsyncStream { continuation in
      let (number, ready) = state.withLock { state in
        state.lastNumber += 1
        state.watchers[state.lastNumber] = continuation
        state.outbox.append((continuation, state.isReachable))
        return (state.lastNumber, state.takeWaiters())
      }
      continuation.onTermination = { [weak self] _ in self?.forget(number) }
      deliver()
      for waiter in ready { waiter.resume() }
    }
  }

  /// One thread at a time does, so that all streams get the same order.
  ///
  /// Outside of the lock: a value may resume a task, which takes a lock of the task. A thread that
  /// cancels the task holds that one while it calls ``forget(_:)``.
  private func deliver() {
    guard state.withLock({ $0.outbox.beginDelivery() }) else { return }
    while let entries = state.withLock({ $0.outbox.nextDelivery() }) {
      for (watcher, isReachable) in entries { watcher.yield(isReachable) }
    }
  }

  private func forget(_ number: Int) {
    let (watcher, ready) = state.withLock { state in
      (state.watchers.removeValue(forKey: number), state.takeWaiters())
    }
    for waiter in ready { waiter.resume() }
    withExtendedLifetime(watcher) {}
  }
}
