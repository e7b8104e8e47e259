#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresPipelineTests {
  private static let insert = PostgresStatement("INSERT INTO t (id) VALUES ($1)", name: "insert")
  private static let select = PostgresStatement("SELECT id FROM t ORDER BY id", name: "select")

  private func connection() async throws -> PostgresConnection {
    let connection = try await PostgresDatabase().connect()
    try connection.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
    return connection
  }

  private func inserting(_ ids: Int..., boundary: PostgresPipeline.Boundary = .transaction) -> PostgresPipeline {
    var pipeline = PostgresPipeline(boundary)
    for id in ids { pipeline.add(Self.insert) { $0.bind(id) } }
    return pipeline
  }

  private func ids(_ connection: PostgresConnection) throws -> [Int64] {
    try connection.run(.reading, Self.select).map { $0.integer(0) }
  }

  @Test func run_severalStatements_givesResultsInOrder() async throws {
    let connection = try await connection()
    var pipeline = inserting(1, 2)
    #expect(pipeline.add(Self.select) == 2)
    let results = try connection.run(pipeline)
    #expect(results.count == 3)
    #expect(results[0].changes == 1 && results[0].command == "INSERT 0 1")
    #expect(results[2].map { $0.integer(0) } == [1, 2])
    #expect(results[2].columnNames == ["id"])
    #expect(connection.transactionState == .idle)
  }

  @Test func run_again_preparesNothingTwice() async throws {
    let connection = try await connection()
    for id in 1...3 { try connection.run(inserting(id)) }
    #expect(connection.preparedNames.contains("insert"))
    #expect(try connection.integer("SELECT count(*) FROM pg_prepared_statements WHERE name = 'insert'") == 1)
  }

  @Test func run_behindPooler_preparesNoName() async throws {
    let database = try await PostgresDatabase()
    var configuration = database.configuration()
    configuration.isPooled = true
    let connection = try PostgresConnection.connect(configuration)
    try connection.execute("CREATE TABLE t (id bigint PRIMARY KEY)")
    try connection.run(inserting(1, 2))
    #expect(connection.preparedNames.isEmpty)
    #expect(try connection.integer("SELECT count(*) FROM pg_prepared_statements") == 0)
    #expect(try ids(connection) == [1, 2])
  }

  @Test func run_errorInTheMiddle_abortsTheRest() async throws {
    let connection = try await connection()
    let error = postgresError { try connection.run(inserting(1, 2, 1, 3)) }
    #expect(error?.code == .constraint)
    #expect(error?.sqlState == "23505")
    #expect(error?.sql == Self.insert.sql)
    #expect(error?.message.contains("t_pkey") == true)
    #expect(error?.details?.contains("(id)=(1)") == true)
    #expect(connection.transactionState == .idle && !connection.isBroken)
    try connection.run(inserting(4))
    #expect(try ids(connection) == [4])
  }

  @Test func run_preparationFails_namesItsStatement() async throws {
    let connection = try await connection()
    let wrong = PostgresStatement("SELECT nothing FROM t", name: "wrong")
    var pipeline = inserting(1)
    pipeline.add(wrong)
    let later = PostgresStatement("SELECT 1", name: "later")
    pipeline.add(later)
    let error = postgresError { try connection.run(pipeline) }
    #expect(error?.code == .statement && error?.sql == wrong.sql)
    #expect(connection.preparedNames.isDisjoint(with: ["wrong", "later"]))
    // What was not prepared is, the next time.
    #expect(try connection.run(.reading, later).first { $0.integer(0) } == 1)
    #expect(try ids(connection) == [])
  }

  @Test func run_deferredConstraint_failsAtCommit() async throws {
    let connection = try await connection()
    try connection.execute("CREATE TABLE child (id bigint REFERENCES t DEFERRABLE INITIALLY DEFERRED)")
    let pipeline = PostgresPipeline(.transaction, PostgresStatement("INSERT INTO child VALUES (9)"))
    #expect(postgresError { try connection.run(pipeline) }?.code == .constraint)
    #expect(try connection.integer("SELECT count(*) FROM child") == 0)
  }

  @Test func run_statementEndsTransaction_isToldSo() async throws {
    let connection = try await connection()
    var pipeline = inserting(1)
    pipeline.add(PostgresStatement("ROLLBACK"))
    pipeline.add(PostgresStatement("BEGIN"))
    pipeline.add(PostgresStatement("ROLLBACK"))
    // The server has a warning for a COMMIT outside of a transaction, and says nothing else.
    _ = try? connection.run(pipeline)
    #expect(connection.transactionState == .idle)
    #expect(try ids(connection) == [])
  }

  @Test func run_settingsOfTheTransaction_endWithIt() async throws {
    let connection = try await connection()
    let show = PostgresStatement("SELECT current_setting('enable_seqscan') || current_setting('lock_timeout')")
    var pipeline = PostgresPipeline()
    pipeline.add(.settingLocally([("enable_seqscan", "off"), ("lock_timeout", "3s")]))
    pipeline.add(show)
    #expect(try connection.run(pipeline)[1].first { $0.text(0) } == "off3s")
    #expect(try connection.run(.reading, show).first { $0.text(0) } == "on0")
  }

  @Test func run_inTwoParts_isOneTransaction() async throws {
    let (connection, other) = (try await connection(), Locked<[Int64]>([]))
    try connection.run(inserting(1, boundary: .opening))
    #expect(connection.transactionState == .inTransaction)
    other.withLock { $0 = (try? ids(connection)) ?? [] }
    #expect(other.current == [1])
    try connection.run(inserting(2, boundary: .closing))
    #expect(connection.transactionState == .idle)
    #expect(try ids(connection) == [1, 2])
  }

  @Test func transaction_closureThrows_isRolledBack() async throws {
    let connection = try await connection()
    #expect(throws: TestError.self) {
      try connection.transaction { connection in
        try connection.run(inserting(1, boundary: .inside))
        throw TestError("in the closure")
      }
    }
    try connection.transaction(settings: .settingLocally([("lock_timeout", "1s")])) {
      try $0.run(inserting(2, boundary: .inside))
    }
    #expect(try ids(connection) == [2])
  }

  @Test func transaction_statementFails_goesOnFromItsSavepoint() async throws {
    let connection = try await connection()
    try connection.transaction { connection in
      try connection.run(inserting(1, boundary: .inside))
      try connection.run(.inside, PostgresStatement("SAVEPOINT s"))
      #expect(postgresError { try connection.run(inserting(1, boundary: .inside)) }?.code == .constraint)
      #expect(connection.transactionState == .failed)
      try connection.run(.inside, PostgresStatement("ROLLBACK TO s"))
      try connection.run(inserting(2, boundary: .inside))
    }
    #expect(try ids(connection) == [1, 2])
  }

  @Test func run_deadlinePasses_breaksTheConnection() async throws {
    let connection = try await connection()
    var pipeline = inserting(1, boundary: .opening)
    pipeline.add(PostgresStatement("SELECT pg_sleep(3000)"))
    let error = postgresError { try connection.run(pipeline, timeout: .milliseconds(30)) }
    // COMMIT was not sent.
    #expect(error?.code == .connectionLost)
    #expect(error?.message.contains("did not answer within 0.03 seconds") == true)
    #expect(connection.isBroken)
    #expect(postgresError { try connection.run(inserting(2)) }?.code == .connectionLost)
  }

  @Test func run_deadlinePassesAfterCommit_saysThatItIsUnknown() async throws {
    let connection = try await connection()
    let pipeline = PostgresPipeline(.transaction, PostgresStatement("SELECT pg_sleep(3000)"))
    #expect(postgresError { try connection.run(pipeline, timeout: .milliseconds(30)) }?.code == .outcomeUnknown)
  }

  @Test func run_copy_isRefused() async throws {
    let connection = try await connection()
    let error = postgresError { try connection.run(.implicit, PostgresStatement("COPY t TO STDOUT")) }
    #expect(error != nil)
  }

  @Test func run_noticesOfTheServer_areSwallowed() async throws {
    let connection = try await connection()
    try connection.execute("DROP TABLE IF EXISTS nothing", "DO $$ BEGIN RAISE WARNING 'unheard'; END $$")
    #expect(connection.isAlive())
  }

  @Test func isAlive_sessionWasTerminated_isFalse() async throws {
    let database = try await PostgresDatabase()
    let (connection, other) = (try await database.connect(), try await database.connect())
    #expect(connection.isAlive())
    #expect(try other.integer("SELECT pg_terminate_backend(\(connection.serverProcess))::int") == 1)
    await until(!connection.isAlive())
    #expect(connection.isBroken)
  }

  @Test func run_valuesBeyondTheBuffersOfTheSocket_arriveBothWays() async throws {
    let connection = try await connection()
    try connection.execute("CREATE TABLE big (id bigint, d bytea)")
    let data = Data((0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    var pipeline = PostgresPipeline()
    // Each answers with what it got, so that both sides send at once.
    for id in 0..<4 {
      pipeline.add(PostgresStatement("INSERT INTO big VALUES ($1, $2) RETURNING d")) {
        $0.bind(id)
        $0.bind(data)
      }
    }
    let results = try connection.run(pipeline)
    #expect(results.allSatisfy { $0.first { $0.data(0) } == data })
    let socket = connection.socket
    let asynchronous = try await withCheckedThrowingContinuation { continuation in
      socket.run(pipeline, on: connection, timeout: .seconds(1200)) { continuation.resume(with: $0) }
    }
    #expect(asynchronous.allSatisfy { $0.first { $0.data(0) } == data })
    #expect(try connection.integer("SELECT sum(length(d))::bigint FROM big") == 24_000_000)
  }

  @Test func close_whileSeveralPipelinesWait_endsAllOfThem() async throws {
    let database = try await PostgresDatabase()
    let connection = try await database.connect()
    let (socket, process) = (connection.socket, connection.serverProcess)
    let ended = EventRecorder<PostgresError.Code?>()
    let pipeline = PostgresPipeline(.reading, PostgresStatement("SELECT pg_sleep(3600)"))
    for _ in 0..<3 {
      socket.run(pipeline, on: connection, timeout: .seconds(1200)) { result in
        ended.record(postgresError { _ = try result.get() }?.code)
      }
    }
    // As a listener does.
    socket.queue.async { connection.close() }
    await ended.wait(forCount: 3)
    #expect(ended.events == [.connectionLost, .connectionLost, .connectionLost])
    try database.server.query("SELECT pg_terminate_backend(\(process))")
  }
}
#endif
