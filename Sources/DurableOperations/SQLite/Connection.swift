import CompositeOperations
import CompositeOperationsSQLite
import Foundation

/// A connection to a database: the one wrapper around the C functions.
///
/// It belongs to a serial queue, or to the one who opens it, and is used there alone.
final class Connection {
  let path: String
  private let authorizer: Authorizer
  let handle: OpaquePointer
  /// Something to point at.
  let somewhere = UnsafeMutablePointer<CChar>.allocate(capacity: 1)

  private static let oldest: Int32 = 3_035_000

  /// Opens a database, or makes it.
  init(path: String, busyTimeout: Duration, mustExist: Bool) throws(DatabaseError) {
    self.path = path
    guard sqlite3_libversion_number() >= Self.oldest else {
      throw DatabaseError(.sqliteTooOld, message: "it is \(String(cString: sqlite3_libversion()))", path: path)
    }
    var handle: OpaquePointer?
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | (mustExist ? 0 : SQLITE_OPEN_CREATE)
    let result = sqlite3_open_v2(path, &handle, flags, nil)
    guard result == SQLITE_OK, let handle else {
      let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      sqlite3_close_v2(handle)
      throw DatabaseError(resultCode: result, message: message, sql: nil, path: path)
    }
    self.handle = handle
    authorizer = Authorizer(of: handle)
    somewhere.initialize(to: 0)
    sqlite3_extended_result_codes(handle, 1)
    sqlite3_busy_timeout(handle, Int32(clamping: busyTimeout.milliseconds))
    _ = composite_operations_sqlite_set_defensive(handle)
    if sqlite3_db_readonly(handle, "main") == 1 {
      throw DatabaseError(.readOnly, message: "it was opened for reading alone", path: path)
    }
  }

  deinit {
    // Statements that are still there keep the connection until they go.
    sqlite3_close_v2(handle)
    somewhere.deallocate()
  }

  // MARK: - Statements

  /// A statement that will be run again and again.
  func prepare(_ sql: String, isKept: Bool = true) throws -> Statement {
    let (statement, rest) = try prepareFirst(of: sql, isKept: isKept)
    guard let statement, rest.allSatisfy(\.isWhitespace) else {
      throw DatabaseError(.statement, message: "one statement is needed", sql: sql, path: path)
    }
    return statement
  }

  /// Nil for a comment, or nothing.
  private func prepareFirst(of sql: String, isKept: Bool) throws -> (Statement?, rest: Substring) {
    var sql = sql
    var prepared: OpaquePointer?
    var used = 0
    let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
    let result = sql.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        let start = characters.baseAddress ?? UnsafePointer(somewhere)
        var tail: UnsafePointer<CChar>?
        let result = sqlite3_prepare_v3(handle, start, Int32(characters.count), flags, &prepared, &tail)
        used = tail.map { $0 - start } ?? characters.count
        return result
      }
    }
    if result == SQLITE_AUTH, let refused = authorizer.refused { throw refusal(of: refused, sql: sql) }
    guard result == SQLITE_OK else { throw error(result, sql: sql) }
    let rest = sql.utf8.dropFirst(used)
    return (prepared.map { Statement(handle: $0, connection: self) }, Substring(rest))
  }

  /// Runs one or more statements; values only for one. Returns the rows of the last.
  ///
  /// - Parameter isGuest: whether they are the user's, and leave the connection and its transaction as they are.
  @discardableResult
  func execute(_ sql: String, _ values: [SQLValue] = [], isGuest: Bool = false) throws -> [SQLRow] {
    if isGuest { authorizer.isOn = true }
    defer { authorizer.isOn = false }
    var rows: [SQLRow] = []
    var rest = Substring(sql)
    repeat {
      if isGuest, !isInTransaction { throw transactionEnded() }
      let before = rest.utf8.count
      let (statement, next) = try prepareFirst(of: String(rest), isKept: false)
      rest = next
      guard let statement else {
        // A zero byte ends it, and what is behind would come up again and again.
        if rest.utf8.count == before { break }
        continue
      }
      guard statement.parameterCount == values.count else {
        throw DatabaseError(
          .statement, message: "it has \(statement.parameterCount) parameters, and was given \(values.count) values",
          sql: sql, path: path)
      }
      for (index, value) in values.enumerated() { try statement.bind(value, at: Int32(index + 1)) }
      let names = statement.columnNames
      rows = []
      try statement.forEachRow { row in
        rows.append(SQLRow(columns: names, values: names.indices.map { row.value(Int32($0)) }))
      }
    } while !rest.allSatisfy(\.isWhitespace)
    return rows
  }

  // MARK: - Transactions

  private lazy var beginning = Result { try prepare("BEGIN IMMEDIATE") }
  private lazy var committing = Result { try prepare("COMMIT") }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Does something in one transaction, which has the right to write from its beginning: one that reads first and
  /// writes then can fail in a way that waiting does not help against.
  func transaction<R>(_ body: () throws -> R) throws -> R {
    try beginning.get().run()
    do {
      let result = try body()
      guard isInTransaction else { throw transactionEnded() }
      try committing.get().run()
      return result
    } catch {
      // Some errors have rolled it back already.
      if isInTransaction { _ = try? execute("ROLLBACK") }
      throw error
    }
  }

  func transactionEnded() -> DatabaseError {
    DatabaseError(
      .transactionEnded, message: "The transaction of \(path) was ended by a statement inside of it", path: path)
  }

  private func refusal(of action: Authorizer.Refusal, sql: String) -> DatabaseError {
    switch action {
    case .transaction: transactionEnded()
    case .setting(let name):
      DatabaseError(
        .settingOfTheQueue, message: "\(name) would stay when the transaction is over", sql: sql, path: path)
    }
  }

  // MARK: - Facts

  var changeCount: Int { Int(sqlite3_changes(handle)) }

  var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle) }

  func error(_ result: Int32, sql: String?) -> DatabaseError {
    let extended = sqlite3_extended_errcode(handle)
    return DatabaseError(
      resultCode: extended & 0xFF == result & 0xFF ? extended : result,
      message: String(cString: sqlite3_errmsg(handle)),
      sql: sql, path: path)
  }
}

extension Duration {
  /// In whole milliseconds, rounded up, so that something that is to wait does not wake early.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1000)
    if overflows { return seconds < 0 ? .min / 2 : .max / 2 }
    return min(whole, .max / 2) + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}
