#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension PostgresAccess {
  /// Connects, and makes the tables if they do not exist. Blocks the thread of the caller.
  ///
  /// - Parameter mustExist: whether to make nothing.
  static func open(
    _ url: String, _ options: PostgresOptions, mustExist: Bool, _ configuration: DurableQueue.Configuration,
    _ events: EventHub
  ) throws -> PostgresAccess {
    options.check()
    require(
      configuration.maxPayloadSize <= PostgresStore.mostBytesOfAJob,
      "DurableQueue.Configuration.maxPayloadSize is \(configuration.maxPayloadSize). Use "
        + "\(PostgresStore.mostBytesOfAJob) or less on a server.")
    var connecting = PostgresConfiguration(url: url)
    connecting.statementTimeout = options.statementTimeout
    connecting.isPooled = options.pooler == .transaction
    connecting.settings =
      PostgresStore.sessionSettings(options, configuration) + [
        // A server that waits for the rest of a transaction holds its locks: keepalives tell it
        // that the client is gone.
        ("tcp_keepalives_idle", "10"), ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
      ]
    do {
      let connection = try PostgresConnection.connect(connecting)
      defer { connection.close() }
      let database = connection.address.place
      let place = options.schema == PostgresOptions().schema ? database : "\(database), schema \(options.schema)"
      let migration = PostgresMigration(connection, options.schema, place: place)
      if mustExist || !options.migrates { try migration.requireTables() } else { try migration.migrate() }
      let store = PostgresStore(
        connecting, place: place, options: options, configuration: configuration, events: events)
      return PostgresAccess(store)
    } catch let error as PostgresError {
      throw DatabaseError(error, place: error.place ?? "PostgreSQL")
    }
  }
}

/// Migrates the tables of a schema.
struct PostgresMigration {
  private let connection: PostgresConnection
  private let name: String
  private let schema: SQL
  private let place: String

  init(_ connection: PostgresConnection, _ name: String, place: String) {
    self.connection = connection
    self.name = name
    self.place = place
    schema = SQL(stringLiteral: PostgresStatement.identifier(name))
  }

  var steps: [String] { PostgresSchema.migrations(schema) }

  /// Nil if there are no tables.
  func storedVersion() throws -> Int? {
    let isThere = try connection.run(
      .reading,
      PostgresStatement(
        """
        SELECT EXISTS (SELECT 1 FROM pg_catalog.pg_class AS c
            JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
          WHERE n.nspname OPERATOR(pg_catalog.=) $1 AND c.relname OPERATOR(pg_catalog.=) 'meta'::pg_catalog.text
            AND c.relkind OPERATOR(pg_catalog.=) 'r'::pg_catalog."char")
        """)
    ) { parameters throws(PostgresError) in try parameters.bind(name) }
    guard isThere.first({ $0.bool(0) }) == true else { return nil }
    let select = PostgresStatement(
      "SELECT value FROM \(schema.text).meta WHERE key OPERATOR(pg_catalog.=) 'schema'::pg_catalog.text")
    let text = try connection.run(.reading, select).first { $0.text(0) ?? "" } ?? ""
    guard let version = Int(text), version > 0 else {
      throw DatabaseError(
        .corrupt, engine: .postgres, message: "its table meta says no version that there can be of its tables",
        path: place)
    }
    return version
  }

  private func refuseNewer(_ version: Int) throws {
    guard version > steps.count else { return }
    throw DatabaseError(
      .newerSchema, engine: .postgres,
      message: "its tables are of version \(version), this program knows up to \(steps.count)", path: place)
  }

  func requireTables() throws {
    guard let version = try storedVersion() else {
      throw DatabaseError(
        .notAQueue, engine: .postgres, message: "it has no tables of a queue in the schema \(name)", path: place)
    }
    try refuseNewer(version)
    guard version < steps.count else { return }
    throw DatabaseError(
      .notAQueue, engine: .postgres,
      message:
        "its tables are of version \(version), and have to be brought up to date to \(steps.count) by a role that may do that",
      path: place)
  }

  /// Runs all missing steps, or none. Other migrations that begin at the same time wait.
  func migrate() throws {
    if let version = try storedVersion() {
      try refuseNewer(version)
      if version == steps.count { return }
    }
    guard connection.setting("server_encoding") == "UTF8" else {
      throw DatabaseError(
        .cannotOpen, engine: .postgres,
        message: "its encoding is \(connection.setting("server_encoding") ?? "unknown"), and has to be UTF8",
        path: place)
    }
    try connection.transaction { connection in
      func execute(_ sql: String) throws {
        for statement in PostgresScript.statements(in: sql) {
          try connection.run(.inside, PostgresStatement(statement))
        }
      }
      let lock = PostgresStatement.quoted("durable migrations \(name)")
      try execute("SELECT pg_catalog.set_config('search_path', '\(PostgresStore.searchPath)', true)")
      // Other migrations may have many steps to go.
      try execute("SELECT pg_catalog.set_config('lock_timeout', '60000', true)")
      // As in a session of a queue, which has it only without a pooler: this process waits no
      // longer for any statement, and would take the connection for lost.
      let patience = PostgresStore.statementTimeout(within: connection.configuration.statementTimeout)
      try execute("SELECT pg_catalog.set_config('statement_timeout', '\(patience)', true)")
      // A process that stands still meanwhile must not keep all others from starting.
      try execute("SELECT pg_catalog.set_config('idle_in_transaction_session_timeout', '30000', true)")
      try execute("SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(\(lock), 0))")
      let version = try storedVersion() ?? 0
      try refuseNewer(version)
      if version == steps.count { return }
      if version == 0 {
        // A role that may not make schemas may use an existing one.
        let isThere = try connection.run(
          .inside, PostgresStatement("SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = $1")
        ) { parameters throws(PostgresError) in try parameters.bind(name) }
        if isThere.count == 0 { try execute("CREATE SCHEMA \(schema.text)") }
        try execute("CREATE TABLE \(schema.text).meta (key text PRIMARY KEY, value text NOT NULL)")
      }
      for step in steps[version...] { try execute(step) }
      try execute(
        """
        INSERT INTO \(schema.text).meta (key, value) VALUES ('schema', '\(steps.count)')
          ON CONFLICT (key) DO UPDATE SET value = excluded.value
        """)
    }
  }
}

/// Several statements in one text, such as the steps of a migration.
enum PostgresScript {
  /// Cuts at semicolons at the end of a line, but not inside a function, which stands between two
  /// `$$`.
  static func statements(in script: String) -> [String] {
    var (statements, lines, isInside) = ([String](), [Substring](), false)
    for line in script.split(separator: "\n") {
      lines.append(line)
      if line.split(separator: "$$", omittingEmptySubsequences: false).count % 2 == 0 { isInside.toggle() }
      guard !isInside, line.hasSuffix(";") else { continue }
      statements.append(lines.joined(separator: "\n"))
      lines = []
    }
    return lines.isEmpty ? statements : statements + [lines.joined(separator: "\n")]
  }
}
#endif
