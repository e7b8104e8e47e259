#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Nothing that another role has made runs with the rights of the queue's role.
@Suite(.needsPostgres, .timeLimit(.minutes(30))) struct HostileSchemaTests {
  /// The server's own names come last, or, as usual, first: then a trap has to fit better.
  static let paths = ["public, pg_catalog, durable", "durable, public"]

  @Test(arguments: paths) func statementsOfTheStore_amongTraps_springNone(_ path: String) async throws {
    let schema = try await HostileSchema(path: path)
    let harness = try StoreHarness(on: .postgres, at: schema.location)
    try StoreTour(harness).run()
    // What follows a lost answer, and what is asked of old snapshots.
    try harness.session { session in
      let (session, access) = (
        try #require(session as? PostgresSession), try #require(harness.access as? PostgresAccess)
      )
      _ = session.oldestSnapshot()
      try session.endSession(holding: harness.worker, openFor: .seconds(600))
      let id = try harness.enqueue()
      access.store.numbers.withLock { $0.lost([StoreHarness.acknowledgement(of: id)]) }
      try session.settleRounds()
    }
    #expect(try schema.sprung() == "0")
  }

  @Test(arguments: paths) func queue_amongTraps_doesAllItsWork_andSpringsNone(_ path: String) async throws {
    let schema = try await HostileSchema(path: path)
    var configuration = DurableQueue.Configuration()
    configuration.busyTimeout = .seconds(600)
    configuration.retention = .forever
    let location = schema.location, settings = configuration
    let queue = try await onWorker {
      Result { try DurableQueue(location: location, configuration: settings) }
    }.get()
    try await queue.register(Count.self) { job, context in
      try await context.checkpoint(Data([1]))
      try await context.heartbeat()
      guard job.number > 0 else { throw TestFailure() }
      try await context.complete { db in
        // With a key and a prerequisite, and without.
        let first = try db.enqueue(Send(text: "first"))
        try db.enqueue(
          Send(text: "then"), options: JobOptions(uniqueKey: UniqueKey("then \(job.number)"), dependsOn: [first]))
      }
    }
    try await queue.register(Send.self) { _, _ in BlockOperation {} }
    try await queue.transaction { db in
      try db.execute("CREATE TABLE durable.orders (id bigint)")
      try db.execute("INSERT INTO durable.orders VALUES (?)", 7)
      try db.enqueue(Count(number: 1))
      try db.enqueue(Count(number: 2))
      try db.enqueue(Count(number: 3))
    }
    try await queue.enqueue(Count(number: 0), options: JobOptions(maxAttempts: 1))
    try await queue.enqueue(contentsOf: [Send(text: "a"), Send(text: "b")])
    for _ in 0..<2 {
      try await queue.enqueue(
        Send(text: "c"),
        options: JobOptions(start: .after(.seconds(3600)), uniqueKey: UniqueKey("c", whenTaken: .replace)))
    }
    try await queue.schedule(Send(text: "often"), named: "often", .interval(.seconds(3600)))
    queue.start()
    try await until(try await queue.counts()[.done] == 11)
    try await until(try await queue.counts()[.dead] == 1)
    #expect(try await queue.retryAll(.dead) == 1)
    try await until(try await queue.counts()[.dead] == 1)
    await queue.stop()
    try manage(queue)
    #expect(try schema.sprung() == "0")
    try schema.grant()
    for role in [schema.owner, schema.user] {
      let place = DurableQueue.Location.existingPostgres(schema.server.url(schema.database, role: role), schema.options)
      let found = try DurableQueue.diagnose(place, limits: DurableQueue.DiagnosisLimits(), now: { Date() })
      #expect(found.filter { $0.finding.contains("could not be seen") }.map(\.finding) == [])
      #expect(found.contains { $0.subject == "autovacuum" })
    }
    #expect(try schema.sprung() == "0")
  }

  /// What managers ask for.
  private func manage(_ queue: DurableQueue) throws {
    let ids = try queue.enqueue(contentsOf: (0..<4).map { _ in Send(text: "left") })
    try queue.setPriority(.low, of: ids[0])
    try queue.setPriority(.low, kind: "send")
    try queue.hold(ids[0])
    try queue.retry(ids[0])
    try queue.cancel(ids[1])
    try queue.delete(ids[1])
    try queue.pause(kind: "send")
    try queue.resume(kind: "send")
    try queue.limit(kind: "send", to: 2)
    #expect(try queue.jobs(kind: "send", in: [.waiting, .scheduled]).count == 4)
    #expect(try queue.jobs(Send.self, uniqueKey: "c").count == 1)
    #expect(try queue.job(ids[0])?.state == .waiting)
    #expect(try queue.workers().count == 0)
    #expect(try queue.periodicJobs().count == 1)
    #expect(try queue.unschedule(named: "often"))
    #expect(try queue.export { _ in } > 0)
    #expect(try queue.storedSize() > 0)
    #expect(try queue.compact() >= 0)
    #expect(try queue.deleteUnstarted(kind: "send") == 4)
    #expect(try queue.deleteAll(in: [.done, .dead]) == 12)
  }

  @Test(arguments: paths) func enqueueBySQL_byTheOwnerAndByAnotherRole_springsNoTrap(_ path: String) async throws {
    let schema = try await HostileSchema(path: path)
    let location = schema.location
    let queue = try await onWorker { Result { try DurableQueue(location: location) } }.get()
    try schema.grant()
    let first = try await queue.enqueue(Count(number: 1))
    let options = """
      {"version": 2, "major": 3, "minor": 4, "runAfter": 3600, "maxAttempts": 2, "timeout": 1.5, "requiresNetwork": true, \
      "uniqueKey": "key", "uniqueKeyStates": ["waiting", "scheduled", "blocked"], "whenTaken": "replace", \
      "dependsOn": [\(first.rawValue)], "whenPrerequisiteFails": "die", "holdsAfterLastAttempt": true}
      """
    for role in [schema.owner, schema.user] {
      _ = try schema.query("SELECT durable.enqueue('mail', '{}')", as: role, path: path)
      for _ in 0..<2 {
        _ = try schema.query("SELECT durable.enqueue('mail', '{}', '\(options)')", as: role, path: path)
      }
      _ = try schema.query(
        "SELECT durable.enqueue('mail', '{}', '{\"runAt\": \"2030-01-01T00:00:00Z\", \"startsHeld\": true}')", as: role,
        path: path)
    }
    #expect(try await queue.counts().total == 6)
    #expect(try schema.sprung() == "0")
  }

  @Test(arguments: paths) func printedSchema_amongTraps_springsNone_andSecuresEachFunction(_ path: String) async throws
  {
    let schema = try await HostileSchema(path: path)
    let script = DurableQueue.schemaScript(schema: "durable", role: schema.user)
    _ = try schema.query(script, as: schema.owner, path: path)
    _ = try schema.query(
      "SELECT durable.enqueue('mail', '{}', '{\"uniqueKey\": \"key\"}')", as: schema.user, path: path)
    #expect(try schema.sprung() == "0")
    let unsafe = try schema.query(
      """
      SELECT proname FROM pg_proc WHERE pronamespace = 'durable'::regnamespace
        AND NOT coalesce('search_path=pg_catalog, pg_temp' = ANY(proconfig), false)
      """, as: schema.owner, path: "pg_catalog")
    #expect(unsafe == "")
  }

  /// A name without a schema is looked up in the schemas of the session.
  @Test func functionsInStatements_haveTheirSchemas() throws {
    let harness = try StoreHarness(on: .postgres)
    try StoreTour(harness).run()
    let access = try #require(harness.access as? PostgresAccess)
    let statements = access.store.madeStatements.map(\.sql)
    #expect(statements.count > 60)
    for sql in statements + [PostgresMigration.script(schema: "durable")] {
      let calls = sql.matches(of: /(?:^|[^\w."])([a-z_]\w*)\(/).map { String($0.1) }
      #expect(Set(calls).subtracting(["coalesce", "extract", "greatest", "least", "nullif"]) == [], "\(sql)")
    }
  }
}
#endif
