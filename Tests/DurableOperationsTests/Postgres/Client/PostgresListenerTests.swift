#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresListenerTests {
  /// The channels of one database are no other's.
  private static let channel = "It's a \"channel\""

  private func listener(
    _ database: PostgresDatabase, port: UInt16? = nil, _ events: EventRecorder<String>
  ) async throws -> PostgresListener {
    let configuration = database.configuration(port: port)
    return try await onWorker {
      Result {
        try PostgresListener(
          configuration, channel: Self.channel,
          handlers: .init(heard: { events.record($0) }, lost: { events.record("lost: \($0.code)") }))
      }
    }.get()
  }

  private func notifying(_ text: String) throws -> PostgresPipeline {
    try PostgresPipeline(.implicit, PostgresStatement("SELECT pg_notify($1, $2)", name: "notify")) {
      parameters throws(PostgresError) in
      try parameters.bind(Self.channel)
      try parameters.bind(text)
    }
  }

  @Test func notify_byOthers_isHeardInOrder() async throws {
    let (database, events) = (try await PostgresDatabase(), EventRecorder<String>())
    let listener = try await listener(database, events)
    let other = try await database.connect()
    for text in ["1", "", "3 🧵"] { try other.run(try notifying(text)) }
    await events.wait(forCount: 3)
    #expect(events.events == ["1", "", "3 🧵"])
    listener.close()
  }

  @Test func notify_byItself_isIgnored() async throws {
    let (database, events) = (try await PostgresDatabase(), EventRecorder<String>())
    let listener = try await listener(database, events)
    let other = try await database.connect()
    for number in 0..<20 {
      let reply = PostgresReply<[PostgresResult]>()
      listener.send(try notifying("own")) { result in reply.give(result.mapError { $0 }) }
      // Comes while an answer is waited for, too.
      try other.run(try notifying("\(number)"))
      _ = try await reply.value()
    }
    await events.wait(for: "19")
    #expect(events.events == (0..<20).map(String.init))
    listener.close()
  }

  @Test func send_atOnce_areAnsweredInOrder() async throws {
    let (database, events, answers) = (try await PostgresDatabase(), EventRecorder<String>(), EventRecorder<String>())
    let listener = try await listener(database, events)
    for number in 0..<30 {
      let pipeline = PostgresPipeline(.reading, PostgresStatement("SELECT \(number % 10 == 9 ? "1 / 0" : "\(number)")"))
      listener.send(pipeline) { result in
        switch result {
        case .success(let results): answers.record("\(results[0].row(0).integer(0))")
        case .failure(let error): answers.record("\(error.code)")
        }
      }
    }
    await answers.wait(forCount: 30)
    #expect(answers.events == (0..<30).map { $0 % 10 == 9 ? "statement" : "\($0)" })
    #expect(events.events.isEmpty)
    listener.close()
  }

  @Test func terminated_isToldOnce() async throws {
    let (database, events) = (try await PostgresDatabase(), EventRecorder<String>())
    let listener = try await listener(database, events)
    let other = try await database.connect()
    try other.run(try notifying("before"))
    await events.wait(for: "before")
    _ = try other.integer("SELECT pg_terminate_backend(\(listener.serverProcess))::int")
    await events.wait(for: "lost: connectionLost")
    let reply = PostgresReply<[PostgresResult]>()
    listener.send(try notifying("after")) { result in reply.give(result.mapError { $0 }) }
    await #expect { try await reply.value() } throws: { ($0 as? PostgresError)?.code == .connectionLost }
    listener.close()
    #expect(events.events == ["before", "lost: connectionLost"])
  }

  @Test func cut_whileAnswerIsAwaited_isToldToBoth() async throws {
    let (database, events) = (try await PostgresDatabase(), EventRecorder<String>())
    let proxy = try PostgresProxy(to: database.server.port)
    let listener = try await listener(database, port: proxy.port, events)
    proxy.cut(.fromServer, after: 1)
    let reply = PostgresReply<[PostgresResult]>()
    listener.send(try notifying("own")) { result in reply.give(result.mapError { $0 }) }
    await #expect { try await reply.value() } throws: { ($0 as? PostgresError)?.code == .outcomeUnknown }
    await events.wait(for: "lost: connectionLost")
    #expect(events.events.count == 1)
    listener.close()
  }

  @Test func close_endsTheSession_andTellsNothing() async throws {
    let (database, events) = (try await PostgresDatabase(), EventRecorder<String>())
    let other = try await database.connect()
    for isClosed in [true, false] {
      var listener: PostgresListener? = try await listener(database, events)
      let process = try #require(listener).serverProcess
      // One that is let go of ends, too.
      if isClosed { listener?.close() }
      listener = nil
      try await until(try other.integer("SELECT count(*) FROM pg_stat_activity WHERE pid = \(process)") == 0)
    }
    #expect(events.events.isEmpty)
  }

  @Test func release_listener_leavesNothing() async throws {
    let (database, events) = (try await PostgresDatabase(), EventRecorder<String>())
    weak var released: PostgresListener?
    do {
      let listener = try await listener(database, events)
      released = listener
      try await database.connect().run(try notifying("1"))
      await events.wait(for: "1")
      listener.close()
    }
    await until(released == nil)
  }
}
#endif
