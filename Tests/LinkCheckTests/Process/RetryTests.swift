#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct RetryTests {
  @Test(arguments: [429, 500, 502, 503, 504])
  func failureThatPasses_isRetriedUntilItDoes(_ status: Int) async throws {
    try await withServer { server in
      server.route("/flaky", .failing(2, with: .status(status)))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/flaky")))"])
      let result = try await Tool.run("--retry-delay", "0.01", "a.md", in: folder)
      #expect(result.status == 0)
      #expect(server.count("/flaky") == 3)
      // A busy server is asked for less, one that fails for more than HEAD.
      #expect(
        server.requests.events.map(\.method) == (status == 429 ? ["HEAD", "HEAD", "HEAD"] : ["HEAD", "GET", "GET"]))
      #expect(result.errors.contains("asking again in 0.01 s\n"))
      #expect(result.errors.contains("asking again in 0.02 s\n"))
    }
  }

  @Test(arguments: [0, 1, 4])
  func failureThatLasts_isRetriedAsOftenAsAllowed(_ retries: Int) async throws {
    try await withServer { server in
      server.route("/down", .status(503))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/down")))"])
      let result = try await Tool.run("--retries", "\(retries)", "--retry-delay", "0", "--json", "a.md", in: folder)
      #expect(try result.report().broken.map(\.reason) == ["503 service unavailable"])
      #expect(result.status == 1)
      #expect(server.count("/down") == retries + 1)
    }
  }

  @Test func droppedConnections_areRetried() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/flaky", .failing(2, with: .drop))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/flaky")))"])
      #expect(try await Tool.run("--retry-delay", "0.01", "a.md", in: folder).status == 0)
      #expect(server.count("/flaky") == 3)
    }
  }

  @Test func retryAfter_whenGiven_isHonouredInsteadOfOurPause() async throws {
    try await withServer { server in
      server.route("/busy", .failing(1, with: .retryLater(after: "0")))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/busy")))"])
      // Our own pause would be a minute.
      let result = try await Tool.run("--retry-delay", "60", "a.md", in: folder)
      #expect(result.status == 0)
      #expect(result.errors.contains("\(server.url("/busy")): 429 too many requests; asking again in 0 s\n"))
      #expect(server.count("/busy") == 2)
    }
  }

  @Test func retryAfter_thatIsTooLong_isNotWaitedFor() async throws {
    try await withServer { server in
      server.route("/busy", .retryLater(status: 503, after: "3600"))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/busy")))"])
      let report = try await Tool.run("--json", "a.md", in: folder).report()
      #expect(report.broken.map(\.reason) == ["503 service unavailable, to be asked again in 3600 s only"])
      #expect(server.count("/busy") == 1)
    }
  }

  @Test(arguments: [400, 401, 403, 404, 410, 451])
  func refusals_areNotRetried(_ status: Int) async throws {
    try await withServer { server in
      server.route("/no", .status(status))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/no")))"])
      #expect(try await Tool.run("a.md", in: folder).status == 1)
      #expect(server.requests.events.map(\.method) == ["HEAD", "GET"])
    }
  }
}
#endif
