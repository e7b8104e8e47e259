#if os(macOS) || os(Linux)
import Foundation

extension PostgresSession {
  /// Runs `VACUUM`, which returns the free space at the ends of the tables. Other clients go on
  /// meanwhile.
  func compact(worker: Int64?, lease: Duration) throws -> Int {
    try requireOwner()
    let before = try size()
    // Its own connection: it takes long, and runs without the time limit of its session.
    let connection: PostgresConnection
    do { connection = try .connect(configuration) } catch { throw DatabaseError(error, place: store.place) }
    defer { connection.close() }
    try use(connection) { connection in
      if store.options.pooler == .none { try connection.run(.reading, PostgresStatement("SET statement_timeout = 0")) }
      for table in ["jobs", "dependencies", "checkpoints", "errors", "rounds", "workers", "occurrences"] {
        try store.refuseWhileSuspended()
        let vacuum = PostgresPipeline(.reading, PostgresStatement("VACUUM (ANALYZE) \(schema.text).\(table)"))
        try connection.run(vacuum, timeout: .seconds(24 * 3600))
      }
    }
    return max(before - (try size()), 0)
  }

  /// For other roles, the server skips the tables and reports a success.
  private func requireOwner() throws {
    let mayVacuum = try question(
      """
      SELECT pg_catalog.bool_and(pg_catalog.pg_has_role(c.relowner, 'USAGE')) OR pg_catalog.pg_has_role(
        (SELECT datdba FROM pg_catalog.pg_database WHERE datname = pg_catalog.current_database()), 'USAGE')
      FROM pg_catalog.pg_class AS c WHERE c.relnamespace = \(namespace)::regnamespace AND c.relkind = 'r'
      """
    ).first { $0.bool(0) }
    guard mayVacuum == true else {
      throw DatabaseError(
        .readOnly, engine: .postgres, message: "only the owner of the tables may vacuum them", path: store.place)
    }
  }

  /// The size of the tables, with their indexes.
  func size() throws -> Int {
    try question(
      """
      SELECT coalesce(pg_catalog.sum(pg_catalog.pg_total_relation_size(c.oid)), 0)::bigint FROM pg_catalog.pg_class AS c
      WHERE c.relnamespace = \(namespace)::regnamespace AND c.relkind = 'r'
      """
    ).first { Int($0.integer(0)) } ?? 0
  }

  /// The schema as a text.
  private var namespace: SQL { SQL(stringLiteral: PostgresStatement.quoted(schema.text)) }
}
#endif
