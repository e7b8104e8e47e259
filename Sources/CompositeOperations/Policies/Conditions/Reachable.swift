import Foundation

#if canImport(Network)
import Network
#endif

/// Reports whether the network can be reached, and when that changes.
///
/// Write a monitor of your own to watch one host, or for tests.
public protocol ReachabilityMonitor: Sendable {
  /// Returns a stream that tells whether the network can be reached: first the present state, then
  /// each change.
  ///
  /// Each stream is independent of the others. The condition stops reading the stream when it knows
  /// enough, or is cancelled. The monitor can then stop watching.
  func reachability() -> AsyncStream<Bool>
}

/// The monitor of the system: `NWPathMonitor` on Apple platforms.
///
/// On Linux the system has no monitor, and everything counts as reachable.
public struct SystemReachabilityMonitor: ReachabilityMonitor {
  /// Makes the monitor.
  public init() {}

  /// Returns a stream that tells whether the system has a usable network path: first the present
  /// state, then each change. On Linux the stream contains only `true`.
  public func reachability() -> AsyncStream<Bool> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
      #if canImport(Network)
      let monitor = NWPathMonitor()
      monitor.pathUpdateHandler = { path in continuation.yield(path.status == .satisfied) }
      continuation.onTermination = { _ in monitor.cancel() }
      monitor.start(queue: DispatchQueue(label: "CompositeOperations.reachability", autoreleaseFrequency: .workItem))
      #else
      continuation.yield(true)
      #endif
    }
  }
}

extension OperationCondition where Self == Condition {
  /// Holds if the network can be reached, at once or after a while.
  ///
  /// ```swift
  /// let sync = Synchronise().condition(.reachable(waits: true))
  /// ```
  ///
  /// - Parameters:
  ///   - monitor: the monitor to ask. On Linux the default finds everything reachable.
  ///   - waits: whether to wait until the network can be reached, instead of failing. The wait
  ///     lasts as long as needed, and ends when the operation is cancelled. Waiting takes neither a
  ///     slot of a queue nor a thread.
  public static func reachable(
    monitor: some ReachabilityMonitor = SystemReachabilityMonitor(), waits: Bool = false
  ) -> Condition {
    Condition(name: "reachable") { _ in
      // Operations share the monitor, which sees no task-local values.
      let isReachable = await OperationContext.bind(nil) {
        for await isReachable in monitor.reachability() where isReachable || !waits { return isReachable }
        return false
      }
      if isReachable { return }
      try Task.checkCancellation()
      throw ConditionError.Unmet(description: "the network cannot be reached")
    }
  }
}
