// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Appended to the interface of the standard library, which on Linux lacks what the compiler wants
// as soon as it works with Objective-C: this type wherever `&value` is given for a pointer, and the
// functions wherever an `id` meets an Any.
@frozen public struct AutoreleasingUnsafeMutablePointer<Pointee>: Swift._Pointer {
  public let _rawValue: Builtin.RawPointer
  @_transparent public init(_ _rawValue: Builtin.RawPointer) { self._rawValue = _rawValue }
}
public func _bridgeAnyObjectToAny(_ object: Swift.AnyObject?) -> Any
public func _forceBridgeFromObjectiveC<T>(_ object: Swift.AnyObject, _ type: T.Type) -> T
public func _conditionallyBridgeFromObjectiveC<T>(_ object: Swift.AnyObject, _ type: T.Type) -> T?
public func _getErrorEmbeddedNSError<T: Swift.Error>(_ error: T) -> Swift.AnyObject?
