#if os(macOS) || os(Linux)
extension DurableQueue {
  /// Returns the SQL that makes the tables of a queue, for an administrator, with the rights that a
  /// role needs to use them.
  ///
  /// - Parameter role: the role that uses them; nil for a comment that says what any role needs.
  package static func schemaScript(schema: String, role: String?) -> String {
    let grants = PostgresMigration.grants(schema: schema, role: role ?? "app")
    return """
      -- The tables of a queue, for `PostgresOptions(migrates: false)`. Run as who is to own them:
      --   durable-queue schema --print | psql -v ON_ERROR_STOP=1 DATABASE
      \(PostgresMigration.script(schema: schema))
      \(role == nil ? "-- What a role needs that uses them:\n" : "")\
      \(grants.map { role == nil ? "-- \($0)" : $0 }.joined(separator: "\n"))

      """
  }
}

extension PostgresMigration {
  /// The SQL that makes the tables, all of it or nothing.
  static func script(schema name: String) -> String {
    let schema = SQL(stringLiteral: PostgresStatement.identifier(name))
    let steps = PostgresSchema.migrations(schema)
    return """
      BEGIN;
      SET LOCAL search_path = \(PostgresStore.searchPath);
      CREATE SCHEMA IF NOT EXISTS \(schema.text);
      CREATE TABLE \(schema.text).meta (key text PRIMARY KEY, value text NOT NULL);
      \(steps.joined(separator: "\n"))
      INSERT INTO \(schema.text).meta (key, value) VALUES ('schema', '\(steps.count)');
      COMMIT;
      """
  }

  /// The rights of a role that uses the tables, and may make none.
  static func grants(schema: String, role: String) -> [String] {
    let (schema, role) = (PostgresStatement.identifier(schema), PostgresStatement.identifier(role))
    return [
      "GRANT USAGE ON SCHEMA \(schema) TO \(role);",
      "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(schema) TO \(role);",
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA \(schema) TO \(role);",
    ]
  }
}
#endif
