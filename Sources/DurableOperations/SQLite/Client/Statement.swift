import CompositeOperationsSQLite
import Foundation

/// A prepared statement. Used where its connection is.
final class Statement {
  private let handle: OpaquePointer
  private unowned let connection: Connection

  init(handle: OpaquePointer, connection: Connection) {
    self.handle = handle
    self.connection = connection
  }

  deinit {
    sqlite3_finalize(handle)
  }

  // MARK: - Values to bind, from index 1

  func bind(_ value: Int64, at index: Int32) {
    sqlite3_bind_int64(handle, index, value)
  }

  func bind(_ value: Int64?, at index: Int32) {
    if let value { sqlite3_bind_int64(handle, index, value) } else { sqlite3_bind_null(handle, index) }
  }

  func bind(_ value: Int, at index: Int32) {
    sqlite3_bind_int64(handle, index, Int64(value))
  }

  func bind(_ value: String?, at index: Int32) throws {
    guard var value else {
      sqlite3_bind_null(handle, index)
      return
    }
    let result = value.withUTF8 { bytes in
      // A pointer to nothing would be null.
      bytes.withMemoryRebound(to: CChar.self) { characters in
        sqlite3_bind_text64(
          handle, index, characters.baseAddress ?? UnsafePointer(connection.somewhere), UInt64(characters.count),
          composite_operations_sqlite_transient(), UInt8(SQLITE_UTF8))
      }
    }
    try check(result)
  }

  func bind(_ value: Data?, at index: Int32) throws {
    guard let value else {
      sqlite3_bind_null(handle, index)
      return
    }
    let result = value.withUnsafeBytes { bytes in
      if bytes.count == 0 { return sqlite3_bind_zeroblob(handle, index, 0) }
      return sqlite3_bind_blob64(
        handle, index, bytes.baseAddress, UInt64(bytes.count), composite_operations_sqlite_transient())
    }
    try check(result)
  }

  func bind(_ value: SQLValue, at index: Int32) throws {
    switch value {
    case .null: sqlite3_bind_null(handle, index)
    case .integer(let value): sqlite3_bind_int64(handle, index, value)
    case .real(let value): sqlite3_bind_double(handle, index, value)
    case .text(let value): try bind(value, at: index)
    case .blob(let value): try bind(value, at: index)
    }
  }

  var parameterCount: Int { Int(sqlite3_bind_parameter_count(handle)) }

  // MARK: - Running

  /// Goes to the next row. If there is none, returns false and resets the statement.
  func step() throws -> Bool {
    switch sqlite3_step(handle) {
    case SQLITE_ROW:
      return true
    case SQLITE_DONE:
      sqlite3_reset(handle)
      return false
    case let result:
      let error = connection.error(result, sql: sql)
      sqlite3_reset(handle)
      throw error
    }
  }

  /// Runs the statement to its end.
  func run() throws {
    while try step() {}
  }

  /// Runs the statement, and calls `body` at each row.
  func forEachRow(_ body: (Statement) throws -> Void) throws {
    do {
      while try step() { try body(self) }
    } catch {
      sqlite3_reset(handle)
      throw error
    }
  }

  /// The first rows, as `body` reads them, until it returns nil.
  func prefix<R>(_ body: (Statement) throws -> R?) throws -> [R] {
    defer { sqlite3_reset(handle) }
    var values: [R] = []
    while try step(), let value = try body(self) { values.append(value) }
    return values
  }

  /// The first row, as `body` reads it; nil if there is none.
  func first<R>(_ body: (Statement) throws -> R) throws -> R? {
    defer { sqlite3_reset(handle) }
    return try step() ? body(self) : nil
  }

  // MARK: - Facts

  /// Whether it is an `INSERT`, an `UPDATE` or a `DELETE`: when it has run, the connection's
  /// `changeCount` is its own.
  var changesRows: Bool {
    switch firstWord {
    case "INSERT", "REPLACE", "UPDATE", "DELETE": true
    // A query may begin with it, too.
    case "WITH": sqlite3_stmt_readonly(handle) == 0
    default: false
    }
  }

  /// In capital letters.
  private var firstWord: String {
    func isLetter(_ byte: UInt8) -> Bool {
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
    let sql = sql
    var rest = Substring(sql).utf8
    while let first = rest.first, !isLetter(first) {
      if rest.starts(with: "--".utf8) {
        rest = rest.drop { $0 != UInt8(ascii: "\n") }
      } else if rest.starts(with: "/*".utf8) {
        rest = rest.dropFirst(2)
        while !rest.isEmpty, !rest.starts(with: "*/".utf8) { rest = rest.dropFirst() }
        rest = rest.dropFirst(2)
      } else {
        // White space, or a semicolon that ends nothing.
        rest = rest.dropFirst()
      }
    }
    return String(decoding: rest.prefix(while: isLetter), as: UTF8.self).uppercased()
  }

  private var sql: String { String(cString: sqlite3_sql(handle)) }

  private func check(_ result: Int32) throws {
    if result != SQLITE_OK { throw connection.error(result, sql: sql) }
  }

  // MARK: - Columns, from index 0

  func integer(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

  func optionalInteger(_ column: Int32) -> Int64? { isNull(column) ? nil : integer(column) }

  func text(_ column: Int32) -> String? {
    guard let bytes = sqlite3_column_text(handle, column) else { return nil }
    let count = Int(sqlite3_column_bytes(handle, column))
    return String(decoding: UnsafeBufferPointer(start: bytes, count: count), as: UTF8.self)
  }

  func data(_ column: Int32) -> Data? {
    if isNull(column) { return nil }
    guard let bytes = sqlite3_column_blob(handle, column) else { return Data() }
    return Data(bytes: bytes, count: Int(sqlite3_column_bytes(handle, column)))
  }

  func value(_ column: Int32) -> SQLValue {
    switch sqlite3_column_type(handle, column) {
    case SQLITE_INTEGER: .integer(integer(column))
    case SQLITE_FLOAT: .real(sqlite3_column_double(handle, column))
    case SQLITE_TEXT: .text(text(column) ?? "")
    case SQLITE_BLOB: .blob(data(column) ?? Data())
    default: .null
    }
  }

  var columnNames: [String] {
    (0..<sqlite3_column_count(handle)).map { String(cString: sqlite3_column_name(handle, $0)) }
  }

  private func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }
}
