#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension DurableQueue {
  /// Makes a statement that stores a job when another client, such as PostgresNIO, runs it in a
  /// transaction of its own.
  ///
  /// ```swift
  /// let statement = try queue.enqueueStatement(for: JobRequest(SendReceipt(order: 7)))
  /// var binds = PostgresBindings()
  /// for value in statement.values { binds.append(value) }
  /// try await client.withTransaction(logger: logger) { connection in
  ///   try await connection.query("INSERT INTO orders (id) VALUES (7)", logger: logger)
  ///   try await connection.query(PostgresQuery(unsafeSQL: statement.sql, binds: binds), logger: logger)
  /// }
  /// ```
  ///
  /// This call does not contact the server and does not block. The server reports errors when you
  /// run the statement: SQLSTATE 23505 for a unique key that is taken, 0A000 for a unique key in a
  /// transaction that is not READ COMMITTED, 22023 for a prerequisite that does not exist or waits
  /// for this job. The transaction has then failed, as after each error of PostgreSQL. No event
  /// reports that the job was enqueued; a process claims it at its next look.
  ///
  /// Until the transaction ends, the statement locks the prerequisites of the job, its unique key,
  /// and a job that it replaces: keep the transaction short. Register the kind first. Otherwise the
  /// transaction stores the kind, and other clients that need it for the first time wait.
  ///
  /// - Returns: the text of the statement, with `$1`, `$2` and `$3`, and the values for these, in
  ///   this order. Bind each as a text. The result of the statement is one row with one column: the
  ///   number of the job, a `bigint`.
  /// - Throws: ``DatabaseError/Code/needsServer`` for a queue in a file; ``JobError`` if the job
  ///   cannot be stored as it is, or names a prerequisite by its position in a call.
  public func enqueueStatement(for request: JobRequest) throws -> (sql: String, values: [String]) {
    let schema: String
    switch location {
    case .postgres(_, let options), .existingPostgres(_, let options): schema = options.schema
    case .memory, .file, .existingFile, .readOnlyFile:
      throw DatabaseError(
        .needsServer, message: "enqueueStatement is for other clients of one", path: core.database.place)
    }
    let request = try core.checked([request])[0]
    return (
      sql: "SELECT \(PostgresStatement.identifier(schema)).enqueue($1::text, $2::text::json, $3::text::jsonb)",
      values: [
        request.kind, String(decoding: try request.payload, as: UTF8.self),
        try PeriodicRow.storedForm(of: SQLJobOptions(request)),
      ]
    )
  }
}

/// The options of a job as the function of the server takes them. Nil values are left out, except
/// for the number of attempts.
private struct SQLJobOptions: Encodable {
  private let version: Int
  private let options: JobOptions

  init(_ request: JobRequest) throws {
    version = request.version
    options = request.options
    // The statement belongs to no call, so a position means nothing.
    if let position = options.dependsOn.first(where: { $0.position != nil }) {
      throw JobError(.unknownPrerequisite(position), kind: request.kind)
    }
  }

  private enum Key: String, CodingKey {
    case version, major, minor, runAfter, runAt, maxAttempts, timeout, requiresNetwork, uniqueKey, uniqueKeyStates,
      whenTaken,
      dependsOn, whenPrerequisiteFails, holdsAfterLastAttempt, startsHeld, backoff
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: Key.self)
    try container.encode(version, forKey: .version)
    try container.encode(options.priority.major, forKey: .major)
    try container.encode(options.priority.minor, forKey: .minor)
    switch options.start {
    case .atOnce: break
    case .after(let delay): try container.encode(Self.seconds(max(delay, .zero)), forKey: .runAfter)
    case .at(let date): try container.encode(RFC3339.text(of: date), forKey: .runAt)
    }
    try container.encode(options.maxAttempts, forKey: .maxAttempts)
    try container.encodeIfPresent(options.timeout.map(Self.seconds), forKey: .timeout)
    try container.encode(options.requiresNetwork, forKey: .requiresNetwork)
    if let key = options.uniqueKey {
      try container.encode(key.value, forKey: .uniqueKey)
      try container.encode(key.states.map(\.description).sorted(), forKey: .uniqueKeyStates)
      try container.encode(key.conflict, forKey: .whenTaken)
    }
    if !options.dependsOn.isEmpty { try container.encode(options.dependsOn.map(\.rawValue), forKey: .dependsOn) }
    try container.encode(options.whenPrerequisiteFails.name, forKey: .whenPrerequisiteFails)
    try container.encode(options.holdsAfterLastAttempt, forKey: .holdsAfterLastAttempt)
    try container.encode(options.startsHeld, forKey: .startsHeld)
    try container.encodeIfPresent(options.backoff?.storedForm, forKey: .backoff)
  }

  /// In whole milliseconds, as they are stored.
  private static func seconds(_ duration: Duration) -> Decimal {
    Decimal(sign: .plus, exponent: -3, significand: Decimal(duration.milliseconds))
  }
}

extension PrerequisiteFailure {
  fileprivate var name: String {
    switch value {
    case .wait: "wait"
    case .cancel: "cancel"
    case .die: "die"
    case .run: "run"
    }
  }
}
#endif
