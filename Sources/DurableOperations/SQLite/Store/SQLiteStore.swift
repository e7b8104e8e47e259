import CompositeOperations
import CompositeOperationsSQLite
import Foundation

/// The stored jobs, with all statements of the database. Belongs to one serial queue.
///
/// Call methods that write inside a transaction, unless their comment says otherwise.
final class SQLiteStore {
  let connection: Connection
  private let events: EventHub
  let suspension: Suspension
  private var ignoresSuspension = false
  private let clock: JobClock
  /// The date at the begin of the transaction under way.
  private var transactionTime: Int64?
  /// The events to report when the transaction is over.
  private(set) var pendingEvents: [JobEvent.Content] = []
  /// The prepared statements, by their place in the sources.
  private var statements: [SQLSite: Statement] = [:]
  private var composedStatements: [String: Statement] = [:]
  /// The changes of `durable_counts` that this transaction has not written yet.
  var deltas = CountDeltas()
  /// Set when a write made a job due.
  var hasFreedJobs = false
  private var kindIDs: [KindName: Int64] = [:]
  private var kindNames: [Int64: String] = [:]
  /// Whether the log is missing that the file announces.
  private(set) var hasLostLog = false
  /// Whether everything stored is in the file itself, so that it must announce its log.
  var isWithoutLog = false
  /// The version of the existing tables.
  private(set) var version = 0
  var recordColumns: SQL { Schema.recordColumns(in: version) }

  /// Opens the database at a path, and migrates its tables unless it is only read.
  init(
    path: String, configuration: DurableQueue.Configuration, events: EventHub, mustExist: Bool,
    isReadOnly: Bool = false, suspension: Suspension = Suspension(), migrations: [String] = Schema.migrations
  ) throws {
    self.events = events
    self.suspension = suspension
    clock = configuration.clock
    let announcement = LogAnnouncement(of: path)
    let hadLog = announcement.hasLog
    connection = try Connection(
      path: path, busyTimeout: configuration.busyTimeout, mustExist: mustExist, isReadOnly: isReadOnly,
      suspension: suspension)
    do {
      // Before anything is changed.
      try refuseNewerSchema(than: migrations.count)
    } catch let error as DatabaseError where isReadOnly && error.code == .cannotOpen {
      throw DatabaseError(
        .cannotOpen, extendedCode: error.extendedCode,
        message:
          "there is a log beside it, which cannot be read without a file \(path)-shm that this user may read, or "
          + "make. Look at a copy of it and its log in another folder, or have its owner look; SQLite says: \(error.message)",
        path: path)
    }
    if mustExist, try storedVersion() == 0 {
      throw DatabaseError(.notAQueue, message: "it has no tables of a queue", path: path)
    }
    // Statements sort and return little; a temporary file takes longer than the rest.
    try connection.execute("PRAGMA temp_store = MEMORY")
    if try !hadLog && storedVersion() > 0 { hasLostLog = try announcement.isBroken(in: connection) }
    if !isReadOnly {
      try getReadyToWrite(configuration, migrations)
      // A program that was killed while it announced its log has left one, and the announcement.
      isWithoutLog = try path != ":memory:" && (!announcement.hasLog || announcement.isMade(in: connection))
    }
    version = isReadOnly ? try storedVersion() : migrations.count
  }

  private func getReadyToWrite(_ configuration: DurableQueue.Configuration, _ migrations: [String]) throws {
    // A young database must not be in its log alone: if the log is lost, so is the database.
    if try storedVersion() == 0, try !usesWriteAheadLog() { _ = try migrate(migrations) }
    try useWriteAheadLog(busyTimeout: configuration.busyTimeout)
    switch configuration.durability.value {
    case .full:
      try connection.execute("PRAGMA synchronous = FULL")
      #if canImport(Darwin)
      try connection.execute("PRAGMA fullfsync = ON")
      #endif
    case .normal: try connection.execute("PRAGMA synchronous = NORMAL")
    }
    if configuration.enforcesForeignKeys { try connection.execute("PRAGMA foreign_keys = ON") }
    // If a reader keeps the log from being written back, the next connection that restarts the log
    // truncates it.
    try connection.execute("PRAGMA journal_size_limit = \(SQLiteStore.longestLog)")
    if try migrate(migrations) { truncateLog() }
  }

  /// About as long as SQLite lets it become without a reader in the way.
  private static let longestLog = 4 << 20

  /// Truncates the log if it has become long while a reader was in the way. Not inside a
  /// transaction.
  func truncateLongLog() {
    if logSize > Self.longestLog, (try? refuseWhileSuspended()) != nil { truncateLog() }
  }

  /// Writes the log back and truncates it, if no other connection is in the way. Not inside a
  /// transaction.
  func truncateLog() {
    let isCut = connection.withTimeout(.zero) { connection in
      (try? connection.execute("PRAGMA wal_checkpoint(TRUNCATE)"))?.first?[0].integerValue == 0
    }
    if isCut { isWithoutLog = true }
  }

  // MARK: - Opening

  private func storedVersion() throws -> Int {
    let tables = try connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'durable_meta'")
    if tables.isEmpty { return 0 }
    let rows = try connection.execute("SELECT value FROM durable_meta WHERE key = 'schema'")
    guard let stored = rows.first?[0].integerValue, let version = Int(exactly: stored), version > 0 else {
      throw DatabaseError(
        .corrupt, message: "its table durable_meta says no version that there can be of its tables",
        path: connection.path)
    }
    return version
  }

  /// The identity of this database, which differs from that of a later one at the same path.
  func identity() throws -> String {
    let select = try statement("SELECT value FROM durable_meta WHERE key = 'identity'")
    return try select.first { $0.text(0) ?? "" } ?? ""
  }

  private func refuseNewerSchema(than known: Int) throws {
    let version = try storedVersion()
    guard version <= known else {
      throw DatabaseError(
        .newerSchema, message: "its tables are of version \(version), this program knows up to \(known)",
        path: connection.path)
    }
  }

  private func usesWriteAheadLog() throws -> Bool {
    try connection.execute("PRAGMA journal_mode").first?[0].textValue == "wal"
  }

  /// Switches to the log. That fails with “busy” at once when another process does the same.
  private func useWriteAheadLog(busyTimeout: Duration) throws {
    let end = ContinuousClock.now + busyTimeout
    while true {
      do {
        try connection.execute("PRAGMA journal_mode = WAL")
        return
      } catch let error as DatabaseError where error.code == .busy && ContinuousClock.now < end {
        sqlite3_sleep(5)
      }
    }
  }

  /// Returns whether there was something to do.
  private func migrate(_ migrations: [String]) throws -> Bool {
    if try storedVersion() == migrations.count { return false }
    return try connection.transaction {
      // Another process may have migrated it first.
      let version = try storedVersion()
      try refuseNewerSchema(than: migrations.count)
      if version == migrations.count { return false }
      try connection.execute("CREATE TABLE IF NOT EXISTS durable_meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID")
      for migration in migrations[version...] { try connection.execute(migration) }
      if version > 0 { try noteUpgrade(in: ProcessIdentity.current.bootID) }
      try connection.execute(
        "INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('schema', ?)", [SQLValue(migrations.count)])
      return true
    }
  }

  // MARK: - Statements

  /// A statement that is prepared the first time that a line asks for it. It is found by its place
  /// in the sources, which is cheap: its text must not depend on anything else.
  func statement(
    _ sql: @autoclosure () -> SQL, file: StaticString = #fileID, line: UInt = #line, column: UInt = #column
  ) throws -> Statement {
    let site = SQLSite(file: file, line: line, column: column)
    if let known = statements[site] { return known }
    let statement = try connection.prepare(sql().text)
    statements[site] = statement
    return statement
  }

  /// A statement that is run once.
  func unkept(_ sql: SQL) throws -> Statement { try connection.prepare(sql.text, isKept: false) }

  /// A statement whose text depends on the version of the tables, by a name for it.
  func kept(_ name: String, _ sql: @autoclosure () -> SQL) throws -> Statement {
    if let known = composedStatements[name] { return known }
    let statement = try connection.prepare(sql().text)
    composedStatements[name] = statement
    return statement
  }

  // MARK: - Transactions

  /// The date, in milliseconds since 1970. Inside a transaction it stands still: everything that it
  /// writes has one time.
  var now: Int64 { transactionTime ?? clock.milliseconds }

  func transaction<R>(_ body: () throws -> R) throws -> R {
    try refuseWhileSuspended()
    do {
      if isWithoutLog {
        try LogAnnouncement(of: connection.path).make(in: connection)
        isWithoutLog = false
      }
      defer { transactionTime = nil }
      let result = try connection.transaction {
        // Not before: other processes may have held the database for long.
        transactionTime = clock.milliseconds
        let result = try body()
        // Otherwise the changes were rolled back.
        if connection.isInTransaction { try connection.takeHasChangedJobs() ? recount() : writeCounts() }
        return result
      }
      for event in pendingEvents {
        if case .dead = event { events.report(event) } else { events.tell(event) }
      }
      pendingEvents.removeAll(keepingCapacity: true)
      return result
    } catch {
      pendingEvents = []
      deltas = CountDeltas()
      _ = connection.takeHasChangedJobs()
      forgetKinds()
      throw error
    }
  }

  func refuseWhileSuspended() throws {
    guard suspension.isOn, !ignoresSuspension else { return }
    throw DatabaseError(.suspended, message: "suspend() was called", path: connection.path)
  }

  /// Does the last work before the file is left alone.
  func ignoringSuspension(_ body: () -> Void) {
    (ignoresSuspension, connection.ignoresSuspension) = (true, true)
    body()
    (ignoresSuspension, connection.ignoresSuspension) = (false, false)
  }

  /// Runs a part of a transaction, of which nothing is left if it throws.
  func savepoint<R>(_ body: () throws -> R) throws -> R {
    let (eventCount, deltasBefore) = (pendingEvents.count, deltas)
    try statement("SAVEPOINT durable_part").run()
    do {
      let result = try body()
      try statement("RELEASE durable_part").run()
      return result
    } catch {
      pendingEvents.removeLast(pendingEvents.count - eventCount)
      deltas = deltasBefore
      forgetKinds()
      // Some errors have already rolled everything back.
      if connection.isInTransaction {
        try connection.requireSuccess { try connection.execute("ROLLBACK TO durable_part; RELEASE durable_part") }
      }
      throw error
    }
  }

  // Where the user goes back to a savepoint, the events since then are not told. The database
  // remembers how many there were before it: their number goes back with the rest. The jobs do not
  // tell: some were there before, as those that were replaced, and SQLite gives the numbers of the
  // others again.

  /// Notes the number of events, before a text that may make a savepoint, or go back to one.
  func noteEventCount() throws {
    let insert = try statement("INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('events', ?1)")
    insert.bind(pendingEvents.count, at: 1)
    try insert.run()
  }

  /// Forgets the events behind the number that the database remembers, or all if it remembers none.
  /// Returns that number.
  func forgetEventsTakenBack() throws -> Int? {
    let select = try statement("SELECT value FROM durable_meta WHERE key = 'events'")
    let count = try select.first { Int(clamping: $0.integer(0)) } ?? 0
    guard (0...pendingEvents.count).contains(count) else { return nil }
    pendingEvents.removeLast(pendingEvents.count - count)
    return count
  }

  /// Removes the number. At the end of the transaction.
  func forgetEventCount() throws {
    try statement("DELETE FROM durable_meta WHERE key = 'events'").run()
  }

  /// Kinds may have got their numbers in this transaction, or in a part of it that was undone.
  func forgetKinds() {
    kindIDs = [:]
    kindNames = [:]
  }

  /// Reports an event when the transaction has succeeded.
  func tell(_ event: @autoclosure () throws -> JobEvent.Content) rethrows {
    if events.isHeard { pendingEvents.append(try event()) }
  }

  /// Reports a dead job when the transaction has succeeded, even if no stream of events is read.
  func tellDead(_ id: JobID, kind: String, error: any Error) {
    pendingEvents.append(.dead(id, kind: kind, error: error))
  }

  /// Changes whenever another connection has written.
  func dataVersion() throws -> Int64 {
    try statement("PRAGMA data_version").first { $0.integer(0) } ?? 0
  }

  // MARK: - Kinds

  /// The number of a kind. Assigns one if it has none.
  func kindID(_ name: String) throws -> Int64 {
    if let id = try knownKindID(name) { return id }
    let insert = try statement("INSERT INTO durable_kinds (name) VALUES (?1) RETURNING id")
    try insert.bind(name, at: 1)
    var id: Int64 = 0
    try insert.forEachRow { id = $0.integer(0) }
    remember(kind: name, id)
    return id
  }

  /// The number of a kind; nil if it has none. Only reads.
  func knownKindID(_ name: String) throws -> Int64? {
    if let id = kindIDs[KindName(name)] { return id }
    let select = try statement("SELECT id FROM durable_kinds WHERE name = ?1")
    try select.bind(name, at: 1)
    guard let id = try select.first({ $0.integer(0) }) else { return nil }
    remember(kind: name, id)
    return id
  }

  private func remember(kind name: String, _ id: Int64) {
    kindIDs[KindName(name)] = id
    kindNames[id] = name
  }

  /// The name of a kind that has jobs. Only reads.
  func kindName(_ id: Int64) throws -> String {
    if let name = kindNames[id] { return name }
    let select = try statement("SELECT name FROM durable_kinds WHERE id = ?1")
    select.bind(id, at: 1)
    let name = try select.first { $0.text(0) ?? "" } ?? ""
    remember(kind: name, id)
    return name
  }

  /// The names of all kinds, in order. Only reads.
  func knownKinds() throws -> [String] {
    var names: [String] = []
    try statement("SELECT name FROM durable_kinds ORDER BY name").forEachRow { names.append($0.text(0) ?? "") }
    return names
  }

  func pausedKinds() throws -> Set<Int64> {
    var paused: Set<Int64> = []
    try statement("SELECT id FROM durable_kinds WHERE paused = 1").forEachRow { paused.insert($0.integer(0)) }
    return paused
  }

  /// The limits of kinds over all processes. Only reads.
  func limits() throws -> [Int64: Int] {
    guard version > 1 else { return [:] }
    var limits: [Int64: Int] = [:]
    try statement("SELECT id, max_concurrent FROM durable_kinds WHERE max_concurrent IS NOT NULL").forEachRow { row in
      limits[row.integer(0)] = Int(clamping: row.integer(1))
    }
    return limits
  }

  func kindRules() throws -> KindRules {
    KindRules(paused: try pausedKinds(), limits: try limits())
  }

  func setLimit(_ limit: Int?, kind: String) throws {
    let update = try statement("UPDATE durable_kinds SET max_concurrent = ?2 WHERE id = ?1")
    update.bind(try kindID(kind), at: 1)
    update.bind(limit.map(Int64.init), at: 2)
    try update.run()
  }

  func setPaused(_ isPaused: Bool, kind: String) throws {
    let update = try statement("UPDATE durable_kinds SET paused = ?2 WHERE id = ?1")
    update.bind(try kindID(kind), at: 1)
    update.bind(isPaused ? 1 : 0, at: 2)
    try update.run()
  }
}
