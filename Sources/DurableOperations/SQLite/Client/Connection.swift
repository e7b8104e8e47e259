import CompositeOperations
import CompositeOperationsSQLite
import Foundation

/// A connection to a database: the only wrapper around the C functions.
///
/// It belongs to a serial queue, or to the code that opens it, and is used only there.
final class Connection {
  let path: String
  private let busyWait: BusyWait
  private let authorizer: Authorizer
  let handle: OpaquePointer
  private let isReadOnly: Bool
  /// Set for a file that is read as if it could not change; nil where SQLite's locks take care of
  /// it.
  private let quietFile: QuietFile?
  /// An address for empty values.
  let somewhere = UnsafeMutablePointer<CChar>.allocate(capacity: 1)

  private static let oldest: Int32 = 3_035_000

  /// Opens a database, or makes it.
  ///
  /// - Parameters:
  ///   - isReadOnly: whether nothing may be written, neither to the file nor beside it.
  ///   - suspension: ends waits for other connections.
  init(
    path: String, busyTimeout: Duration, mustExist: Bool, isReadOnly: Bool = false,
    suspension: Suspension = Suspension()
  ) throws(DatabaseError) {
    self.path = path
    self.isReadOnly = isReadOnly
    guard sqlite3_libversion_number() >= Self.oldest else {
      throw DatabaseError(.sqliteTooOld, message: "it is \(String(cString: sqlite3_libversion()))", path: path)
    }
    let quiet = isReadOnly ? QuietFile.open(path) : nil
    quietFile = quiet?.file
    var handle = quiet?.handle
    let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | (mustExist ? 0 : SQLITE_OPEN_CREATE)
    let result = quiet == nil ? sqlite3_open_v2(path, &handle, access | SQLITE_OPEN_NOMUTEX, nil) : SQLITE_OK
    guard result == SQLITE_OK, let handle else {
      let message = handle.map { String(cString: sqlite3_errmsg($0)) } ?? "out of memory"
      let systemCode = handle.map { sqlite3_system_errno($0) } ?? 0
      sqlite3_close_v2(handle)
      throw DatabaseError(resultCode: result, message: message, systemCode: systemCode, sql: nil, path: path)
    }
    self.handle = handle
    authorizer = Authorizer(of: handle)
    somewhere.initialize(to: 0)
    sqlite3_extended_result_codes(handle, 1)
    busyWait = BusyWait(timeout: busyTimeout, suspension: suspension)
    sqlite3_busy_handler(
      handle,
      { wait, count in
        guard let wait else { return 0 }
        return Unmanaged<BusyWait>.fromOpaque(wait).takeUnretainedValue().wait(count: Int(count)) ? 1 : 0
      }, Unmanaged.passUnretained(busyWait).toOpaque())
    _ = composite_operations_sqlite_set_defensive(handle)
    if !isReadOnly, sqlite3_db_readonly(handle, "main") == 1 {
      throw DatabaseError(
        resultCode: SQLITE_READONLY, message: "it can only be opened for reading", sql: nil, path: path)
    }
  }

  /// Whether it reads the file as one that no program has open, in write-ahead mode.
  var isQuiet: Bool { quietFile != nil }

  /// Whether reads so far, and from now on, match the content of the file.
  var isUpToDate: Bool { quietFile?.isQuiet ?? true }

  deinit {
    // Existing statements keep the connection until they are released.
    sqlite3_close_v2(handle)
    somewhere.deallocate()
  }

  // MARK: - Statements

  /// Prepares a statement that will run again and again.
  func prepare(_ sql: String, isKept: Bool = true) throws -> Statement {
    let (statement, rest) = try prepareFirst(of: sql, isKept: isKept)
    guard let statement, rest.allSatisfy(\.isWhitespace) else {
      throw DatabaseError(.statement, message: "one statement is needed", sql: sql, path: path)
    }
    return statement
  }

  /// Nil for a comment, or an empty text.
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
  /// - Parameters:
  ///   - isGuest: whether they belong to the user, and must leave the connection and its
  ///     transaction alone.
  ///   - didChange: called after each statement of the user that changes rows, with their number.
  @discardableResult
  func execute(
    _ sql: String, _ values: [SQLValue] = [], isGuest: Bool = false, didChange: (Int) -> Void = { _ in }
  ) throws -> [SQLRow] {
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
        // A zero byte ends the statement, and the rest would come up again and again.
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
      if isGuest, statement.changesRows { didChange(changeCount) }
    } while !rest.allSatisfy(\.isWhitespace)
    return rows
  }

  /// Whether statements of the user may have changed jobs since the last call.
  func takeHasChangedJobs() -> Bool {
    defer { authorizer.hasChangedJobs = false }
    return authorizer.hasChangedJobs
  }

  /// Runs a closure with another limit for waits for other processes.
  func withTimeout<R>(_ timeout: Duration, _ body: (Connection) throws -> R) rethrows -> R {
    let before = busyWait.timeout
    busyWait.timeout = min(timeout, before)
    defer { busyWait.timeout = before }
    return try body(self)
  }

  /// Whether it waits for other processes though the queue is suspended.
  var ignoresSuspension: Bool {
    get { busyWait.ignoresSuspension }
    set { busyWait.ignoresSuspension = newValue }
  }

  /// Makes long statements fail when the queue is suspended: for a connection that no other code
  /// knows.
  func endsWhenSuspended(_ suspension: Suspension) {
    sqlite3_progress_handler(
      handle, 10_000,
      { suspension in
        guard let suspension else { return 0 }
        return Unmanaged<Suspension>.fromOpaque(suspension).takeUnretainedValue().isOn ? 1 : 0
      }, Unmanaged.passUnretained(suspension).toOpaque())
  }

  /// Makes the running statement fail. From any thread.
  func interrupt() { sqlite3_interrupt(handle) }

  // MARK: - Transactions

  private lazy var beginning = Result { try prepare("BEGIN IMMEDIATE") }
  private lazy var beginningToRead = Result { try prepare("BEGIN") }
  private lazy var committing = Result { try prepare("COMMIT") }

  var isInTransaction: Bool { sqlite3_get_autocommit(handle) == 0 }

  /// Why the queue itself has ended the transaction under way; nil if it has not.
  private var failure: (any Error)?

  /// Runs a closure in one transaction, which may write from its beginning: a transaction that
  /// reads first and then writes can fail in a way that waiting does not help against.
  func transaction<R>(_ body: () throws -> R) throws -> R {
    try requireWriting()
    return try transaction(begunBy: beginning.get(), body)
  }

  /// Runs a closure that only reads, and all of whose statements see the same: alone, each of them
  /// sees what others have written before it. Not inside a transaction.
  func reading<R>(_ body: () throws -> R) throws -> R {
    try transaction(begunBy: beginningToRead.get(), body)
  }

  private func transaction<R>(begunBy beginning: Statement, _ body: () throws -> R) throws -> R {
    failure = nil
    try beginning.run()
    do {
      let result = try body()
      guard isInTransaction else { throw transactionEnded() }
      try committing.get().run()
      return result
    } catch {
      // Some errors have already rolled it back.
      rollBack()
      throw error
    }
  }

  /// Whether it could not leave its transaction, and keeps its locks: it must be closed.
  private(set) var isStuck = false

  /// Rolls an open transaction back. An interruption, from any thread, may reach this statement,
  /// too: it is repeated then.
  func rollBack() {
    for _ in 0..<100 where isInTransaction { _ = try? execute("ROLLBACK") }
    isStuck = isInTransaction
  }

  /// Runs a part without which the transaction must not be stored: if it fails, rolls the
  /// transaction back, so that it fails even if the user's closure handles the error.
  func requireSuccess(_ body: () throws -> Void) throws {
    do {
      try body()
    } catch {
      failure = error
      rollBack()
      throw error
    }
  }

  /// Throws if the database was opened for reading only, or is no longer in its place.
  func requireWriting() throws(DatabaseError) {
    if isReadOnly { throw DatabaseError.openedToBeRead(path) }
    try requireInPlace()
  }

  /// Throws if the file at the path is not the open one: what is written would be gone with the
  /// last program that has it open.
  func requireInPlace() throws(DatabaseError) {
    // Memory leaves it as it is.
    var hasMoved: Int32 = 0
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_HAS_MOVED, &hasMoved)
    if hasMoved != 0 { throw DatabaseError.fileLost(path) }
  }

  func transactionEnded() -> any Error {
    failure
      ?? DatabaseError(
        .transactionEnded, message: "The transaction of \(path) was ended by a statement inside of it", path: path)
  }

  private func refusal(of action: Authorizer.Refusal, sql: String) -> any Error {
    switch action {
    case .transaction: transactionEnded()
    case .setting(let name):
      DatabaseError(
        .settingOfTheQueue, message: "\(name) would stay when the transaction is over", sql: sql, path: path)
    }
  }

  // MARK: - Facts

  var changeCount: Int { Int(sqlite3_changes(handle)) }

  /// How many rows were changed since it was opened.
  var totalChangeCount: Int { Int(sqlite3_total_changes(handle)) }

  var lastInsertedRowID: Int64 {
    get { sqlite3_last_insert_rowid(handle) }
    set { sqlite3_set_last_insert_rowid(handle, newValue) }
  }

  func error(_ result: Int32, sql: String?) -> DatabaseError {
    let extended = sqlite3_extended_errcode(handle)
    let isBusy = result & 0xFF == SQLITE_BUSY || result & 0xFF == SQLITE_LOCKED
    return DatabaseError(
      // The wait ended early.
      resultCode: isBusy && busyWait.isSuspended
        ? SQLITE_INTERRUPT : extended & 0xFF == result & 0xFF ? extended : result,
      message: String(cString: sqlite3_errmsg(handle)), systemCode: sqlite3_system_errno(handle), sql: sql, path: path)
  }
}
