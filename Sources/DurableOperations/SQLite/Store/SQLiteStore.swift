import CompositeOperations
import CompositeOperationsSQLite
import Foundation

/// The stored jobs: all that is asked of the database. Belongs to one serial queue.
///
/// What writes is called inside of a transaction, unless its comment says otherwise.
final class SQLiteStore {
  let connection: Connection
  private let events: EventHub
  let suspension: Suspension
  private var ignoresSuspension = false
  private let clock: JobClock
  /// The date when the transaction that is under way began.
  private var transactionTime: Int64?
  /// What is told when the transaction is over.
  private var pendingEvents: [JobEvent.Content] = []
  /// Statements that were prepared, by their text.
  private var statements: [SQLSite: Statement] = [:]
  private var composedStatements: [String: Statement] = [:]
  /// What this transaction has not written of `durable_counts` yet.
  var deltas = CountDeltas()
  /// Set when a job became due by what was written.
  var hasFreedJobs = false
  private var kindIDs: [KindName: Int64] = [:]
  private var kindNames: [Int64: String] = [:]
  /// Whether the log is gone that the file has said there would be.
  private(set) var hasLostLog = false
  /// Whether all that is stored is in the file itself, so that it has to say that there will be a log.
  var isWithoutLog = false
  /// The version of the tables that there are.
  private(set) var version = 0
  var recordColumns: SQL { Schema.recordColumns(in: version) }

  /// Opens the database at a path, and brings its tables up to date unless it is only read.
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
          "there is a log beside it, which can not be read without a file \(path)-shm that this user may read, or "
          + "make. Look at a copy of it and its log in another folder, or have its owner look; SQLite says: \(error.message)",
        path: path)
    }
    if mustExist, try storedVersion() == 0 {
      throw DatabaseError(.notAQueue, message: "it has no tables of a queue", path: path)
    }
    // What a statement sorts or returns is little; a temporary file for it takes longer than the rest.
    try connection.execute("PRAGMA temp_store = MEMORY")
    if try !hadLog && storedVersion() > 0 { hasLostLog = try announcement.isBroken(in: connection) }
    if !isReadOnly {
      try getReadyToWrite(configuration, migrations)
      // A program that was ended while it announced its log has left one, and the announcement.
      isWithoutLog = try path != ":memory:" && (!announcement.hasLog || announcement.isMade(in: connection))
    }
    version = isReadOnly ? try storedVersion() : migrations.count
  }

  private func getReadyToWrite(_ configuration: DurableQueue.Configuration, _ migrations: [String]) throws {
    // A young database must not be in its log alone: it would be as if it had never been if that is lost.
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
    // What a reader kept from being written back, the next one to begin the log anew cuts off.
    try connection.execute("PRAGMA journal_size_limit = \(SQLiteStore.longestLog)")
    if try migrate(migrations) { truncateLog() }
  }

  /// About as long as SQLite lets it become if no reader is in the way.
  private static let longestLog = 4 << 20

  /// Writes the log back and cuts it off, if nobody is in the way. Not inside of a transaction.
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

  /// What tells this database from others, also from a later one at the same path.
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

  /// Switching to the log answers “busy” at once when another process does the same.
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
      // Another process may have been here first.
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

  /// A statement that is prepared the first time that a line asks for it. It is found by its place in the sources, which is
  /// cheap: what is written there must not depend on anything else.
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

  /// A statement whose text depends on the version of the tables, by a name of it.
  func kept(_ name: String, _ sql: @autoclosure () -> SQL) throws -> Statement {
    if let known = composedStatements[name] { return known }
    let statement = try connection.prepare(sql().text)
    composedStatements[name] = statement
    return statement
  }

  // MARK: - Transactions

  /// The date, in milliseconds since 1970. Inside of a transaction it stands still: all that is written has one time.
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
        // Not before: others may have had the database for long.
        transactionTime = clock.milliseconds
        let result = try body()
        // Otherwise what was done was taken back.
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

  /// Does the last that there is to do before the file is left alone.
  func ignoringSuspension(_ body: () -> Void) {
    (ignoresSuspension, connection.ignoresSuspension) = (true, true)
    body()
    (ignoresSuspension, connection.ignoresSuspension) = (false, false)
  }

  /// Does a part of a transaction, of which nothing is left if it throws.
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
      // Some errors have rolled all of it back already.
      if connection.isInTransaction { _ = try? connection.execute("ROLLBACK TO durable_part; RELEASE durable_part") }
      throw error
    }
  }

  /// Statements of the user's may have taken back a part of what was done.
  func forgetWhatWasTakenBack() throws {
    forgetKinds()
    pendingEvents = try pendingEvents.filter { event in
      if case .enqueued(let id, _) = event { try state(of: id) != nil } else { true }
    }
  }

  /// They may have been given their numbers in this transaction, or in a part of it that was taken back.
  func forgetKinds() {
    kindIDs = [:]
    kindNames = [:]
  }

  /// Tells something when the transaction has succeeded.
  func tell(_ event: @autoclosure () throws -> JobEvent.Content) rethrows {
    if events.isHeard { pendingEvents.append(try event()) }
  }

  /// Tells that a job is dead when the transaction has succeeded, also if nobody listens.
  func tellDead(_ id: JobID, kind: String, error: any Error) {
    pendingEvents.append(.dead(id, kind: kind, error: error))
  }

  /// Changes whenever another connection has written.
  func dataVersion() throws -> Int64 {
    try statement("PRAGMA data_version").first { $0.integer(0) } ?? 0
  }

  // MARK: - Kinds

  /// The number of a kind, which is given one if it has none.
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

  /// How many jobs of a kind may execute at once in all processes, for those that have a limit. Only reads.
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
