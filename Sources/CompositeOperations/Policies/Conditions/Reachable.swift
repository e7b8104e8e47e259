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
  /// Each stream is independent of the others. The condition stops iterating when it knows enough, or is cancelled,
  /// which is the time to stop watching.
  func reachability() -> AsyncStream<Bool>
}

/// The monitor of the system: `NWPathMonitor` on Apple platforms.
///
/// On Linux, where the system offers none, everything counts as reachable.
public struct SystemReachabilityMonitor: ReachabilityMonitor {
  /// Makes the monitor.
  public init() {}

  /// Whether the system has a usable network path: now, then whenever that changes. On Linux just true.
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

/// Holds if the network can be reached, at once or after a while.
///
/// ```swift
/// let sync = Synchronise().condition(Reachable(waits: true))
/// ```
public struct Reachable: OperationCondition {
  /// What the condition throws if the network cannot be reached.
  public struct Failure: LocalizedError, CustomStringConvertible, Equatable {
    /// Says so.
    public var description: String { "the network can not be reached" }

    /// The same as ``description``.
    public var errorDescription: String? { description }
  }

  private let monitor: any ReachabilityMonitor
  private let waits: Bool

  /// Makes the condition.
  ///
  /// - Parameters:
  ///   - monitor: whom to ask. On Linux the default finds everything reachable.
  ///   - waits: whether to wait until the network can be reached, for as long as it takes and the operation is not
  ///     cancelled, instead of failing. Waiting takes no slot of a queue and no thread.
  public init(monitor: some ReachabilityMonitor = SystemReachabilityMonitor(), waits: Bool = false) {
    self.monitor = monitor
    self.waits = waits
  }

  /// Returns if the network can be reached, else waits or throws a ``Failure``.
  public func evaluate(_ context: ConditionContext) async throws {
    for await isReachable in monitor.reachability() {
      if isReachable { return }
      if !waits { break }
    }
    try Task.checkCancellation()
    throw Failure()
  }
}
