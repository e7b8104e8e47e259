// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// NWPathMonitor, as far as a condition or a job queue asks it.
import Dispatch

public struct NWInterface: Sendable {
  public enum InterfaceType: Sendable { case other, wifi, cellular, wiredEthernet, loopback }
}
public struct NWPath: Sendable, Equatable {
  public enum Status: Sendable { case satisfied, unsatisfied, requiresConnection }
  public let status: Status
  public let isExpensive: Bool
  public let isConstrained: Bool
  public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { false }
}
public final class NWPathMonitor: Sendable {
  public init() {}
  public init(requiredInterfaceType: NWInterface.InterfaceType) {}
  public var currentPath: NWPath { fatalError() }
  public var pathUpdateHandler: (@Sendable (NWPath) -> Void)? {
    get { nil }
    set {}
  }
  public func start(queue: DispatchQueue) {}
  public func cancel() {}
}
