import Foundation

#if canImport(Network)
import Network
#endif

/// Says whether the network can be reached, as it changes.
///
/// Bring your own to watch one host, or in tests.
public protocol ReachabilityMonitor: Sendable {
  /// Whether the network can be reached: first as it is now, then whenever that changes.
  ///
  /// Each stream is independent of the others. The condition stops iterating when it knows enough,
  /// or is cancelled, which is the time to stop watching.
  func reachability() -> AsyncStream<Bool>
}

/// The monitor of the system: `NWPathMonitor` on Apple platforms.
///
/// On Linux, where the system offers none, everything counts as reachable.
public struct SystemReachabilityMonitor: ReachabilityMonitor {
  /// Makes the monitor.
  public init() {}

  /// Whether the system has a usable network path: now, then whenever that changes. On Linux just
  /// true.
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
  ///   - waits: whether to wait until the network can be reached, for as long as it takes and the
  ///     operation is not cancelled, instead of failing. Waiting takes no slot of a queue and no
  ///     thread.
  public static func reachable(
    monitor: some ReachabilityMonitor = SystemReachabilityMonitor(), waits: Bool = false
  ) -> Condition {
    Condition(name: "reachable") { _ in
      for await isReachable in monitor.reachability() {
        if isReachable { return }
        if !waits { break }
      }
      try Task.checkCancellation()
      throw ConditionError.Unmet("the network cannot be reached")
    }
  }
}
