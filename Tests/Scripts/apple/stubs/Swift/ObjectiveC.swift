// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// What Apple's Swift overlay of the Objective-C runtime declares.
@_exported import ObjectiveC

public struct ObjCBool: ExpressibleByBooleanLiteral, Sendable, CustomStringConvertible {
  public var boolValue: Bool
  public init(_ value: Bool) { boolValue = value }
  public init(booleanLiteral value: Bool) { boolValue = value }
  public var description: String { boolValue.description }
}

// The compiler calls these where a BOOL of Objective-C meets a Bool.
public func _convertBoolToObjCBool(_ value: Bool) -> ObjCBool { ObjCBool(value) }
public func _convertObjCBoolToBool(_ value: ObjCBool) -> Bool { value.boolValue }

public struct Selector: ExpressibleByStringLiteral, Hashable, @unchecked Sendable {
  public init(_ name: String) {}
  public init(stringLiteral value: String) {}
}

extension NSObject: Equatable, Hashable {
  public static func == (left: NSObject, right: NSObject) -> Bool { left === right }
  public func hash(into hasher: inout Hasher) {}
}

public func autoreleasepool<Failure: Error, Result: ~Copyable>(
  invoking body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  try body()
}
