#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Connections that break at every byte: the reported outcome of the transaction must be true.
@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresLostAnswerTests {
  private static let insert = PostgresStatement("INSERT INTO t (id, filling) VALUES ($1, $2)")

  private func pipeline(_ id: Int, filling: Int = 0) -> PostgresPipeline {
    var pipeline = PostgresPipeline()
    pipeline.add(Self.insert) {
      $0.bind(id)
      $0.bind(Data(count: filling))
    }
    return pipeline
  }

  /// The reported outcome of each id, and the stored ids.
  private struct Outcome {
    var committed: Set<Int64> = []
    var failed: Set<Int64> = []
    var unknown: Set<Int64> = []
    var stored: Set<Int64> = []

    var isTrue: Bool { committed.isSubset(of: stored) && failed.isDisjoint(with: stored) }
  }

  private func cutEverywhere(_ side: PostgresProxy.Side, filling: Int = 0, every step: Int) async throws -> Outcome {
    let database = try await PostgresDatabase()
    let direct = try await database.connect()
    try direct.execute("CREATE TABLE t (id bigint PRIMARY KEY, filling bytea)")
    let proxy = try PostgresProxy(to: database.server.port)
    let count = try await {
      let connection = try await database.connect(port: proxy.port)
      proxy.letPass()
      try connection.run(pipeline(-1, filling: filling))
      return proxy.count(side)
    }()
    var outcome = Outcome()
    for place in Array(stride(from: 0, to: count, by: step)) + [count - 1, count] {
      proxy.letPass()
      let connection = try await database.connect(port: proxy.port)
      proxy.cut(side, after: place)
      let pipeline = pipeline(place, filling: filling)
      let error = await onWorker { postgresError { try connection.run(pipeline) } }
      switch error?.code {
      case nil: outcome.committed.insert(Int64(place))
      case .connectionLost: outcome.failed.insert(Int64(place))
      case .outcomeUnknown: outcome.unknown.insert(Int64(place))
      case let code?: Issue.record("\(code): \(String(describing: error))")
      }
      if error != nil { #expect(connection.isBroken) }
    }
    // The server may be about to commit what reached it.
    try await until(
      try direct.integer(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()") == 0)
    outcome.stored = Set(
      try direct.run(.reading, PostgresStatement("SELECT id FROM t WHERE id >= 0")).map { $0.integer(0) })
    return outcome
  }

  @Test func cut_atEachByteOfTheAnswer_isToldTruly() async throws {
    let outcome = try await cutEverywhere(.fromServer, every: 1)
    #expect(outcome.isTrue)
    #expect(!outcome.committed.isEmpty && !outcome.unknown.isEmpty)
    // Some of those that are unknown are stored: nothing less may be said.
    #expect(!outcome.unknown.isDisjoint(with: outcome.stored))
  }

  @Test func cut_atEachByteOfTheRequest_isToldTruly() async throws {
    let outcome = try await cutEverywhere(.fromClient, every: 1)
    #expect(outcome.isTrue)
    // The proxy cuts before any answer: where all of the request has passed it is stored.
    #expect(outcome.committed.isEmpty && !outcome.unknown.isDisjoint(with: outcome.stored))
  }

  @Test func cut_whileMuchIsSent_surelyCommittedNothing() async throws {
    let outcome = try await cutEverywhere(.fromClient, filling: 8_000_000, every: 500_000)
    #expect(outcome.isTrue)
    #expect(outcome.failed.contains(0) && outcome.failed.contains(500_000))
  }

  /// The connection breaks before the rest is written, or while it is.
  @Test(arguments: [true, false])
  func cut_whileTheRestWaitsToBeSent_surelyCommittedNothing(readsFirst: Bool) async throws {
    let database = try await PostgresDatabase()
    let direct = try await database.connect()
    try direct.execute("CREATE TABLE t (id bigint PRIMARY KEY, filling bytea)")
    let proxy = try PostgresProxy(to: database.server.port)
    let connection = try await database.connect(port: proxy.port)
    proxy.cut(.fromClient, after: 100_000, by: .holds)
    var exchange = PostgresExchange(pipeline(0, filling: 30_000_000), on: connection)
    // The system takes some of it; the rest waits for the proxy, which reads nothing more.
    var file = pollfd(fd: connection.descriptor, events: Int16(POLLOUT), revents: 0)
    repeat {
      try #require(exchange.advance(isReadable: false) == PostgresExchange.Wait(writes: true))
    } while poll(&file, 1, 0) == 1
    proxy.cutAll()
    await until(PostgresDeadline.isReadable(connection.descriptor))
    var wait = exchange.advance(isReadable: readsFirst)
    while wait != nil { wait = exchange.advance(isReadable: true) }
    guard case .failure(let error) = exchange.end else {
      Issue.record("It committed")
      return
    }
    #expect(error.code == .connectionLost)
    #expect(connection.isBroken)
    #expect(try direct.integer("SELECT count(*) FROM t") == 0)
  }

  @Test func terminated_betweenTransactions_committedNothing() async throws {
    let database = try await PostgresDatabase()
    let (connection, other) = (try await database.connect(), try await database.connect())
    try other.execute("CREATE TABLE t (id bigint PRIMARY KEY, filling bytea)")
    let process = connection.serverProcess
    _ = try other.integer("SELECT pg_terminate_backend(\(process))::int")
    try await until(try other.integer("SELECT count(*) FROM pg_stat_activity WHERE pid = \(process)") == 0)
    let error = postgresError { try connection.run(pipeline(1)) }
    // What the server said when it ended the session is there, or got lost because something was
    // sent to it afterwards.
    #expect(error?.code == .connectionLost || error?.code == .outcomeUnknown)
    #expect(try other.integer("SELECT count(*) FROM t") == 0)
  }

  @Test func terminated_beforeCommit_committedNothing() async throws {
    let database = try await PostgresDatabase()
    let (connection, other) = (try await database.connect(), try await database.connect())
    try other.execute("CREATE TABLE t (id bigint PRIMARY KEY, filling bytea)")
    var pipeline = pipeline(1)
    pipeline.add(PostgresStatement("SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(3000)"))
    let error = postgresError { try connection.run(pipeline) }
    #expect(error?.code == .connectionLost)
    #expect(error?.sqlState == "57P01")
    #expect(error?.place?.hasSuffix("/\(database.name)") == true)
    #expect(connection.isBroken)
    #expect(try other.integer("SELECT count(*) FROM t") == 0)
  }

  @Test func terminated_afterAnError_isToldTheError() async throws {
    let database = try await PostgresDatabase()
    let connection = try await database.connect()
    let proxy = try PostgresProxy(to: database.server.port)
    try connection.execute("CREATE TABLE t (id bigint PRIMARY KEY, filling bytea)")
    var failing = pipeline(1)
    failing.add(PostgresStatement("SELECT 1 / 0"))
    var codes: [PostgresError.Code?] = []
    for place in stride(from: 0, to: 400, by: 20) {
      proxy.letPass()
      let other = try await database.connect(port: proxy.port)
      proxy.cut(.fromServer, after: place)
      codes.append(postgresError { try other.run(failing) }?.code)
    }
    // Until the error is there the outcome is unknown; then it is certain.
    let first = codes.firstIndex(of: .statement) ?? 0
    #expect(first > 0)
    #expect(codes[..<first].allSatisfy { $0 == .outcomeUnknown } && codes[first...].allSatisfy { $0 == .statement })
    #expect(try connection.integer("SELECT count(*) FROM t") == 0)
  }

  @Test func lost_readingAlone_isNoUnknownOutcome() async throws {
    let database = try await PostgresDatabase()
    let proxy = try PostgresProxy(to: database.server.port)
    for boundary in [PostgresPipeline.Boundary.reading, .opening, .implicit] {
      proxy.letPass()
      let connection = try await database.connect(port: proxy.port)
      proxy.cut(.fromServer, after: 1)
      let error = postgresError { try connection.run(boundary, PostgresStatement("SELECT 1")) }
      #expect(error?.code == (boundary == .implicit ? .outcomeUnknown : .connectionLost))
    }
  }
}
#endif
