#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30)), .enabled(if: PostgresServer.isAvailable)) struct PostgresCompactTests {
  @Test func compact_byAnotherRoleThanTheOwner_isRefused() async throws {
    let server = try await PostgresServer.shared
    let schema = "compact\(server.uniqueNumber())"
    let options = PostgresOptions(schema: schema, statementTimeout: .seconds(1200))
    let queue = try DurableQueue(location: .postgres(server.url(), options))
    try await queue.enqueue(Count(number: 1))
    try server.query(
      """
      CREATE ROLE \(schema) LOGIN; GRANT USAGE ON SCHEMA \(schema) TO \(schema);
      GRANT SELECT ON ALL TABLES IN SCHEMA \(schema) TO \(schema)
      """)
    let guest = try DurableQueue(location: .existingPostgres(server.url(role: schema), options))
    await #expect {
      try await guest.compact()
    } throws: { error in
      (error as? DatabaseError)?.code == .readOnly
        && "\(error)".contains("only the owner of the tables may vacuum them")
    }
    #expect(try await queue.compact() >= 0)
  }

  /// It is another's next.
  @Test(.enabled(if: PgBouncer.isAvailable, "\(PgBouncer.missing)"))
  func compact_behindAPooler_leavesTheSessionAsItWas() async throws {
    let server = try await PostgresServer.shared
    let database = try await server.makeDatabase()
    try server.query("ALTER DATABASE \(database) SET statement_timeout = '1777s'")
    let pooler = try await PgBouncer(to: server, sessions: 1)
    let options = PostgresOptions(pooler: .transaction, listens: .no, statementTimeout: .seconds(1200))
    let queue = try DurableQueue(location: .postgres(pooler.url(database), options))
    try await queue.enqueue(Count(number: 1))
    #expect(try await queue.compact() >= 0)
    #expect(try await queue.jobs().count == 1)
    var configuration = PostgresConfiguration(url: pooler.url(database))
    configuration.isPooled = true
    let other = try PostgresConnection.connect(configuration)
    #expect(try other.text("SHOW statement_timeout") == "1777s")
  }
}
#endif
