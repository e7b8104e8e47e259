/// Any JSON: what ``ParseJSON`` gives.
///
/// ```swift
/// if case .string(let city)? = json["city"] { … }
/// let first = json["days"]?[0]?["temperature"]?.double
/// ```
public enum JSONValue: Sendable, Hashable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without a fraction and an exponent, that is an `Int`.
  case integer(Int)
  /// Any other number.
  case number(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object. Of several members of one name the last counts.
  case object([String: JSONValue])

  /// The member of this name, of an object; nil if there is none, or it is no object.
  public subscript(name: String) -> JSONValue? {
    if case .object(let members) = self { members[name] } else { nil }
  }

  /// The element at this place, of an array; nil if there is none, or it is no array.
  public subscript(index: Int) -> JSONValue? {
    if case .array(let elements) = self, elements.indices.contains(index) { elements[index] } else { nil }
  }

  /// Whether it is `null`.
  public var isNull: Bool { self == .null }

  /// The `Bool`, if it is one.
  public var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The number, if it is one that is an `Int`.
  public var int: Int? {
    switch self {
    case .integer(let value): value
    case .number(let value): Int(exactly: value)
    case .null, .bool, .string, .array, .object: nil
    }
  }

  /// The number, if it is one.
  public var double: Double? {
    switch self {
    case .integer(let value): Double(value)
    case .number(let value): value
    case .null, .bool, .string, .array, .object: nil
    }
  }

  /// The string, if it is one.
  public var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// The elements, if it is an array.
  public var array: [JSONValue]? {
    if case .array(let value) = self { value } else { nil }
  }

  /// The members, if it is an object.
  public var object: [String: JSONValue]? {
    if case .object(let value) = self { value } else { nil }
  }
}
