// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// The unified log, signposts, and the unfair lock.
@_exported import Darwin

public struct OSAllocatedUnfairLock<State>: @unchecked Sendable {
  public init(uncheckedState: State) {}
  public func withLockUnchecked<Result>(_ body: (inout State) throws -> Result) rethrows -> Result { fatalError() }
  public func withLock<Result: Sendable>(_ body: @Sendable (inout State) throws -> Result) rethrows -> Result {
    fatalError()
  }
}
extension OSAllocatedUnfairLock where State: Sendable {
  public init(initialState: State) {}
}
extension OSAllocatedUnfairLock where State == Void {
  public init() {}
  public func lock() {}
  public func unlock() {}
  public func withLock<Result: Sendable>(_ body: @Sendable () throws -> Result) rethrows -> Result { try body() }
}

public struct OSLogType: Equatable, Sendable, RawRepresentable {
  public let rawValue: UInt8
  public init(rawValue: UInt8) { self.rawValue = rawValue }
  public static let `default` = OSLogType(rawValue: 0)
  public static let info = OSLogType(rawValue: 1)
  public static let debug = OSLogType(rawValue: 2)
  public static let error = OSLogType(rawValue: 16)
  public static let fault = OSLogType(rawValue: 17)
}
public struct OSLogPrivacy: Sendable {
  public static var `public`: OSLogPrivacy { OSLogPrivacy() }
  public static var `private`: OSLogPrivacy { OSLogPrivacy() }
  public static var auto: OSLogPrivacy { OSLogPrivacy() }
}
public struct OSLogInterpolation: StringInterpolationProtocol {
  public init(literalCapacity: Int, interpolationCount: Int) {}
  public mutating func appendLiteral(_ literal: String) {}
  public mutating func appendInterpolation(
    _ value: @autoclosure @escaping () -> some CustomStringConvertible, privacy: OSLogPrivacy = .auto
  ) {}
}
public struct OSLogMessage: ExpressibleByStringInterpolation, ExpressibleByStringLiteral {
  public init(stringInterpolation: OSLogInterpolation) {}
  public init(stringLiteral value: String) {}
}
public class OSLog: @unchecked Sendable {
  public init(subsystem: String, category: String) {}
  public static var `default`: OSLog { fatalError() }
  public static var disabled: OSLog { fatalError() }
}
public struct Logger: @unchecked Sendable {
  public init() {}
  public init(subsystem: String, category: String) {}
  public func log(_ message: OSLogMessage) {}
  public func log(level: OSLogType, _ message: OSLogMessage) {}
  public func debug(_ message: OSLogMessage) {}
  public func info(_ message: OSLogMessage) {}
  public func notice(_ message: OSLogMessage) {}
  public func warning(_ message: OSLogMessage) {}
  public func error(_ message: OSLogMessage) {}
  public func fault(_ message: OSLogMessage) {}
}
public struct OSSignpostID: Comparable, Sendable {
  public let rawValue: UInt64
  public init(_ value: UInt64) { rawValue = value }
  public static let exclusive = OSSignpostID(1)
  public static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}
public final class OSSignpostIntervalState: Sendable {}
public struct OSSignposter: @unchecked Sendable {
  public init() {}
  public init(subsystem: String, category: String) {}
  public init(logHandle: OSLog) {}
  public var isEnabled: Bool { false }
  public func makeSignpostID() -> OSSignpostID { .exclusive }
  public func makeSignpostID(from object: AnyObject) -> OSSignpostID { .exclusive }
  public func beginInterval(_ name: StaticString, id: OSSignpostID = .exclusive) -> OSSignpostIntervalState {
    fatalError()
  }
  public func beginInterval(
    _ name: StaticString, id: OSSignpostID = .exclusive, _ message: OSLogMessage
  ) -> OSSignpostIntervalState { fatalError() }
  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState) {}
  public func endInterval(_ name: StaticString, _ state: OSSignpostIntervalState, _ message: OSLogMessage) {}
  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive) {}
  public func emitEvent(_ name: StaticString, id: OSSignpostID = .exclusive, _ message: OSLogMessage) {}
}
