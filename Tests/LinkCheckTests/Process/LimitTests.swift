#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct LimitTests {
  /// A server whose every page is held until `gate` opens.
  private static func hold(_ count: Int, on server: HTTPServer, by gate: Gate) -> String {
    (0..<count).map { number in
      server.route("/\(number)", HTTPAnswer.ok().held(by: gate))
      return "[x](\(server.url("/\(number)")))\n"
    }.joined()
  }

  @Test(arguments: [1, 2, 5])
  func perHost_limitsTheRequestsToOneServer(_ limit: Int) async throws {
    try await withServer { server in
      let gate = Gate()
      let folder = try TemporaryFolder(["a.md": Self.hold(20, on: server, by: gate)])
      let tool = try Tool(["--per-host", "\(limit)", "a.md"], in: folder)
      await server.requests.wait(forCount: limit)
      gate.open()
      #expect(try await tool.result().status == 0)
      #expect(server.requests.count == 20)
      #expect(server.maxConcurrent == limit)
    }
  }

  @Test func width_letsServersBeAskedSideBySide() async throws {
    try await withServer { first in
      try await withServer { second in
        let gate = Gate()
        let links = Self.hold(3, on: first, by: gate) + Self.hold(3, on: second, by: gate)
        let folder = try TemporaryFolder(["a.md": links])
        let tool = try Tool(["--width", "2", "--per-host", "3", "a.md"], in: folder)
        await first.requests.wait(forCount: 3)
        await second.requests.wait(forCount: 3)
        gate.open()
        #expect(try await tool.result().status == 0)
        #expect(first.maxConcurrent == 3 && second.maxConcurrent == 3)
      }
    }
  }

  @Test func width_ofOne_asksOneServerAfterTheOther() async throws {
    try await withServer { first in
      try await withServer { second in
        let seen = EventRecorder<String>()
        for number in 0..<4 {
          first.route(
            "/\(number)",
            HTTPRoute { _ in
              seen.record("first"); return .ok()
            })
          second.route(
            "/\(number)",
            HTTPRoute { _ in
              seen.record("second"); return .ok()
            })
        }
        // The links of the two servers take turns in the file.
        let links = (0..<4).map { "[a](\(first.url("/\($0)"))) [b](\(second.url("/\($0)")))\n" }.joined()
        let folder = try TemporaryFolder(["a.md": links])
        #expect(try await Tool.run("--width", "1", "a.md", in: folder).status == 0)
        #expect(seen.events == Array(repeating: "first", count: 4) + Array(repeating: "second", count: 4))
      }
    }
  }

  @Test func manyFilesAndLinks_areAllChecked() async throws {
    try await withServer { server in
      var files: [String: String] = [:]
      for number in 0..<200 {
        server.route("/\(number)", .ok())
        files["docs/\(number % 7)/\(number).md"] =
          "# Page \(number)\n[next](../\((number + 1) % 200 % 7)/\((number + 1) % 200).md#page-\((number + 1) % 200))\n"
          + "[web](\(server.url("/\(number)"))) [gone](gone.md)"
      }
      let folder = try TemporaryFolder(files)
      let report = try await Tool.run("--json", "--width", "3", "docs", in: folder).report()
      #expect(report.files == 200)
      #expect(report.links.good == 400)
      #expect(report.links.broken == 200)
      #expect(server.requests.count == 200)
      #expect(server.maxConcurrent <= 2)
    }
  }
}
#endif
