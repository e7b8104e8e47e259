#if os(macOS) || os(Linux)
import Foundation

/// The values of the statements of a pipeline, one after the other, in the form in which they are
/// sent. No value becomes a string on its way.
struct PostgresParameters: Sendable {
  struct Parameter: Sendable {
    /// Where its bytes begin; nil for NULL.
    let start: Int?
    let count: Int32
    let type: PostgresType
    let isBinary: Bool
  }

  /// How many values a statement can have.
  static let mostOfAStatement = 65_535

  /// Begins with a byte of no value, so that there is something to point at.
  private(set) var bytes: [UInt8] = [0]
  private(set) var list: [Parameter] = []

  init() {
    bytes.reserveCapacity(256)
    list.reserveCapacity(16)
  }

  // MARK: - Values, in the order of `$1`, `$2`, …

  mutating func bind(_ value: Int64?) {
    append(value, as: .integer) { $0.append(bigEndian: $1) }
  }

  mutating func bind(_ value: Int) { bind(Int64(value)) }

  mutating func bind(_ value: Bool?) {
    append(value, as: .boolean) { $0.bytes.append($1 ? 1 : 0) }
  }

  /// - Throws: for U+0000, which a text of PostgreSQL cannot hold.
  mutating func bind(_ value: String?, as type: PostgresType = .text) throws(PostgresError) {
    var failure: PostgresError?
    append(value, as: type) { parameters, text in
      do throws(PostgresError) { try parameters.append(text) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  /// - Parameter type: `bytea`, or a type whose text form the bytes are.
  mutating func bind(_ value: Data?, as type: PostgresType = .bytes) {
    append(value, as: type) { $0.bytes.append(contentsOf: $1) }
  }

  /// Binds a value of the user. The server infers its type from its place in the statement.
  mutating func bind(_ value: SQLValue) throws(PostgresError) {
    switch value {
    case .null: append(nil as Int?, as: .inferred) { _, _ in }
    case .integer(let value): try appendText(String(value))
    case .real(let value): try appendText(value.isInfinite ? (value < 0 ? "-Infinity" : "Infinity") : "\(value)")
    case .text(let value): try appendText(value)
    case .blob(let value): bind(value)
    }
  }

  // MARK: - Arrays

  mutating func bind(_ values: [Int64]) {
    appendArray(values, of: .integer, hasNulls: false) { parameters, value in parameters.append(bigEndian: value) }
  }

  mutating func bind(_ values: [Int64?]) {
    appendOptionals(values, of: .integer) { parameters, value in parameters.append(bigEndian: value) }
  }

  mutating func bind(_ values: [Bool?]) {
    appendOptionals(values, of: .boolean) { parameters, value in parameters.bytes.append(value ? 1 : 0) }
  }

  mutating func bind(_ values: [Data?], as type: PostgresType = .bytes) {
    appendOptionals(values, of: type) { parameters, value in parameters.bytes.append(contentsOf: value) }
  }

  mutating func bind(_ values: [String?], as type: PostgresType = .text) throws(PostgresError) {
    var failure: PostgresError?
    appendOptionals(values, of: type) { parameters, value in
      do throws(PostgresError) { try parameters.append(value) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  // MARK: - Bytes

  private mutating func append<Value>(
    _ value: Value?, as type: PostgresType, _ body: (inout PostgresParameters, Value) -> Void
  ) {
    guard let value else {
      list.append(Parameter(start: nil, count: 0, type: type, isBinary: true))
      return
    }
    let start = bytes.count
    body(&self, value)
    list.append(Parameter(start: start, count: count(since: start), type: type, isBinary: true))
  }

  @inline(__always)
  private mutating func append(bigEndian value: some FixedWidthInteger) {
    var shift = value.bitWidth
    // Byte by byte: a sequence for so few bytes takes ten times as long.
    while shift > 0 {
      shift -= 8
      bytes.append(UInt8(truncatingIfNeeded: value >> shift))
    }
  }

  private mutating func append(_ text: String) throws(PostgresError) {
    let start = bytes.count
    bytes.append(contentsOf: text.utf8)
    guard bytes[start...].contains(0) else { return }
    throw PostgresError(.statement, message: "a text has a character U+0000, which PostgreSQL cannot store")
  }

  /// Appends a text form, which ends with a zero byte.
  private mutating func appendText(_ text: String) throws(PostgresError) {
    let start = bytes.count
    try append(text)
    list.append(Parameter(start: start, count: count(since: start), type: .inferred, isBinary: false))
    bytes.append(0)
  }

  /// Appends the header of an array with one dimension: whether it has NULLs, the type, the count,
  /// and the lower bound 1.
  private mutating func appendArray<Value>(
    _ values: [Value], of type: PostgresType, hasNulls: Bool, _ body: (inout PostgresParameters, Value) -> Void
  ) {
    let start = bytes.count
    append(bigEndian: Int32(values.isEmpty ? 0 : 1))
    append(bigEndian: Int32(hasNulls ? 1 : 0))
    append(bigEndian: type.number)
    if !values.isEmpty {
      append(bigEndian: Int32(values.count))
      append(bigEndian: 1 as Int32)
    }
    for value in values {
      let place = bytes.count
      append(bigEndian: 0 as Int32)
      body(&self, value)
      setCount(at: place)
    }
    list.append(Parameter(start: start, count: count(since: start), type: type.array, isBinary: true))
  }

  private mutating func appendOptionals<Value>(
    _ values: [Value?], of type: PostgresType, _ body: (inout PostgresParameters, Value) -> Void
  ) {
    appendArray(values, of: type, hasNulls: values.contains { $0 == nil }) { parameters, value in
      if let value { body(&parameters, value) } else { parameters.markNull() }
    }
  }

  /// Sets the length of the element that begins here to -1.
  private mutating func markNull() {
    for index in bytes.count - 4..<bytes.count { bytes[index] = 0xFF }
  }

  private mutating func setCount(at place: Int) {
    // A NULL has no length.
    guard bytes[place] != 0xFF else { return }
    let length = count(since: place + 4)
    withUnsafeBytes(of: length.bigEndian) { for index in 0..<4 { bytes[place + index] = $0[index] } }
  }

  private func count(since start: Int) -> Int32 {
    guard let count = Int32(exactly: bytes.count - start) else {
      preconditionFailure("A value of \(bytes.count - start) bytes is bound; PostgreSQL takes 1 GB at most")
    }
    return count
  }
}
#endif
