public import Foundation

/// A value of SQLite or PostgreSQL: a parameter of a statement, or the content of a column.
///
/// A value of a type that only PostgreSQL has, such as a `numeric`, a `timestamptz` or a `uuid`, is
/// a ``text(_:)`` as the server prints it; a `bool` is 1 or 0.
///
/// ```swift
/// try db.execute("INSERT INTO orders (id, total, note) VALUES (?, ?, ?)", 7, 12.5, .null)
/// ```
public enum SQLValue: Sendable, Hashable {
  /// No value.
  case null
  /// A whole number.
  case integer(Int64)
  /// A number with a fraction.
  case real(Double)
  /// Text.
  case text(String)
  /// Bytes.
  case blob(Data)

  /// A whole number, or null for nil.
  public init(_ value: Int?) {
    self = value.map { .integer(Int64($0)) } ?? .null
  }

  /// A whole number, or null for nil.
  public init(_ value: Int64?) {
    self = value.map { .integer($0) } ?? .null
  }

  /// A number with a fraction, or null for nil.
  public init(_ value: Double?) {
    self = value.map { .real($0) } ?? .null
  }

  /// 1 or 0, or null for nil.
  public init(_ value: Bool?) {
    self = value.map { .integer($0 ? 1 : 0) } ?? .null
  }

  /// Text, or null for nil.
  public init(_ value: String?) {
    self = value.map { .text($0) } ?? .null
  }

  /// Bytes, or null for nil.
  public init(_ value: Data?) {
    self = value.map { .blob($0) } ?? .null
  }

  /// The whole number; nil if it is something else.
  public var integerValue: Int64? {
    if case .integer(let value) = self { value } else { nil }
  }

  /// The number, with or without a fraction; nil if it is something else.
  public var realValue: Double? {
    switch self {
    case .real(let value): value
    case .integer(let value): Double(value)
    default: nil
    }
  }

  /// The text; nil if it is something else.
  public var textValue: String? {
    if case .text(let value) = self { value } else { nil }
  }

  /// The bytes; nil if it is something else.
  public var blobValue: Data? {
    if case .blob(let value) = self { value } else { nil }
  }
}

extension SQLValue: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByStringLiteral,
  ExpressibleByNilLiteral
{
  /// A whole number.
  public init(integerLiteral value: Int64) { self = .integer(value) }
  /// A number with a fraction.
  public init(floatLiteral value: Double) { self = .real(value) }
  /// Text.
  public init(stringLiteral value: String) { self = .text(value) }
  /// No value.
  public init(nilLiteral: ()) { self = .null }
}

/// A row of a result.
public struct SQLRow: Sendable, Hashable {
  /// The names of the columns, in their order.
  public let columns: [String]
  /// The values, in the order of the columns.
  public let values: [SQLValue]

  /// The value of the first column with a name. Null if there is none.
  public subscript(_ column: String) -> SQLValue {
    columns.firstIndex(of: column).map { values[$0] } ?? .null
  }

  /// The value of a column by its position, from 0. Traps if there is none.
  public subscript(_ index: Int) -> SQLValue { values[index] }
}
