#if os(macOS) || os(Linux)
/// A statement, with `$1`, `$2`, … for its values.
struct PostgresStatement: Sendable {
  /// The form in which its rows arrive.
  enum Form: Sendable {
    /// As the server keeps them: no number is printed or parsed.
    case binary
    /// As text, for columns whose types are not known in advance.
    case text
  }

  /// The name under which each connection prepares it once. Nil for a statement that is parsed each
  /// time: it is rare, or its plan must not be kept.
  let name: String?
  let sql: String
  let form: Form

  /// - Parameter name: unique among the statements of the process; two of one name must be the
  ///   same, including the types of their values.
  init(_ sql: String, name: String? = nil, form: Form = .binary) {
    self.name = name
    self.sql = sql
    self.form = form
  }

  static let begin = PostgresStatement(
    "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE", name: "composite_operations_begin")
  static let commit = PostgresStatement("COMMIT", name: "composite_operations_commit")
  static let rollback = PostgresStatement("ROLLBACK")

  /// A statement that changes settings until the transaction ends, as several `SET LOCAL` do.
  static func settingLocally(_ settings: [(name: String, value: String)], name: String? = nil) -> PostgresStatement {
    setting(settings, isLocal: true, name: name)
  }

  static func setting(
    _ settings: [(name: String, value: String)], isLocal: Bool, name: String? = nil
  ) -> PostgresStatement {
    let calls = settings.map { "pg_catalog.set_config(\(quoted($0.name)), \(quoted($0.value)), \(isLocal))" }
    return PostgresStatement("SELECT \(calls.joined(separator: ", "))", name: name)
  }

  /// A text as a constant of SQL, whatever the settings for backslashes.
  static func quoted(_ text: String) -> String {
    let doubled = text.replacing("'", with: "''")
    return doubled.contains("\\") ? "E'\(doubled.replacing("\\", with: "\\\\"))'" : "'\(doubled)'"
  }

  /// A name as an identifier of SQL.
  static func identifier(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
}
#endif
