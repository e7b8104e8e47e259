#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// A pooler that gives each transaction another session: nothing may be kept in one.
@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresPoolerTests {
  private func queue(
    _ schema: TestSchema, port: UInt16? = nil, maxConnections: Int = 4,
    _ change: (inout DurableQueue.Configuration) -> Void = { _ in }
  ) async throws -> DurableQueue {
    var options = schema.options(pooler: .transaction)
    options.maxConnections = maxConnections
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = .milliseconds(20)
    configuration.busyTimeout = .seconds(600)
    configuration.retention = .forever
    // None takes over jobs of another, however busy the machine is.
    configuration.leaseDuration = .seconds(1200)
    change(&configuration)
    return try await schema.queue(options, port: port, configuration)
  }

  /// All that a queue does, and what it keeps in the session that it uses.
  private func work(_ queue: DurableQueue, _ schema: TestSchema) async throws {
    let effects = "INSERT INTO \(PostgresStatement.identifier(schema.name)).effects VALUES (?)"
    try await queue.register(Count.self) { job, context async throws in
      if job.number == 1, context.attempt == 1 { throw TestFailure() }
      if job.number == 2 {
        if context.checkpoint == nil {
          try await context.checkpoint(Data("half".utf8))
          throw TestFailure()
        }
        try await context.complete { db in try db.execute(effects, .integer(2)) }
      }
      if job.number == 3 { try await context.heartbeat() }
    }
    queue.start()
    let first = try await queue.enqueue(Count(number: 1), options: JobOptions(backoff: .noDelay))
    try await queue.enqueue(Count(number: 2), options: JobOptions(backoff: .noDelay, dependsOn: [first]))
    try await queue.transaction { db in
      try db.execute(effects, .integer(0))
      try db.enqueue(Count(number: 3), options: JobOptions(start: .after(.milliseconds(1)), uniqueKey: UniqueKey("k")))
    }
    try await queue.schedule(Count(number: 4), named: "often", .interval(.milliseconds(20)))
    try await until(try await queue.counts()[.done] >= 5)
    try await queue.unschedule(named: "often")
    let held = try await queue.enqueue(Count(number: 5), options: JobOptions(startsHeld: true))
    try await queue.cancel(held)
    try await queue.retry(held)
    try await queue.waitUntilIdle()
    await queue.stop()
  }

  /// What a session keeps: prepared statements, settings, channels and advisory locks.
  private static let kept = PostgresStatement(
    """
    SELECT 'statement ' || name FROM pg_prepared_statements WHERE name <> ''
    UNION ALL SELECT name || ' = ' || setting FROM pg_settings WHERE source = 'session'
    UNION ALL SELECT 'listens to ' || channel FROM pg_listening_channels() AS channel
    UNION ALL SELECT 'advisory lock' FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()
    UNION ALL SELECT 'the table ' || relname FROM pg_class WHERE relpersistence = 't'
    ORDER BY 1
    """)

  private static func kept(_ connection: PostgresConnection) throws -> [String] {
    try connection.run(.reading, kept).map { $0.text(0) ?? "" }
  }

  @Test func withoutAPooler_keepsNothingInItsSessions() async throws {
    let schema = try await TestSchema()
    let queue = try await queue(schema, maxConnections: 2)
    let store = try #require(queue.core.database as? PostgresAccess).store
    try await schema.inspection().execute("CREATE TABLE effects (number bigint NOT NULL)")
    try await work(queue, schema)
    let kept = try await onWorker {
      Result { try [store.rounds, store.callers].map { try $0.sync { (try Self.kept($0), $0.preparedNames.count) } } }
    }.get()
    for (kept, names) in kept { #expect(kept == [] && names == 0) }
  }

  /// The server gives up first, so that this is not taken for a lost connection.
  @Test func anotherProgramMigrates_forLongerThanAStatementMayTake_isBusy() async throws {
    let schema = try await TestSchema()
    // The session of another program that is at it.
    let other = try await schema.inspection()
    let lock = PostgresStatement.quoted("durable migrations \(schema.name)")
    try other.execute("SELECT pg_advisory_lock(hashtextextended(\(lock), 0))")
    // The server has a tenth of it to say so: on a busy machine that may take longer.
    var code: DatabaseError.Code?
    for seconds in [2, 30, 300] where code != .busy {
      let options = schema.options(statementTimeout: .seconds(seconds), pooler: .transaction)
      do {
        _ = try await schema.queue(options, DurableQueue.Configuration())
        Issue.record("It did not wait")
      } catch let error as DatabaseError {
        code = error.code
      }
    }
    #expect(code == .busy)
    #expect(try !other.isMade())
  }

  @Test(.enabled(if: PgBouncer.isAvailable, "\(PgBouncer.missing)"))
  func behindPgBouncer_keepsNothingInTheSessionThatAllShare() async throws {
    let schema = try await TestSchema()
    // A single one: it is seen whole.
    let pooler = try await PgBouncer(to: schema.server, sessions: 1)
    var configuration = PostgresConfiguration(url: schema.url(port: pooler.port))
    configuration.isPooled = true
    configuration.statementTimeout = .seconds(1200)
    let before = try await onWorker { [configuration] in
      Result { try Self.kept(PostgresConnection.connect(configuration)) }
    }.get()
    let queue = try await queue(schema, port: pooler.port, maxConnections: 3)
    try await schema.inspection().execute("CREATE TABLE effects (number bigint NOT NULL)")
    try await work(queue, schema)
    let after = try await onWorker { [configuration] in
      Result { try Self.kept(PostgresConnection.connect(configuration)) }
    }.get()
    #expect(after == before)
    let inspection = try await schema.inspection()
    #expect(try inspection.problems() == [])
    #expect(try inspection.numbers("SELECT number FROM effects ORDER BY 1") == [0, 2])
    #expect(try inspection.count(in: .done) == Int(inspection.number("SELECT count(*) FROM jobs")))
  }

  @Test(.enabled(if: PgBouncer.isAvailable, "\(PgBouncer.missing)"))
  func behindPgBouncer_moreQueuesThanSessions_shareTheWork_alsoWhenItIsRestarted() async throws {
    let schema = try await TestSchema()
    let pooler = try await PgBouncer(to: schema.server, sessions: 3)
    var queues: [DurableQueue] = []
    let runs = Locked<[Int: Int]>([:])
    for _ in 0..<4 {
      let queue = try await queue(schema, port: pooler.port) { $0.maxConcurrentOperationCount = 2 }
      try await queue.register(Count.self) { job, _ async throws in runs.withLock { $0[job.number, default: 0] += 1 } }
      queue.start()
      queues.append(queue)
    }
    for round in 0..<4 {
      let numbers = (0..<50).map { round * 50 + $0 }
      var turns = Turns()
      while true {
        // One that was restarted is not there at once.
        do {
          try await queues[round].transaction { db in
            for number in numbers {
              try db.enqueue(
                Count(number: number),
                options: JobOptions(uniqueKey: UniqueKey("\(number)", by: Set(JobState.allCases))))
            }
          }
          break
        } catch let error as JobError where error.code == .duplicate {
          break
        } catch is DatabaseError {
          await turns.next()
        }
      }
      try pooler.restart()
    }
    let inspection = try await schema.inspection()
    try await inspection.wait { try $0.count(in: .done) == 200 }
    for queue in queues { await queue.stop() }
    #expect(runs.withLock { $0.count == 200 && $0.values.allSatisfy { $0 == 1 } })
    #expect(try inspection.problems() == [])
  }
}
#endif
