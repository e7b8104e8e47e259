#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct TransportTests {
  private let nobody: RefusingPort

  init() throws {
    nobody = try RefusingPort()
  }

  @Test func refusedConnection_isUnreachable_andFailsOnlyWithStrict() async throws {
    let url = nobody.url("/page")
    let folder = try TemporaryFolder(["a.md": "[a](\(url))"])
    let lenient = try await Tool.run("--retries", "0", "a.md", in: folder)
    #expect(lenient.status == 0)
    #expect(
      lenient.output == """
        Unreachable links:
          a.md:1  \(url)  the connection was refused

        1 link in 1 file: 0 good, 0 broken, 1 unreachable.

        """)
    #expect(try await Tool.run("--retries", "0", "--strict", "a.md", in: folder).status == 1)
    let report = try await Tool.run("--retries", "0", "--json", "a.md", in: folder).report()
    #expect(
      report.unreachable == [.init(file: "a.md", line: 1, link: url, reason: "the connection was refused")])
    #expect(report.broken.isEmpty)
  }

  @Test func unknownHost_isUnreachable() async throws {
    let folder = try TemporaryFolder(["a.md": "[a](http://no-such-host.invalid/)"])
    let result = try await Tool.run("--retries", "0", "--json", "a.md", in: folder)
    #expect(try result.report().unreachable.map(\.reason) == ["no such host"])
    #expect(result.status == 0)
  }

  @Test func brokenLink_failsWithAndWithoutStrict() async throws {
    let url = nobody.url("/page")
    let folder = try TemporaryFolder(["a.md": "[a](\(url)) [b](gone.md)"])
    #expect(try await Tool.run("--retries", "0", "a.md", in: folder).status == 1)
    #expect(try await Tool.run("--retries", "0", "--strict", "a.md", in: folder).status == 1)
  }

  @Test func silentServer_timesOut_andIsUnreachable() async throws {
    try await withServer { server in
      server.route("/silent", HTTPAnswer.ok().held(by: Gate()))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/silent")))"])
      // On a busy machine the time may be up before the server has been asked.
      for timeout in ["0.2", "2", "20", "200"] where server.requests.count == 0 {
        let result = try await Tool.run("--timeout", timeout, "--retries", "0", "--json", "a.md", in: folder)
        #expect(try result.report().unreachable.map(\.reason) == ["no answer within \(timeout) s"])
        #expect(result.status == 0)
      }
      // The timeout ended the request, and did not only stop waiting for it.
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  @Test func slowServer_isWaitedFor() async throws {
    try await withServer { server in
      server.route("/slow", HTTPAnswer.ok().delayed(by: .milliseconds(300)))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/slow")))"])
      #expect(try await Tool.run("a.md", in: folder).status == 0)
    }
  }

  @Test func droppedConnection_isBroken() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/drop", .drop)
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/drop")))"])
      let result = try await Tool.run("--retries", "0", "--json", "a.md", in: folder)
      #expect(
        try result.report().broken.map(\.reason) == ["the server closed the connection without an answer"])
      #expect(result.status == 1)
      #expect(server.requests.events.count == 1)
    }
  }

  @Test func serverThatSpeaksNoTLS_isNotGood() async throws {
    try await withServer { server in
      let folder = try TemporaryFolder(["a.md": "[a](https://127.0.0.1:\(server.port)/)"])
      let report = try await Tool.run("--retries", "0", "--timeout", "2", "--json", "a.md", in: folder).report()
      #expect(report.links.good == 0)
      #expect(report.links.broken + report.links.unreachable == 1)
    }
  }
}
#endif
