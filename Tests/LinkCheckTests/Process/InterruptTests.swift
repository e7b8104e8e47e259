#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct InterruptTests {
  @Test(arguments: [false, true])
  func ctrlC_whileARequestRuns_printsWhatWasFoundAndExitsWith130(_ json: Bool) async throws {
    try await withServer { server in
      let slow = try HTTPServer()
      slow.route("/held", HTTPAnswer.ok().held(by: Gate()))
      let folder = try TemporaryFolder([
        "a.md": "[good](\(server.url("/good"))) [gone](\(server.url("/gone"))) [held](\(slow.url("/held")))",
        "b.md": "[gone](gone.md)",
      ])
      server.route("/good", .ok())
      // One server after the other, so that the first one's links are done when the second one is
      // asked.
      let tool = try Tool((json ? ["--json"] : []) + ["--width", "1", "."], in: folder)
      await slow.requests.wait(forCount: 1)
      tool.interrupt()
      let result = try await tool.result()
      #expect(!result.wasKilled)
      #expect(result.status == 130)
      await slow.abandonedRequests.wait(forCount: 1)
      await slow.stop()
      if json {
        let report = try result.report()
        #expect(report.interrupted)
        #expect(report.links.good == 1 && report.links.unchecked == 1)
        #expect(report.broken.map(\.link) == [server.url("/gone"), "gone.md"])
      } else {
        #expect(result.output.contains("  a.md:1  \(server.url("/gone"))  404 not found\n"))
        #expect(result.output.hasSuffix("Interrupted. 4 links in 2 files: 1 good, 2 broken, 1 not checked.\n"))
      }
    }
  }

  @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
  func signal_duringAPause_endsItAtOnce(_ signal: Int32, _ status: Int32) async throws {
    try await withServer { server in
      server.route("/busy", .retryLater(after: "60"))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/busy")))"])
      // On a busy machine this test may take more than one pause to come to the interrupt: there
      // are always more.
      let tool = try Tool(["--retries", "20", "a.md"], in: folder)
      await server.requests.wait(forCount: 1)
      tool.interrupt(signal)
      let asked = server.requests.count
      let result = try await tool.result()
      #expect(!result.wasKilled)
      #expect(result.status == status)
      #expect(result.output == "Interrupted. 1 link in 1 file: 0 good, 0 broken, 1 not checked.\n")
      #expect(server.requests.count == asked)
    }
  }

  @Test func ctrlC_again_whileAFileIsRead_endsItAtOnce_withTheCursorShown() async throws {
    // Reading it takes long, and nothing ends that. On a busy machine it may all the same be over
    // before a bar is drawn, or before the interrupt: then a longer one.
    for count in [400_000, 1_600_000] {
      let folder = try TemporaryFolder(["a.md": String(repeating: "Some *words* and `code`.\n\n", count: count)])
      let terminal = try Terminal()
      let tool = try Tool(["--offline", "a.md"], in: folder, terminal: terminal.device)
      await until(terminal.shows("\u{1B}[?25l") || tool.hasEnded)
      await tool.interruptUntilItEnds()
      let result = try await tool.result()
      let written = try await terminal.end()
      if result.status == 0, count < 1_600_000 { continue }
      #expect(!result.wasKilled)
      #expect(result.status == 130)
      #expect(written.ranges(of: "\u{1B}[?25h").count == written.ranges(of: "\u{1B}[?25l").count)
      return
    }
  }

  @Test func ctrlC_withManyRequestsUnderWay_cancelsThemAll() async throws {
    try await withServer { server in
      let gate = Gate()
      let links = (0..<100).map { number in
        server.route("/\(number)", HTTPAnswer.ok().held(by: gate))
        return "[x](\(server.url("/\(number)")))\n"
      }.joined()
      let folder = try TemporaryFolder(["a.md": links])
      let tool = try Tool(["--per-host", "10", "a.md"], in: folder)
      await server.requests.wait(forCount: 10)
      tool.interrupt()
      let result = try await tool.result()
      #expect(result.status == 130)
      await server.abandonedRequests.wait(forCount: 10)
      #expect(server.requests.count == 10)
    }
  }
}
#endif
