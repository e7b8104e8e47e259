#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// The SQL that makes the tables, run by an administrator.
@Suite(.timeLimit(.minutes(30)), .enabled(if: PostgresServer.isAvailable)) struct SchemaTests {
  /// A queue of a role that may make nothing.
  private func queue(of role: String, _ server: PostgresServer, schema: String) throws -> DurableQueue {
    var configuration = DurableQueue.Configuration()
    configuration.retention = .forever
    return try DurableQueue(
      location: .postgres(
        server.url(role: role), PostgresOptions(schema: schema, statementTimeout: .seconds(1200), migrates: false)),
      configuration: configuration)
  }

  private func expectToWork(_ queue: DurableQueue) async throws {
    let ran = Locked<[String]>([])
    try await queue.register(Mail.self) { (mail, context) async throws in
      try await context.checkpoint(Data("half".utf8))
      ran.withLock { $0.append(mail.to) }
      if mail.to == "dead" { throw Refusal() }
    }
    let first = try await queue.enqueue(Mail(to: "first"), options: JobOptions(uniqueKey: UniqueKey("ada")))
    let second = try await queue.enqueue(Mail(to: "second"), options: JobOptions(dependsOn: [first]))
    let dead = try await queue.enqueue(Mail(to: "dead"), options: JobOptions(maxAttempts: 1))
    try await queue.schedule(Mail(to: "all"), named: "nightly", .interval(.seconds(3600)))
    try await queue.pause(kind: "resize")
    queue.start()
    _ = try await queue.waitUntilSettled(second)
    _ = try await queue.waitUntilSettled(dead)
    await queue.stop()
    #expect(ran.current.sorted() == ["dead", "first", "second"])
    #expect(try await queue.job(second)?.state == .done)
    #expect(try await queue.job(dead)?.failures.count == 1)
    try await queue.delete(dead)
    #expect(try await queue.workers().isEmpty)
  }

  @Test func script_makesTheTables_forARoleThatMayMakeNone() async throws {
    let server = try await PostgresServer.shared
    // A name that must be quoted.
    let (schema, role) = ("The \"jobs\" \(server.uniqueNumber())", "app \(server.uniqueNumber())")
    try server.query("CREATE ROLE \"\(role)\" LOGIN")
    let ran = tool("schema", "--print", "--schema", schema, "--role", role)
    #expect(ran.status == 0 && ran.errors == "")
    try server.query(ran.output)
    let url = role.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    try await expectToWork(try queue(of: url, server, schema: schema))
    let mayMake = try server.query(
      "SELECT has_schema_privilege('\(role)', oid, 'CREATE') FROM pg_namespace WHERE nspname = '\(schema)'")
    #expect(mayMake == "f")
  }

  @Test func scriptWithoutARole_saysInAComment_whatOneNeeds() async throws {
    let server = try await PostgresServer.shared
    let number = server.uniqueNumber()
    let (schema, role) = ("script\(number)", "app\(number)")
    try server.query("CREATE ROLE \(role) LOGIN")
    let ran = tool("schema", "--print", "--schema", schema)
    try server.query(ran.output)
    #expect(throws: DatabaseError.self) { try queue(of: role, server, schema: schema) }
    let grants = ran.lines.filter { $0.hasPrefix("-- GRANT ") }
    #expect(grants.count == 3)
    try server.query(grants.map { $0.dropFirst(3).replacing("\"app\"", with: role) }.joined(separator: "\n"))
    try await expectToWork(try queue(of: role, server, schema: schema))
  }

  @Test func script_isThatOfTheTablesThatAQueueMakes() async throws {
    let server = try await PostgresServer.shared
    func definition(_ schema: String) throws -> String {
      try server.query(
        """
        SELECT table_name, column_name, data_type, column_default, is_nullable FROM information_schema.columns
          WHERE table_schema = '\(schema)' ORDER BY 1, 2;
        SELECT indexdef FROM pg_indexes WHERE schemaname = '\(schema)' ORDER BY 1;
        SELECT proname, pg_get_function_arguments(oid), prosrc FROM pg_proc
          WHERE pronamespace = '\(schema)'::regnamespace ORDER BY 1;
        SELECT value FROM \(schema).meta WHERE key = 'schema'
        """
      ).replacing(schema, with: "SCHEMA")
    }
    let (made, printed) = ("made\(server.uniqueNumber())", "printed\(server.uniqueNumber())")
    let options = PostgresOptions(schema: made, statementTimeout: .seconds(1200))
    _ = try DurableQueue(location: .postgres(server.url(), options))
    try server.query(tool("schema", "--print", "--schema", printed).output)
    #expect(try definition(printed) == definition(made))
  }
}
#endif
