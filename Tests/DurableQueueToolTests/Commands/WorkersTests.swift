#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import DurableQueueTool

/// The processes that run jobs, of a file and of a server.
@Suite(.timeLimit(.minutes(30))) struct WorkersTests {
  /// A queue that executes two jobs until the body is over.
  private func withTwoRunning(
    _ queue: DurableQueue, _ body: ([JobID]) throws -> Void
  ) async throws {
    let gate = Gate(), begun = (Gate(), Gate())
    try await queue.register(Mail.self) { (mail, _) async throws in
      (mail.to == "a" ? begun.0 : begun.1).open()
      await gate.wait()
    }
    let ids = try await queue.enqueue(contentsOf: [Mail(to: "a"), Mail(to: "b")])
    queue.start()
    await begun.0.wait()
    await begun.1.wait()
    let result = Result { try body(ids) }
    gate.open()
    await queue.stop()
    try result.get()
  }

  private func expectWorkers(_ run: (_ json: Bool) -> Ran, _ ids: [JobID]) throws {
    let process = ProcessInfo.processInfo.processIdentifier
    let table = run(false)
    #expect(table.status == 0 && table.errors == "" && table.lines.count == 2, "\(table)")
    #expect(table.lines[0].split(separator: " ") == ["host", "process", "state", "lease", "jobs"])
    #expect(table.lines[1].contains(", here") && table.lines[1].contains(" \(process)  alive  ends in "), "\(table)")
    #expect(table.lines[1].hasSuffix("   2  mail \(ids[0]) \(ids[1])"), "\(table)")
    let json = try #require(try run(true).json() as? [[String: Any]])
    let worker = try #require(json.first)
    #expect(json.count == 1)
    #expect(worker["process"] as? Int == Int(process))
    #expect(worker["liveness"] as? String == "alive")
    #expect(worker["onThisMachine"] as? Bool == true)
    #expect(try #require(worker["leaseLeft"] as? Int) >= 0)
    #expect((worker["leaseEnd"] as? String)?.hasSuffix("Z") == true)
    let jobs = try #require(worker["jobs"] as? [[String: Any]])
    #expect(jobs.map { $0["id"] as? Int } == ids.map { Int($0.rawValue) })
    #expect(jobs.allSatisfy { $0["kind"] as? String == "mail" && $0["startedAt"] is String })
  }

  @Test func workersOfAFile_areShownWithTheirJobs() async throws {
    let sample = try Sample()
    try await withTwoRunning(try sample.queue()) { ids in
      try expectWorkers({ tool(["workers", sample.path] + ($0 ? ["--json"] : [])) }, ids)
    }
    #expect(tool("workers", sample.path).output == "No process runs jobs.\n")
    #expect(tool("workers", sample.path, "--json").output == "[]\n")
  }

  @Test(.enabled(if: PostgresServer.isAvailable)) func workersOfAServer_areShownWithTheirJobs() async throws {
    let sample = try await ServerSample()
    try await withTwoRunning(try sample.queue()) { ids in
      try expectWorkers({ $0 ? sample.run("workers", "--json") : sample.run("workers") }, ids)
    }
    #expect(sample.run("workers").output == "No process runs jobs.\n")
  }

  /// Workers of other machines, and of a killed process.
  @Test(.enabled(if: PostgresServer.isAvailable)) func workersOfOthers_areShownWithWhatIsKnown() async throws {
    let sample = try await ServerSample()
    try sample.server.query(
      """
      INSERT INTO \(sample.schema).workers (boot, namespace, host, process, started, lease, lease_until)
      VALUES ('other', '', E'worker\\033[31m-7', 4711, 1, 30000, \(sample.schema).now_ms() - 120500),
        ('other', '', '', 4712, 1, 30000, \(sample.schema).now_ms() + 3600000 * 5)
      """)
    let ran = sample.run("workers")
    #expect(ran.status == 0 && !ran.output.contains("\u{1B}"), "\(ran)")
    #expect(ran.lines[1].contains("4711  unknown  over 2 min ago"), "\(ran)")
    #expect(ran.lines[2].hasPrefix("-  ") && ran.lines[2].contains("4712  unknown  ends in 4 h"), "\(ran)")
    let json = try #require(try sample.run("workers", "--json").json() as? [[String: Any]])
    #expect(json[1]["host"] is NSNull && json[1]["onThisMachine"] as? Bool == false)
  }
}
#endif
