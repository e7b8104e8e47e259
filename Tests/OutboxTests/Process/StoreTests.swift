#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import Outbox

/// Messages on a PostgreSQL server.
@Suite(.timeLimit(.minutes(30)), .enabled(if: PostgresServer.isAvailable)) struct StoreTests {
  private static let verbs = [
    ["enqueue", "letters"], ["digest"], ["status"], ["run", "--server", "http://127.0.0.1:9"],
  ]

  /// A URL that says the password of the role that has one.
  private func guardedURL(of server: PostgresServer, password: String = PostgresServer.password) -> String {
    let encoded = password.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return server.url(role: "\(PostgresServer.guardedRole):\(encoded)")
  }

  private func expectNoPassword(_ result: Program.Result) {
    for line in result.lines + [result.errors] { #expect(!line.contains("sesame"), "\(result)") }
  }

  @Test(arguments: verbs.dropFirst()) func schemaWithoutMessages_isTold_andIsNotMade(_ verb: [String]) async throws {
    let folder = try TemporaryFolder()
    let place = try await Engine.postgres.place(in: folder)
    let result = try await Program(verb, at: place, in: folder).result()
    #expect(result.status == 1 && result.lines.isEmpty, "\(result)")
    let server = try await PostgresServer.shared
    let schema = try #require(place.options.last)
    #expect(
      result.errors
        == "Outbox: There are no messages in \(server.folder):\(server.port)/postgres, schema \(schema) (it has no tables "
        + "of a queue in the schema \(schema)). Store some first: Outbox enqueue FOLDER\(place.advice)\n")
    #expect(try server.query("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'") == "0")
    #expect(try folder.list().allSatisfy { $0.contains("pipe-") })
  }

  @Test func digestOfNoMessages_namesTheServerInItsAdvice() async throws {
    let folder = try TemporaryFolder(["letters/.hidden": ""])
    let place = try await Engine.postgres.place(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    let result = try await Program.run("digest", at: place, in: folder)
    #expect(result.status == 1)
    let schema = try #require(place.options.last)
    #expect(
      result.errors == "Outbox: There are no messages in the schema \(schema) of the server. Store some: "
        + "Outbox enqueue FOLDER\(place.advice)\n")
  }

  @Test(arguments: verbs) func serverThatIsNotThere_isTold(_ verb: [String]) async throws {
    let folder = try TemporaryFolder.withLetters(1)
    let port = try RefusingPort()
    let result = try await Program(
      verb + ["--store", "postgresql://app:sesame@127.0.0.1:\(port.port)/shop"], in: folder
    ).result()
    #expect(result.status == 1 && result.lines.isEmpty)
    #expect(
      result.errors.hasPrefix("Outbox: There is no connection to the database 127.0.0.1:\(port.port)/shop ("),
      "\(result)")
    #expect(result.errors.contains("Check the address, the role and its password, and that the server runs."))
    expectNoPassword(result)
  }

  @Test func password_isUsed_andNeverShown() async throws {
    let folder = try TemporaryFolder.withLetters(2)
    let server = try await PostgresServer.shared
    let schema = "outbox\(server.uniqueNumber())"
    // The role may make nothing in the database, so it gets a schema.
    try server.query("CREATE SCHEMA \(schema) AUTHORIZATION \(PostgresServer.guardedRole)")
    let options = ["--store", guardedURL(of: server), "--schema", schema]
    for verb in Self.verbs.dropLast() {
      let result = try await Program(verb + options, in: folder).result()
      #expect(result.status == 0 && result.errors == "", "\(result)")
      expectNoPassword(result)
    }
    // No server listens: the messages are sent again and again, until the program should end.
    let run = try Program(["run", "--server", "http://127.0.0.1:9"] + options, in: folder)
    await run.wait(forLines: 1, with: "will be sent again")
    run.send(SIGTERM)
    let sent = try await run.result()
    #expect(
      sent.status == 0 && sent.lines.first == "2 messages and 1 digest to be sent to http://127.0.0.1:9", "\(sent)")
    expectNoPassword(sent)
    let refused = guardedURL(of: server, password: "close sesame")
    for verb in Self.verbs {
      let result = try await Program(verb + ["--store", refused, "--schema", schema], in: folder).result()
      #expect(result.status == 1 && result.errors.contains("password authentication failed"), "\(result)")
      expectNoPassword(result)
    }
  }

  @Test func runsAtTheSameTime_shareTheMessages_andSendNoneTwice() async throws {
    let folder = try TemporaryFolder.withLetters(60)
    let place = try await Engine.postgres.place(in: folder)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    let arguments = ["run", "--server", server.url, "--pace", "0.1"]
    let runs = try (0..<3).map { _ in try Program(arguments, at: place, in: folder) }
    var sent: [String] = []
    for run in runs {
      let result = try await run.result()
      #expect(result.status == 0 && result.errors == "", "\(result)")
      // Each ends when all messages are sent, by any process.
      #expect(result.lines.contains("60 messages: 60 sent."))
      sent += result.lines.filter { $0.hasSuffix("  sent") }
    }
    #expect(sent.count == 60 && Set(sent).count == 60)
    #expect(try await server.stop().lines.last == "60 messages arrived, 0 came again.")
  }

  @Test func serverThatIsStartedAnew_isWaitedFor() async throws {
    let folder = try TemporaryFolder.withLetters(5)
    let postgres = try await PostgresServer.own()
    let options = ["--store", postgres.url()]
    #expect(try await Program(["enqueue", "letters"] + options, in: folder).result().status == 0)
    try await withServer { server in
      let gate = Gate()
      server.route("/messages", HTTPAnswer.ok(#"{"id":"","isDuplicate":false}"#).held(by: gate))
      let run = try Program(["run", "--server", server.url("").description, "--width", "2"] + options, in: folder)
      await server.requests.wait(forCount: 2)
      try await postgres.stop()
      // Running messages end while that cannot be stored.
      gate.open()
      await run.wait(forLines: 2, with: "  sent")
      try await postgres.start()
      let result = try await run.result()
      #expect(result.status == 0, "\(result)")
      #expect(result.lines.contains("5 messages: 5 sent."))
      // Nothing is sent twice because of it.
      #expect(server.requests.events.count { $0.method == "POST" } == 5)
    }
  }

  @Test func serverThatGoesWhileAllIsPutOff_isWaitedFor() async throws {
    let folder = try TemporaryFolder.withLetters(2)
    let postgres = try await PostgresServer.own()
    let options = ["--store", postgres.url()]
    #expect(try await Program(["enqueue", "letters"] + options, in: folder).result().status == 0)
    try await withServer { server in
      server.route("/messages", HTTPAnswer.retryLater(status: 503, after: "3600"))
      let run = try Program(["run", "--server", server.url("").description] + options, in: folder)
      await run.wait(forLines: 2, with: "put off")
      // Several times: it looks once a second whether there is more to do, and some look must meet
      // an outage.
      for round in 1...3 {
        try await postgres.stop()
        await run.wait(forComplaints: round)
        try await postgres.start()
        await run.wait(forLines: round, with: "What the messages are stored on works again.")
      }
      run.send(SIGTERM)
      let result = try await run.result()
      #expect(result.status == 0, "\(result)")
      #expect(result.lines.suffix(2) == ["2 messages: 2 scheduled.", "Run it again to go on."])
    }
  }
}
#endif
