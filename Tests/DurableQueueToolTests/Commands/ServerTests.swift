#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// Commands about a queue on a server.
@Suite(.timeLimit(.minutes(30)), .enabled(if: PostgresServer.isAvailable)) struct ServerTests {
  @Test func commandsThatLook_showWhatIsThere() async throws {
    let sample = try await ServerSample()
    let queue = try sample.queue()
    let id = try await queue.enqueue(Mail(to: "ada"))
    try await queue.schedule(Mail(to: "all"), named: "weekly", .interval(.seconds(3600)))
    let list = sample.run("list")
    #expect(list.status == 0 && list.output.contains("mail") && list.output.contains("waiting"), "\(list)")
    #expect(sample.run("show", "\(id)").output.contains(#"{"to":"ada"}"#))
    #expect(sample.run("export").lines.count == 1)
    #expect(sample.run("periodic").output.contains("weekly"))
    let dryRun = sample.run("delete-unstarted", "--all", "--dry-run")
    #expect(dryRun.output.hasSuffix("1 job would be deleted.\n"), "\(dryRun)")
    #expect(try await queue.jobs().count == 1)
  }

  @Test func stats_tellTheServer_andTheSizeOfTheTables() async throws {
    let sample = try await ServerSample()
    try await sample.queue().enqueue(Mail(to: "ada"))
    let ran = sample.run("stats")
    let place = "\(sample.server.folder):\(sample.server.port)/postgres"
    #expect(ran.output.hasPrefix("\(place), schema \(sample.schema)  "), "\(ran)")
    let json = try #require(try sample.run("stats", "--json").json() as? [String: Any])
    #expect(json["server"] as? String == place && json["schema"] as? String == sample.schema && json["file"] == nil)
    let size = try sample.server.query(
      """
      SELECT sum(pg_total_relation_size(oid)) FROM pg_class
      WHERE relkind = 'r' AND relnamespace = '\(sample.schema)'::regnamespace
      """)
    #expect(json["bytes"] as? Int == Int(size))
    #expect(json["total"] as? Int == 1)
  }

  @Test func commandsThatChange_changeIt() async throws {
    let sample = try await ServerSample()
    let queue = try sample.queue()
    let ids = try await queue.enqueue(contentsOf: (0..<4).map { Mail(to: "\($0)") })
    #expect(sample.run("hold", "\(ids[0])").status == 0)
    #expect(try await queue.job(ids[0])?.state == .held)
    #expect(sample.run("retry", "--all-held").output == "1 job will run again.\n")
    #expect(sample.run("cancel", "\(ids[1])").status == 0)
    #expect(try await queue.job(ids[1])?.state == .cancelled)
    #expect(sample.run("priority", "--kind", "mail", "20").output == "3 jobs have the priority 20 now.\n")
    #expect(sample.run("pause", "mail").status == 0)
    #expect(try await queue.counts()["mail"]?.isPaused == true)
    #expect(sample.run("resume", "mail").status == 0)
    #expect(sample.run("delete", "\(ids[1])").status == 0)
    #expect(sample.run("delete-unstarted", "--kind", "mail", "--yes").output == "3 jobs were deleted.\n")
    #expect(try await queue.jobs().isEmpty)
    let compact = sample.run("compact")
    #expect(compact.status == 0 && compact.output.contains(" given back, "), "\(compact)")
    #expect(try sample.run("compact", "--json").json() is [String: Any])
  }

  @Test(.enabled(if: PgBouncer.isAvailable, "\(PgBouncer.missing)")) func commandsBehindAPooler_doTheSame() async throws
  {
    let sample = try await ServerSample()
    let pooler = try await PgBouncer(to: sample.server, sessions: 2)
    let queue = try sample.queue()
    let id = try await queue.enqueue(Mail(to: "ada"))
    // More than there are sessions, so that each meets what others have left.
    for _ in 0..<3 {
      for (verb, rest) in [("hold", "\(id)"), ("show", "\(id)"), ("retry", "\(id)")] {
        let ran = sample.run(verb, rest, as: pooler.url())
        #expect(ran.status == 0 && ran.errors == "", "\(ran)")
      }
      for verb in ["list", "stats", "workers", "compact", "periodic"] {
        let ran = sample.run(verb, as: pooler.url())
        #expect(ran.status == 0 && ran.errors == "", "\(ran)")
      }
    }
    #expect(try await queue.job(id)?.state == .waiting)
  }

  @Test func compact_byAnotherRoleThanTheOwner_isRefusedInASentence() async throws {
    let sample = try await ServerSample()
    try sample.letGuardedIn()
    let ran = sample.run("compact", as: sample.guardedURL)
    #expect(ran.status == 1 && ran.output == "")
    #expect(ran.errors.contains("only the owner of the tables may vacuum them"), "\(ran)")
    #expect(ran.errors.count { $0 == "\n" } == 1)
  }

  @Test(arguments: Verb.allCases.filter { $0.takesPlace && $0 != .doctor })
  func schemaWithoutAQueue_isAnError_andIsNotMade(_ verb: Verb) async throws {
    let sample = try await ServerSample(isMade: false)
    let ran = tool([verb.rawValue, sample.url] + verb.exampleWords.dropFirst() + ["--schema", sample.schema])
    #expect(ran.status == 1 && ran.output == "")
    #expect(ran.errors.contains("it has no tables of a queue in the schema \(sample.schema)"), "\(ran)")
    let made = try sample.server.query("SELECT count(*) FROM pg_namespace WHERE nspname = '\(sample.schema)'")
    #expect(made == "0")
  }

  @Test func serverThatIsNotThere_isAnError() async throws {
    let port = try RefusingPort()
    let ran = tool("list", "postgresql://app@127.0.0.1:\(port.port)/shop")
    #expect(ran.status == 1 && ran.output == "")
    #expect(
      ran.errors.hasPrefix("durable-queue: There is no connection to the database 127.0.0.1:\(port.port)/shop ("),
      "\(ran)")
    #expect(ran.errors.contains("Check the address, the role and its password, and that the server runs."))
  }
}
#endif
