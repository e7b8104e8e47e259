#if os(macOS) || os(Linux)
extension PostgresDoctor {
  private var migration: PostgresMigration { PostgresMigration(connection, schemaName, place: store.place) }

  private var printing: String {
    schemaName == PostgresOptions().schema
      ? "durable-queue schema --print" : "durable-queue schema --print --schema \(schemaName)"
  }

  /// Whether the schema has a table of a queue.
  func hasTables() throws -> Bool {
    try askOfSchema(
      "SELECT 1 FROM pg_class AS c WHERE relnamespace = \(namespace) AND relname = 'jobs' AND relkind = 'r'"
    ).count > 0
  }

  /// The schema of `$1`; nothing if there is none.
  private var namespace: String { "(SELECT oid FROM pg_namespace WHERE nspname = $1)" }

  func tables() throws -> [Diagnosis] {
    guard let version = try migration.storedVersion() else {
      return [
        .attention(
          "tables", "There are no tables of a queue in the schema \(schemaName).",
          why: "Nothing is stored there, and programs with migrates: false do not open it.",
          remedy: "Check the schema. Open it with a role that may make tables, or run what `\(printing)` prints.")
      ]
    }
    let known = migration.steps.count
    if version > known {
      return [
        .attention(
          "tables", "The tables are of version \(version), and this program knows up to \(known).",
          why: "Programs of this version do not open them.",
          remedy: "Update this program, and those that run the queue.")
      ]
    }
    if version < known {
      return [
        .attention(
          "tables", "The tables are of version \(version), and the newest is \(known).",
          why: "Programs with migrates: false, and this tool, do not open them.",
          remedy: "Open them with a role that may change tables.")
      ]
    }
    return [.fine("tables", "The tables are of version \(version), the newest.")]
  }

  /// Checks for rights that this role needs and lacks.
  func rights() throws -> [Diagnosis] {
    var missing = try askOfSchema(
      "SELECT 1 FROM pg_namespace WHERE nspname = $1 AND NOT pg_catalog.has_schema_privilege(oid, 'USAGE')"
    )
    .map { _ in "USAGE of the schema" }
    missing += try askOfSchema(
      """
      SELECT pg_catalog.string_agg(privilege, ', ' ORDER BY n), relname::text
      FROM pg_class CROSS JOIN pg_catalog.unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) WITH ORDINALITY AS wanted (privilege, n)
      WHERE relnamespace = \(namespace) AND relkind = 'r' AND (relname <> 'meta' OR privilege = 'SELECT')
        AND NOT pg_catalog.has_table_privilege(pg_class.oid, privilege)
      GROUP BY relname ORDER BY relname
      """
    ).map { "\($0.text(0) ?? "") of \($0.text(1) ?? "")" }
    missing += try askOfSchema(
      """
      SELECT proname::text FROM pg_proc
      WHERE pronamespace = \(namespace) AND NOT pg_catalog.has_function_privilege(oid, 'EXECUTE') ORDER BY proname
      """
    ).map { "EXECUTE of \($0.text(0) ?? "")" }
    let role = try ask("SELECT current_user::text").row(0).text(0) ?? ""
    guard missing.isEmpty else {
      return [
        .attention(
          "rights", "The role \(role) lacks rights: \(missing.joined(separator: "; ")).",
          why: "A queue of this role fails at what needs them.",
          remedy: PostgresMigration.grants(schema: schemaName, role: role).joined(separator: " "))
      ]
    }
    return [.fine("rights", "The role \(role) may do all that a queue does.")]
  }
}
#endif
