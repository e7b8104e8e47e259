#if os(macOS) || os(Linux)
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// The descriptors and threads that the client uses, in a process that does nothing else.
@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresResourceTests {
  @Test func connectionsAndListeners_comeAndGo_leaveNoDescriptor() async throws {
    let database = try await PostgresDatabase()
    await #expect(processExitsWith: .success) { [url = database.server.url(database.name) as String] in
      let configuration = PostgresConfiguration.patient(url)
      func round() async throws {
        let pool = PostgresConnectionPool(configuration, maxConnections: 3)
        let heard = EventRecorder<String>()
        let listener = try PostgresListener(
          configuration, channel: "c", handlers: .init(heard: { heard.record($0) }, lost: { _ in }))
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<12 {
            group.addTask {
              let sql = number % 5 == 4 ? "SELECT 1 / 0" : "NOTIFY c"
              _ = try? await pool.send(PostgresPipeline(.implicit, PostgresStatement(sql)))
              _ = try? await pool.run { try $0.integer("SELECT 1") }
            }
          }
          try await group.waitForAll()
        }
        _ = try? await pool.send(
          PostgresPipeline(.reading, PostgresStatement("SELECT pg_sleep(3000)")), timeout: .milliseconds(20))
        await heard.wait(forCount: 1)
        // One that is closed, one that is let go of; one attempt that fails.
        listener.close()
        pool.close()
        _ = try? PostgresConnection.connect(PostgresConfiguration(url: url.replacing("host=/tmp", with: "host=/none")))
      }
      try await round()
      func descriptors() -> Int { (0..<1024).count { fcntl(Int32($0), F_GETFD) >= 0 } }
      let before = descriptors()
      for _ in 0..<10 { try await round() }
      // Sources end on their queues.
      await until(descriptors() <= before + 1)
    }
  }

  #if os(Linux)
  @Test func send_manyTasks_needNoThreadEach() async throws {
    let database = try await PostgresDatabase()
    await #expect(processExitsWith: .success) { [url = database.server.url(database.name) as String] in
      let configuration = PostgresConfiguration.patient(url)
      let pool = PostgresConnectionPool(configuration, maxConnections: 40)
      func threads() -> Int { (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0 }
      let most = try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<200 {
          group.addTask {
            try await pool.send(PostgresPipeline(.reading, PostgresStatement("SELECT pg_advisory_xact_lock_shared(1)")))
          }
        }
        // All of them wait for this one, with 39 connections.
        let holder = try PostgresConnection.connect(configuration)
        _ = try holder.integer("SELECT 1 FROM pg_advisory_lock(1)")
        for _ in 0..<100 {
          group.addTask {
            try await pool.send(PostgresPipeline(.reading, PostgresStatement("SELECT pg_advisory_xact_lock_shared(1)")))
          }
        }
        let waiting = """
          SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'advisory'
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
          """
        await until((try? holder.integer(waiting)) == 40)
        let most = threads()
        holder.close()
        try await group.waitForAll()
        return most
      }
      // Those of Dispatch and of tasks, some for each core, but none for each connection.
      guard most < 23 + ProcessInfo.processInfo.activeProcessorCount else { exit(1) }
    }
  }
  #endif
}
#endif
