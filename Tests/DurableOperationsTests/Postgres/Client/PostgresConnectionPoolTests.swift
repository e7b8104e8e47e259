#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresConnectionPoolTests {
  private static let process = PostgresStatement("SELECT pg_backend_pid()", name: "process")
  private static let sleep = PostgresStatement("SELECT pg_sleep(3000)")

  private func pool(_ database: PostgresDatabase, _ maxConnections: Int) -> PostgresConnectionPool {
    PostgresConnectionPool(database.configuration(), maxConnections: maxConnections)
  }

  @Test func run_manyTasks_shareFewConnections() async throws {
    let database = try await PostgresDatabase()
    let (pool, gauge) = (pool(database, 3), ConcurrencyGauge())
    let processes = try await withThrowingTaskGroup(of: Int64.self) { group in
      for number in 0..<120 {
        group.addTask {
          if number % 2 == 0 {
            let results = try await pool.send(PostgresPipeline(.reading, Self.process))
            return results[0].row(0).integer(0)
          }
          return try await pool.run { connection in
            _ = gauge.enter()
            defer { gauge.leave() }
            return try connection.run(.reading, Self.process).row(0).integer(0)
          }
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect((1...3).contains(processes.count))
    #expect(gauge.maximum <= 3)
    #expect(pool.state.withLock { $0.lent } == 0)
  }

  @Test func sync_manyThreads_shareOneConnection() async throws {
    let database = try await PostgresDatabase()
    let pool = pool(database, 1)
    let processes = Locked<Set<Int64>>([])
    await onWorker {
      DispatchQueue.concurrentPerform(iterations: 40) { _ in
        let process = try? pool.sync { try $0.run(.reading, Self.process).row(0).integer(0) }
        processes.withLock { _ = $0.insert(process ?? 0) }
      }
    }
    #expect(processes.current.count == 1 && !processes.current.contains(0))
  }

  @Test func send_afterSync_andTheOtherWayRound_workOnOneConnection() async throws {
    let database = try await PostgresDatabase()
    let pool = pool(database, 1)
    for number in 0..<30 {
      let echo = PostgresStatement("SELECT $1", name: "echo")
      var pipeline = PostgresPipeline(.transaction)
      pipeline.add(echo) { $0.bind(number) }
      #expect(try await pool.send(pipeline)[0].row(0).integer(0) == Int64(number))
      let (result, text) = try await pool.run { [pipeline] in
        (try $0.run(pipeline)[0].row(0).integer(0), try $0.text("SELECT 'a'"))
      }
      #expect(result == Int64(number) && text == "a")
    }
  }

  @Test func send_errorInTheMiddle_leavesTheConnectionUsable() async throws {
    let database = try await PostgresDatabase()
    let pool = pool(database, 1)
    let first = try await pool.send(PostgresPipeline(.reading, Self.process))[0].row(0).integer(0)
    var pipeline = PostgresPipeline()
    pipeline.add(PostgresStatement("SELECT 1 / $1")) { $0.bind(0) }
    pipeline.add(Self.sleep)
    await #expect { try await pool.send(pipeline) } throws: { ($0 as? PostgresError)?.sqlState == "22012" }
    #expect(try await pool.send(PostgresPipeline(.reading, Self.process))[0].row(0).integer(0) == first)
  }

  @Test func send_deadlinePasses_replacesTheConnection() async throws {
    let database = try await PostgresDatabase()
    let pool = pool(database, 1)
    let first = try await pool.send(PostgresPipeline(.reading, Self.process))[0].row(0).integer(0)
    await #expect {
      try await pool.send(PostgresPipeline(.transaction, Self.sleep), timeout: .milliseconds(30))
    } throws: {
      ($0 as? PostgresError)?.code == .outcomeUnknown
    }
    #expect(try await pool.send(PostgresPipeline(.reading, Self.process))[0].row(0).integer(0) != first)
    let error = await onWorker {
      postgresError {
        try pool.sync { _ = try $0.run(PostgresPipeline(.opening, Self.sleep), timeout: .milliseconds(30)) }
      }
    }
    #expect(error?.code == .connectionLost)
    #expect(try await pool.run { try $0.integer("SELECT 1") } == 1)
  }

  /// Threads of tasks that wait for the connection in synchronous calls must not keep the one that
  /// has it from going on.
  @Test func run_whileTasksBlockAllThreads_goesOn() async throws {
    let database = try await PostgresDatabase()
    let pool = pool(database, 1)
    try await withThrowingTaskGroup(of: Int64?.self) { group in
      for number in 0..<40 {
        group.addTask {
          number % 4 == 0
            ? try await pool.run { try $0.integer("SELECT \(number)::bigint FROM pg_sleep(0.001)") }
            : try pool.sync { try $0.integer("SELECT \(number)::bigint FROM pg_sleep(0.001)") }
        }
      }
      var sum: Int64 = 0
      for try await number in group { sum += number ?? 0 }
      #expect(sum == (0..<40).reduce(0, +))
    }
  }

  /// What a cancelled task has to write is written.
  @Test func run_inACancelledTask_isDone() async throws {
    let database = try await PostgresDatabase()
    let pool = pool(database, 1)
    let cancelled = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await pool.run { try $0.integer("SELECT 1") }
    }
    #expect(try await cancelled.value == 1)
  }

  @Test func borrow_sessionsWereTerminated_takesNewOnes() async throws {
    let database = try await PostgresDatabase()
    let (pool, direct) = (pool(database, 4), try await database.connect())
    for _ in 0..<5 {
      let (begun, mayEnd) = (EventRecorder<Int>(), Gate())
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<4 {
          group.addTask {
            try await pool.run { connection in
              _ = try connection.integer("SELECT 1")
              begun.record(number)
              mayEnd.waitBlocking()
            }
          }
        }
        await begun.wait(forCount: 4)
        mayEnd.open()
        try await group.waitForAll()
      }
      #expect(pool.state.withLock { $0.idle.count } == 4)
      let others = "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
      _ = try direct.integer("SELECT count(pg_terminate_backend(pid)) \(others)")
      try await until(try direct.integer("SELECT count(*) \(others)") == 0)
      // None of them notices.
      #expect(try await pool.send(PostgresPipeline(.reading, Self.process))[0].count == 1)
      #expect(try await onWorker { Result { try pool.sync { try $0.integer("SELECT 3") } } }.get() == 3)
    }
  }

  @Test func giveBack_transactionLeftOpen_isRolledBack() async throws {
    let database = try await PostgresDatabase()
    let pool = pool(database, 1)
    try await pool.run { try $0.execute("CREATE TABLE t (id bigint)") }
    try await pool.run { try $0.run(PostgresPipeline(.opening, PostgresStatement("INSERT INTO t VALUES (1)"))) }
    #expect(try await pool.run { $0.transactionState } == .idle)
    #expect(try await pool.run { try $0.integer("SELECT count(*) FROM t") } == 0)
  }

  @Test func connect_fails_tellsThoseWhoWait() async throws {
    let refusing = try RefusingPort()
    let pool = PostgresConnectionPool(
      PostgresConfiguration(url: "postgresql://a@127.0.0.1:\(refusing.port)/b"), maxConnections: 2)
    for _ in 0..<2 {
      await withTaskGroup(of: PostgresError.Code?.self) { group in
        for number in 0..<6 {
          group.addTask {
            if number % 2 == 0 { return await onWorker { postgresError { try pool.sync { _ in } }?.code } }
            do {
              try await pool.run { _ in }
              return nil
            } catch {
              return (error as? PostgresError)?.code
            }
          }
        }
        for await code in group { #expect(code == .cannotConnect) }
      }
    }
  }

  @Test func server_stopsAndStarts_poolComesBack() async throws {
    let server = try await PostgresServer.own()
    let pool = PostgresConnectionPool(.patient(server.url()), maxConnections: 2)
    #expect(try await pool.run { try $0.integer("SELECT 1") } == 1)
    try await server.stop()
    await #expect { try await pool.run { try $0.integer("SELECT 1") } } throws: {
      ($0 as? PostgresError)?.code == .cannotConnect
    }
    try await server.start()
    // An attempt may be under way that began before.
    await until((try? await pool.run { try $0.integer("SELECT 1") }) == 1)
    for isImmediate in [true, false] {
      try await server.restart(immediate: isImmediate)
      #expect(try await pool.run { try $0.integer("SELECT 1") } == 1)
    }
  }

  @Test func close_endsSessions_andTellsThoseWhoWait() async throws {
    let database = try await PostgresDatabase()
    let (pool, direct) = (pool(database, 1), try await database.connect())
    let (hasBegun, mayEnd) = (Gate(), Gate())
    async let holder: Void = pool.run { _ in
      hasBegun.open()
      mayEnd.waitBlocking()
    }
    await hasBegun.wait()
    let waiting = Task { try await pool.run { try $0.integer("SELECT 1") } }
    await until(pool.state.withLock { $0.waiting.count } == 1)
    pool.close()
    await #expect { try await waiting.value } throws: { ($0 as? PostgresError)?.code == .cannotConnect }
    mayEnd.open()
    try await holder
    try await until(
      try direct.integer(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") == 0)
  }

  @Test func async_isCalledWithAConnection_orWithTheError() async throws {
    let database = try await PostgresDatabase()
    let pool = pool(database, 1)
    let reply = PostgresReply<Int64>()
    pool.async { result in reply.give(Result { try result.get().integer("SELECT 4") ?? 0 }) }
    #expect(try await reply.value() == 4)
    pool.close()
    let refusal = PostgresReply<Int64>()
    pool.async { result in refusal.give(result.map { _ in 0 }) }
    await #expect(throws: PostgresError.self) { try await refusal.value() }
  }
}
#endif
