#if os(macOS) || os(Linux)
import Foundation

extension PostgresDoctor {
  /// Checks how the server would run the statements of a round, and whether the indexes that it
  /// needs exist.
  func plans() throws -> [Diagnosis] {
    let found = try indexes() + scans()
    return found.isEmpty ? [.fine("plans", "Claims and acknowledgements are run by indexes.")] : found
  }

  private static let remedy = """
    Compare the indexes with those that `durable-queue schema --print` makes, and make those that are missing, with CREATE INDEX \
    CONCURRENTLY; REINDEX INDEX CONCURRENTLY those that are not valid.
    """

  private func indexes() throws -> [Diagnosis] {
    try askOfSchema(
      """
      SELECT index.relname::text FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
      WHERE index.relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND NOT (indisvalid AND indisready)
      ORDER BY 1
      """
    ).map { row in
      .attention(
        "plans", "The index \(row.text(0) ?? "") is not valid.",
        why: "It is kept up to date, and not used: what it is for reads a whole table.", remedy: Self.remedy)
    }
  }

  private func scans() throws -> [Diagnosis] {
    var statements = PostgresPipeline(.reading)
    if let settings = store.settings(isGuest: false) { statements.add(settings) }
    var names: [Int: String] = [:]
    var claim = PostgresClaim(
      ClaimRequest(kinds: [(1, 10)], limit: 10, isOnline: true, mayRunAlone: true), in: store)
    claim.add(to: &statements, worker: 0)
    for position in statements.entries.indices { names[position] = "a claim" }
    for keepsDone in [false, true] {
      var ends = PostgresAcknowledgements([Self.end(.done), Self.end(.dead(""))], keepsDone: keepsDone, in: store)
      try ends.add(to: &statements)
    }
    let results = try connection.run(statements.explained(from: 1))
    let scanned = Set(
      results.enumerated().dropFirst().flatMap { position, plan in
        plan.map { $0.text(0) ?? "" }.compactMap { line in
          line.firstMatch(of: /Seq Scan on (\S+)/).map {
            "\(names[position] ?? "an acknowledgement") reads all of \($0.1)"
          }
        }
      })
    return scanned.sorted().map { scan in
      .attention(
        "plans", "\(scan.prefix(1).uppercased())\(scan.dropFirst()).",
        why: "It takes the longer the more jobs there are, and holds up every round.", remedy: Self.remedy)
    }
  }

  private static func end(_ result: Acknowledgement.Result) -> Acknowledgement {
    let id = JobID(rawValue: 0)
    return Acknowledgement(id: id, kind: "", claim: 0, attempt: 1, result: result, event: .done(id, kind: ""))
  }
}

extension PostgresPipeline {
  /// The same statements, which the server explains without running them.
  ///
  /// - Parameter first: the first statement to explain; those before it are run.
  func explained(from first: Int) -> PostgresPipeline {
    mapStatements { position, statement in
      position < first ? statement : PostgresStatement("EXPLAIN (COSTS OFF) \(statement.sql)")
    }
  }
}
#endif
