#if os(macOS) || os(Linux)
import CompositeOperations

/// How a queue uses a PostgreSQL server. Processes on one schema may differ in everything but the
/// schema.
public struct PostgresOptions: Sendable, Hashable {
  /// What stands between the queue and the server.
  public struct Pooler: Sendable, Hashable {
    /// Nothing, or a pooler that keeps one session for each connection.
    public static let none = Pooler(value: .none)
    /// A pooler that may give each transaction another session, such as PgBouncer with `pool_mode =
    /// transaction`. The queue then prepares no statements, sets nothing for a session, and hears
    /// of the jobs of other processes only with ``Listens/at(_:)``.
    public static let transaction = Pooler(value: .transaction)

    enum Value { case none, transaction }

    let value: Value
  }

  /// Whether the queue hears at once of what other processes enqueue.
  public struct Listens: Sendable, Hashable {
    /// Yes: by `LISTEN`, on a connection of its own. Not behind a pooler.
    public static let yes = Listens(value: .yes)
    /// No: the queue sees new jobs when it polls. See ``DurableQueue/Configuration/pollInterval``.
    public static let no = Listens(value: .no)
    /// Yes: by `LISTEN` at another URL, which leads to the server itself.
    public static func at(_ url: String) -> Listens { Listens(value: .at(url)) }

    enum Value: Hashable {
      case yes
      case no
      case at(String)
    }

    let value: Value
  }

  package var schema: String
  package var maxConnections: Int
  package var pooler: Pooler
  package var listens: Listens
  package var statementTimeout: Duration
  package var migrates: Bool

  /// Makes options.
  ///
  /// - Parameters:
  ///   - schema: the schema of the tables, 1 to 63 bytes without control characters and `$$`. The
  ///     queue makes it if it does not exist.
  ///   - maxConnections: the maximum number of connections, at least 1. One connection is for
  ///     running jobs and for `enqueue` with `await`; the rest serve all other calls. The queue
  ///     opens one more to listen, and one more for a moment when it is opened or suspended and
  ///     when a transaction enqueues the first job of a kind. With a single connection, your
  ///     transactions keep the queue from claiming jobs.
  ///   - pooler: what stands between the queue and the server.
  ///   - listens: whether the queue hears at once of what other processes enqueue.
  ///   - statementTimeout: the time limit of a statement and of the wait for its answer.
  ///   - migrates: whether the queue makes its tables and migrates them. Pass false for a role that
  ///     may not: the tables must then exist. `durable-queue schema --print` prints the SQL that an
  ///     administrator runs.
  public init(
    schema: String = "durable", maxConnections: Int = 4, pooler: Pooler = .none, listens: Listens = .yes,
    statementTimeout: Duration = .seconds(10), migrates: Bool = true
  ) {
    self.schema = schema
    self.maxConnections = maxConnections
    self.pooler = pooler
    self.listens = listens
    self.statementTimeout = statementTimeout
    self.migrates = migrates
  }

  func check() {
    // The text of the functions stands between `$$`, and is cut at the ends of lines. The server
    // sees bytes: a character may be a `$` and an accent.
    let isPlain = schema.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    require(
      isPlain && !schema.isEmpty && schema.utf8.count <= 63 && !schema.utf8.contains("$$".utf8),
      "PostgresOptions.schema is “\(HarmlessText.line(schema))”, which has \(schema.utf8.count) bytes. "
        + "Use a name of 1 to 63 bytes, without control characters and $$.")
    require(maxConnections >= 1, "PostgresOptions.maxConnections is \(maxConnections). Use 1 or more.")
    require(
      statementTimeout > .zero, "PostgresOptions.statementTimeout is \(statementTimeout). Use a positive duration.")
  }
}
#endif
