import Foundation

extension JSONText {
  /// Appends a value whose type `JSONEncoder` writes without calling `encode(to:)`. Returns nil for
  /// other types, and false for numbers that JSON cannot represent.
  ///
  /// Inlined: where the compiler knows the type, one branch is left.
  @inline(__always)
  mutating func append<T>(plain value: T) -> Bool? {
    if T.self == String.self {
      append(quoted: value as! String)
    } else if T.self == Int.self {
      append(value as! Int)
    } else if T.self == Bool.self {
      append(value as! Bool)
    } else if T.self == Double.self {
      return append(value as! Double)
    } else if T.self == Float.self {
      return append(value as! Float)
    } else if T.self == Int64.self {
      append(value as! Int64)
    } else if T.self == Int32.self {
      append(value as! Int32)
    } else if T.self == Int16.self {
      append(value as! Int16)
    } else if T.self == Int8.self {
      append(value as! Int8)
    } else if T.self == Int128.self {
      append(value as! Int128)
    } else if T.self == UInt.self {
      append(value as! UInt)
    } else if T.self == UInt64.self {
      append(value as! UInt64)
    } else if T.self == UInt32.self {
      append(value as! UInt32)
    } else if T.self == UInt16.self {
      append(value as! UInt16)
    } else if T.self == UInt8.self {
      append(value as! UInt8)
    } else if T.self == UInt128.self {
      append(value as! UInt128)
    } else if T.self == Data.self {
      append(quoted: (value as! Data).base64EncodedString())
    } else if T.self == URL.self {
      append(quoted: (value as! URL).absoluteString)
    } else if T.self == Decimal.self {
      let number = value as! Decimal
      if number.isNaN { return false }
      append(json: number.description)
    } else {
      return nil
    }
    return true
  }
}
