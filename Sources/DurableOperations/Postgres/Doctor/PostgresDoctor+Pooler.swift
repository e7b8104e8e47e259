#if os(macOS) || os(Linux)
extension PostgresDoctor {
  /// Checks for a pooler that shares sessions of the server. A session is told its server process
  /// when it begins, and each of its transactions can ask for it. While another session has a
  /// transaction open, such a pooler gives this one another process.
  func pooler() throws -> [Diagnosis] {
    let (first, second) = (try another(), try another())
    defer {
      first.close()
      second.close()
    }
    var processes = [try process(of: first)]
    do {
      processes.append(
        try second.transaction { second in
          _ = try process(of: second)
          return try process(of: first, within: limits.poolerPatience)
        })
    } catch let error as PostgresError where first.isBroken {
      return [
        .unknown(
          "pooler", "A session was not served while another one had a transaction open (\(error.message)).",
          why: "A pooler with a single session lets all processes of a queue wait for each other.",
          remedy: "Look whether a pooler stands before the server, and how large its pool is.")
      ]
    }
    return [Self.pooler(processes, told: Int64(first.serverProcess))]
  }

  private func another() throws -> PostgresConnection {
    var configuration = connection.configuration
    configuration.statementTimeout = .seconds(5)
    return try PostgresConnection.connect(configuration)
  }

  private func process(of connection: PostgresConnection, within patience: Duration? = nil) throws -> Int64 {
    let boundary: PostgresPipeline.Boundary = connection.transactionState == .idle ? .reading : .inside
    let pipeline = PostgresPipeline(boundary, PostgresStatement("SELECT pg_catalog.pg_backend_pid()::bigint"))
    return try connection.run(pipeline, timeout: patience)[0].row(0).integer(0)
  }

  /// - Parameters:
  ///   - processes: the server processes that have served the transactions of a session.
  ///   - told: the server process that the session was told.
  static func pooler(_ processes: [Int64], told: Int64) -> Diagnosis {
    if Set(processes).count > 1 {
      return .attention(
        "pooler", "A pooler stands before the server, and gives each transaction another session.",
        why: "Prepared statements and settings of a queue become those of others, and LISTEN hears nothing.",
        remedy: """
          In programs, PostgresOptions(pooler: .transaction, listens: .at(a URL that leads to the server itself)). Or give \
          the location that URL.
          """)
    }
    if processes != [told, told] {
      return .unknown(
        "pooler", "A pooler stands before the server. It has kept the session.",
        why:
          "Where it gives transactions other sessions, as PgBouncer with pool_mode = transaction, a queue has to know.",
        remedy: "Look at its settings; if it does that, PostgresOptions(pooler: .transaction).")
    }
    return .fine("pooler", "No pooler stands before the server.")
  }
}
#endif
