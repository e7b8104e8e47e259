#if os(macOS) || os(Linux)
extension PostgresDoctor {
  private static let why = """
    Rows that were deleted or changed since cannot be cleaned up: the tables and indexes of the queue grow, and claims pass what is \
    dead.
    """

  /// Checks what keeps the server from removing old versions of rows.
  func snapshots() throws -> [Diagnosis] {
    let found = try sessions() + preparedTransactions() + slots()
    guard found.isEmpty else { return found }
    return [.fine("snapshots", "No snapshot is kept for longer than \(limits.snapshotAge.components.seconds) s.")]
  }

  /// Checks the sessions of this database, and standbys. The snapshot of a VACUUM keeps nothing.
  private func sessions() throws -> [Diagnosis] {
    let rows = try ask(
      """
      SELECT pid::bigint, coalesce(usename, ''), coalesce(application_name, ''), coalesce(state, ''),
        (extract(epoch FROM pg_catalog.clock_timestamp() - xact_start) * 1000)::bigint, pg_catalog.age(backend_xmin)::bigint
      FROM pg_stat_activity AS session
      WHERE backend_xmin IS NOT NULL AND pid <> pg_catalog.pg_backend_pid() AND (datname = pg_catalog.current_database() OR datname IS NULL)
        AND NOT EXISTS (SELECT 1 FROM pg_stat_progress_vacuum AS vacuum WHERE vacuum.pid = session.pid)
      ORDER BY pg_catalog.age(backend_xmin) DESC LIMIT 20
      """)
    return rows.map { row in
      Self.session(
        process: row.integer(0), role: row.text(1) ?? "", program: row.text(2) ?? "", state: row.text(3) ?? "",
        age: row.optionalInteger(4).map { .milliseconds($0) }, transactions: row.integer(5), limit: limits.snapshotAge)
    }.compactMap(\.self)
  }

  /// From here on, a snapshot of unknown age is taken for an old one.
  private static let manyTransactions: Int64 = 10_000

  /// - Parameters:
  ///   - age: nil if this role may not see it.
  ///   - transactions: how many have begun since.
  static func session(
    process: Int64, role: String, program: String, state: String, age: Duration?, transactions: Int64, limit: Duration
  ) -> Diagnosis? {
    guard age.map({ $0 >= limit }) ?? (transactions >= manyTransactions) else { return nil }
    let who = [program, role.isEmpty ? "" : "role \(role)", state].filter { !$0.isEmpty }.joined(separator: ", ")
    let length = age.map { "for \($0.components.seconds) s" } ?? "since \(transactions) transactions ago"
    return .attention(
      "snapshots", "The session \(process) (\(who)) has kept a snapshot \(length).", why: why,
      remedy: """
        Let it end, or end it: SELECT pg_catalog.pg_terminate_backend(\(process)); Against the next one: short transactions, \
        idle_in_transaction_session_timeout, and pg_dump and reports on a standby without hot_standby_feedback.
        """)
  }

  private func preparedTransactions() throws -> [Diagnosis] {
    let rows = try ask(
      """
      SELECT gid, extract(epoch FROM pg_catalog.clock_timestamp() - prepared)::bigint FROM pg_prepared_xacts
      WHERE database = pg_catalog.current_database() AND pg_catalog.clock_timestamp() - prepared >= $1::bigint * interval '1 ms'
      ORDER BY prepared LIMIT 20
      """
    ) { $0.bind(limits.snapshotAge.milliseconds) }
    return rows.map { row in
      let name = PostgresStatement.quoted(row.text(0) ?? "")
      return .attention(
        "snapshots", "The prepared transaction \(name) has kept a snapshot for \(row.integer(1)) s.", why: Self.why,
        remedy: "COMMIT PREPARED \(name), or ROLLBACK PREPARED \(name), as its program would have it.")
    }
  }

  private func slots() throws -> [Diagnosis] {
    let rows = try ask(
      """
      SELECT slot_name::text, active, pg_catalog.age(xmin)::bigint FROM pg_replication_slots
      WHERE pg_catalog.age(xmin) >= \(Self.manyTransactions) ORDER BY pg_catalog.age(xmin) DESC LIMIT 20
      """)
    return rows.map { row in
      let name = row.text(0) ?? ""
      return .attention(
        "snapshots",
        "The replication slot \(name), which is \(row.bool(1) ? "" : "not ")in use, keeps what is \(row.integer(2)) transactions old.",
        why: Self.why,
        remedy:
          "Let its standby catch up, or, if there is none left: SELECT pg_catalog.pg_drop_replication_slot(\(PostgresStatement.quoted(name)));"
      )
    }
  }
}
#endif
