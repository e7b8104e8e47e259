import CompositeOperations
import CompositeOperationsSQLite
import Foundation

/// The stored jobs: all that is asked of the database. Belongs to one serial queue.
///
/// What writes is called inside of a transaction, unless its comment says otherwise.
final class JobStore {
  let connection: Connection
  private let events: EventHub
  /// What is told when the transaction is over.
  private var pendingEvents: [JobEvent.Content] = []
  /// Statements that were prepared, by their text.
  private var statements: [StaticText: Statement] = [:]
  private var composedStatements: [String: Statement] = [:]
  /// Set when a job became due by what was written.
  var hasFreedJobs = false
  private var kindIDs: [String: Int64] = [:]
  private var kindNames: [Int64: String] = [:]

  /// Opens the database at a path, and brings its tables up to date.
  init(
    path: String, configuration: DurableQueue.Configuration, events: EventHub, mustExist: Bool,
    migrations: [String] = Schema.migrations
  ) throws {
    self.events = events
    connection = try Connection(path: path, busyTimeout: configuration.busyTimeout, mustExist: mustExist)
    // Before anything is changed.
    try refuseNewerSchema(than: migrations.count)
    if mustExist, try storedVersion() == 0 {
      throw DatabaseError(.notAQueue, message: "it has no tables of a queue", path: path)
    }
    try useWriteAheadLog(busyTimeout: configuration.busyTimeout)
    switch configuration.durability {
    case .full:
      try connection.execute("PRAGMA synchronous = FULL")
      #if canImport(Darwin)
      try connection.execute("PRAGMA fullfsync = ON")
      #endif
    case .normal: try connection.execute("PRAGMA synchronous = NORMAL")
    }
    if configuration.enforcesForeignKeys { try connection.execute("PRAGMA foreign_keys = ON") }
    // What a statement sorts or returns is little; a temporary file for it takes longer than the rest.
    try connection.execute("PRAGMA temp_store = MEMORY")
    try migrate(migrations)
  }

  // MARK: - Opening

  private func storedVersion() throws -> Int {
    let tables = try connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name = 'durable_meta'")
    if tables.isEmpty { return 0 }
    let rows = try connection.execute("SELECT value FROM durable_meta WHERE key = 'schema'")
    return Int(rows.first?[0].integerValue ?? 0)
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

  private func migrate(_ migrations: [String]) throws {
    if try storedVersion() == migrations.count { return }
    try connection.transaction {
      // Another process may have been here first.
      let version = try storedVersion()
      try refuseNewerSchema(than: migrations.count)
      if version == migrations.count { return }
      try connection.execute("CREATE TABLE IF NOT EXISTS durable_meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID")
      for migration in migrations[version...] { try connection.execute(migration) }
      try connection.execute(
        "INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('schema', ?)", [SQLValue(migrations.count)])
    }
  }

  // MARK: - Statements

  /// A statement that is prepared the first time. The text is a literal, so that finding it is cheap.
  func statement(_ sql: StaticString) throws -> Statement {
    let key = StaticText(text: sql)
    if let known = statements[key] { return known }
    let statement = try connection.prepare(sql.description)
    statements[key] = statement
    return statement
  }

  /// A statement whose text is put together, by a name of it.
  func kept(_ name: String, _ sql: @autoclosure () -> String) throws -> Statement {
    if let known = composedStatements[name] { return known }
    let statement = try connection.prepare(sql())
    composedStatements[name] = statement
    return statement
  }

  // MARK: - Transactions

  func transaction<R>(_ body: () throws -> R) throws -> R {
    do {
      let result = try connection.transaction(body)
      for event in pendingEvents { events.tell(event) }
      pendingEvents.removeAll(keepingCapacity: true)
      return result
    } catch {
      pendingEvents = []
      forgetKinds()
      throw error
    }
  }

  /// Does a part of a transaction, of which nothing is left if it throws.
  func savepoint<R>(_ body: () throws -> R) throws -> R {
    let eventCount = pendingEvents.count
    try statement("SAVEPOINT durable_part").run()
    do {
      let result = try body()
      try statement("RELEASE durable_part").run()
      return result
    } catch {
      pendingEvents.removeLast(pendingEvents.count - eventCount)
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

  /// They may have been given their numbers in this transaction.
  private func forgetKinds() {
    kindIDs = [:]
    kindNames = [:]
  }

  /// Tells something when the transaction has succeeded.
  func tell(_ event: @autoclosure () throws -> JobEvent.Content) rethrows {
    if events.isHeard { pendingEvents.append(try event()) }
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
    if let id = kindIDs[name] { return id }
    let select = try statement("SELECT id FROM durable_kinds WHERE name = ?1")
    try select.bind(name, at: 1)
    guard let id = try select.first({ $0.integer(0) }) else { return nil }
    remember(kind: name, id)
    return id
  }

  private func remember(kind name: String, _ id: Int64) {
    kindIDs[name] = id
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

  func pausedKinds() throws -> Set<Int64> {
    var paused: Set<Int64> = []
    try statement("SELECT id FROM durable_kinds WHERE paused = 1").forEachRow { paused.insert($0.integer(0)) }
    return paused
  }

  func setPaused(_ isPaused: Bool, kind: String) throws {
    let update = try statement("UPDATE durable_kinds SET paused = ?2 WHERE id = ?1")
    update.bind(try kindID(kind), at: 1)
    update.bind(isPaused ? 1 : 0, at: 2)
    try update.run()
  }
}

/// A literal by its address.
private struct StaticText: Hashable {
  let text: StaticString

  static func == (left: StaticText, right: StaticText) -> Bool {
    left.text.utf8Start == right.text.utf8Start && left.text.utf8CodeUnitCount == right.text.utf8CodeUnitCount
  }

  func hash(into hasher: inout Hasher) { hasher.combine(text.utf8Start) }
}

extension Date {
  /// Milliseconds since 1970, rounded up.
  var milliseconds: Int64 {
    // Up, but for what is lost in keeping a whole number of them as seconds.
    let value = (timeIntervalSince1970 * 1000 - 0.01).rounded(.up)
    return value.isNaN ? 0 : Int64(min(max(value, -9e15), 9e15))
  }

  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}
