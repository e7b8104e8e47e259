#if os(macOS) || os(Linux)
import Foundation

extension PostgresDoctor {
  /// The dead rows of a table of the queue.
  struct Table: Equatable {
    var name: String
    var live: Int64
    var dead: Int64
    /// The number of dead rows that triggers autovacuum.
    var trigger: Int64
    /// Nil for never.
    var lastVacuum: Date?
    /// Whether autovacuum may clean it up.
    var isVacuumed = true

    /// Whether autovacuum has had enough time, several times over.
    func isLate(_ least: Int64) -> Bool { dead >= max(least, trigger.multipliedReportingOverflow(by: 4).partialValue) }
  }

  func statistics() throws -> [Table] {
    func option(_ name: String) -> String {
      """
      coalesce((SELECT option_value FROM pg_catalog.pg_options_to_table(c.reloptions) WHERE option_name = '\(name)'),
        pg_catalog.current_setting('\(name)'))::float8
      """
    }
    return try askOfSchema(
      """
      SELECT c.relname::text, s.n_live_tup::bigint, s.n_dead_tup::bigint,
        (\(option("autovacuum_vacuum_threshold")) + \(option("autovacuum_vacuum_scale_factor")) * greatest(c.reltuples, 0))::bigint,
        (extract(epoch FROM greatest(s.last_vacuum, s.last_autovacuum)) * 1000)::bigint,
        coalesce((SELECT option_value FROM pg_catalog.pg_options_to_table(c.reloptions) WHERE option_name = 'autovacuum_enabled'), 'on')::boolean
      FROM pg_stat_user_tables AS s JOIN pg_class AS c ON c.oid = s.relid
      WHERE s.schemaname = $1 ORDER BY s.n_dead_tup DESC, c.relname
      """
    ).map { row in
      Table(
        name: row.text(0) ?? "", live: row.integer(1), dead: row.integer(2), trigger: row.integer(3),
        lastVacuum: row.optionalInteger(4).map { Date(milliseconds: $0) }, isVacuumed: row.bool(5))
    }
  }

  func deadRows() throws -> [Diagnosis] {
    let tables = try statistics()
    let late = tables.filter { $0.isLate(limits.deadRows) }
    guard late.isEmpty else { return late.map(deadRows(in:)) }
    let (dead, live) = (tables.reduce(0) { $0 + $1.dead }, tables.reduce(0) { $0 + $1.live })
    return [.fine("dead rows", "The tables have \(dead) dead rows beside \(live) that count.")]
  }

  private func deadRows(in table: Table) -> Diagnosis {
    let last =
      table.lastVacuum.map { "it was last cleaned up at \($0.formatted(.iso8601))" } ?? "it was never cleaned up"
    return .attention(
      "dead rows", "The table \(table.name) has \(table.dead) dead rows beside \(table.live) that count; \(last).",
      why: "Each statement passes them, and the table and its indexes grow.",
      remedy: """
        End what keeps old snapshots, and see to it that autovacuum runs, if one of the two was found. \
        Then VACUUM (ANALYZE) \(store.schema.text).\(PostgresStatement.identifier(table.name));
        """)
  }

  // MARK: - Autovacuum

  func autovacuum() throws -> [Diagnosis] {
    let row = try ask(
      """
      SELECT pg_catalog.current_setting('autovacuum') = 'on', pg_catalog.current_setting('track_counts') = 'on',
        pg_catalog.current_setting('autovacuum_max_workers')::bigint,
        (SELECT pg_catalog.count(*) FROM pg_stat_activity WHERE backend_type = 'autovacuum worker')
      """
    ).row(0)
    return Self.autovacuum(
      isOn: row.bool(0), counts: row.bool(1), workers: (row.integer(3), row.integer(2)), tables: try statistics(),
      in: store.schema.text)
  }

  /// - Parameter workers: how many are busy, of how many.
  static func autovacuum(
    isOn: Bool, counts: Bool, workers: (busy: Int64, limit: Int64), tables: [Table], in schema: String
  ) -> [Diagnosis] {
    let why = "Dead rows of the queue are not cleaned up: it becomes slower and larger from day to day."
    func isOff(_ setting: String) -> Diagnosis {
      .attention(
        "autovacuum", "\(setting) is off.", why: why,
        remedy: "ALTER SYSTEM SET \(setting) = on; SELECT pg_catalog.pg_reload_conf();")
    }
    var found: [Diagnosis] = []
    if !isOn { found.append(isOff("autovacuum")) }
    if !counts { found.append(isOff("track_counts")) }
    for table in tables where !table.isVacuumed {
      found.append(
        .attention(
          "autovacuum", "Autovacuum leaves out the table \(table.name).", why: why,
          remedy: "ALTER TABLE \(schema).\(PostgresStatement.identifier(table.name)) RESET (autovacuum_enabled);"))
    }
    let due = tables.filter { $0.dead > $0.trigger }.map(\.name)
    if workers.busy >= workers.limit, !due.isEmpty {
      found.append(
        .attention(
          "autovacuum",
          "All \(workers.limit) workers of autovacuum are busy, and it is due for \(due.joined(separator: ", ")).",
          why: why,
          remedy:
            "Raise autovacuum_max_workers, and autovacuum_vacuum_cost_limit with it; look at what they are busy with."))
    }
    return found.isEmpty ? [.fine("autovacuum", "Autovacuum runs.")] : found
  }
}
#endif
