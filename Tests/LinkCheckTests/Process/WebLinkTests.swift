#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct WebLinkTests {
  @Test func goodLink_isAskedForWithHeadOnce_howeverOftenMentioned() async throws {
    try await withServer { server in
      server.route("/page", .ok())
      server.route("/page?q=1", .ok())
      let url = server.url("/page")
      let folder = try TemporaryFolder([
        "a.md": "[a](\(url)) [b](\(url)#one) ![c](\(url)#two) <\(url)> \(url)\n\n[d]: \(url)",
        "b.html": "<a href='\(url.replacingOccurrences(of: "http", with: "HTTP"))'>x</a><a href='\(url)?q=1#x'>y</a>",
      ])
      let result = try await Tool.run(".", in: folder)
      #expect(result.output == "8 links in 2 files: 8 good, 0 broken.\n")
      #expect(result.status == 0)
      #expect(server.requests.events.map { "\($0.method) \($0.path)" }.sorted() == ["HEAD /page", "HEAD /page?q=1"])
      let agent = server.requests.events.first?.headers["user-agent"]
      #expect(agent == "LinkCheck/1.0")
    }
  }

  @Test func missingPage_isBrokenWithStatusFileAndLine() async throws {
    try await withServer { server in
      let folder = try TemporaryFolder(["docs/a.md": "text\n[a](\(server.url("/gone")))"])
      let result = try await Tool.run("docs", in: folder)
      #expect(result.status == 1)
      #expect(
        result.output == """
          Broken links:
            docs/a.md:2  \(server.url("/gone"))  404 not found

          1 link in 1 file: 0 good, 1 broken.

          """)
      #expect(server.requests.events.map(\.method) == ["HEAD", "GET"])
      let report = try await Tool.run("--json", "docs", in: folder).report()
      #expect(
        report.broken == [
          .init(file: "docs/a.md", line: 2, link: server.url("/gone"), reason: "404 not found", status: 404)
        ])
    }
  }

  @Test(arguments: [400, 403, 404, 405, 406, 410, 501])
  func head_whenRefused_isFollowedByGet(_ status: Int) async throws {
    try await withServer { server in
      server.route("/page", .refusingHead(with: status))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/page")))"])
      #expect(try await Tool.run("a.md", in: folder).status == 0)
      #expect(server.requests.events.map(\.method) == ["HEAD", "GET"])
      #expect(server.requests.events.last?.headers["range"] == "bytes=0-0")
    }
  }

  @Test(arguments: ["Basic realm=\"x\"", "Bearer", "Negotiate", "Digest realm=\"x\", nonce=\"y\"", nil])
  func page_behindAPassword_isBrokenAndDoesNotHang(_ challenge: String?) async throws {
    try await withServer { server in
      server.route("/page", .status(401, headers: challenge.map { [("WWW-Authenticate", $0)] } ?? []))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/page")))"])
      let report = try await Tool.run("--json", "a.md", in: folder).report()
      #expect(report.broken.map(\.status) == [401])
    }
  }

  @Test func redirects_areFollowedCountedAndShown() async throws {
    try await withServer { server in
      server.route("/old", .redirect(to: "/older", status: 301))
      server.route("/older", .redirect(to: "new?x=1#part", status: 307))
      server.route("/new?x=1", .ok())
      server.route("/once", .redirect(to: server.url("/new?x=1"), status: 303))
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/old")))\n[b](\(server.url("/once")))"])
      let result = try await Tool.run("a.md", in: folder)
      #expect(
        result.output == """
          Redirected links:
            a.md:1  \(server.url("/old"))   -> \(server.url("/new?x=1")) (2 redirects)
            a.md:2  \(server.url("/once"))  -> \(server.url("/new?x=1")) (1 redirect)

          2 links in 1 file: 2 good (2 redirected), 0 broken.

          """)
      #expect(result.status == 0)
      let report = try await Tool.run("--json", "a.md", in: folder).report()
      #expect(report.redirected.map(\.redirects) == [2, 1])
      #expect(report.redirected.map(\.target) == [server.url("/new?x=1"), server.url("/new?x=1")])
    }
  }

  @Test func redirects_thatLeadNowhere_areBroken() async throws {
    try await withServer { server in
      server.route("/to-gone", .redirect(to: "/gone"))
      server.route("/circle", .redirect(to: "/back"))
      server.route("/back", .redirect(to: "/circle"))
      server.route("/silent", .status(302))
      server.route("/mail", .redirect(to: "mailto:a@b.org"))
      for step in 0..<20 { server.route("/chain\(step)", .redirect(to: "/chain\(step + 1)")) }
      let paths = ["/to-gone", "/circle", "/silent", "/mail", "/chain0"]
      let folder = try TemporaryFolder(["a.md": paths.map { "[x](\(server.url($0)))\n" }.joined()])
      let result = try await Tool.run("--json", "a.md", in: folder)
      #expect(
        try result.report().broken.map(\.reason) == [
          "404 not found at \(server.url("/gone")), after 1 redirect",
          "redirects in a circle, by way of \(server.url("/circle"))",
          "302 found, but not where to",
          "redirects to mailto:a@b.org, which is no web address",
          "more than 10 redirects",
        ])
      #expect(result.status == 1)
    }
  }

  @Test func offline_requestsNothing() async throws {
    try await withServer { server in
      let folder = try TemporaryFolder(["a.md": "[a](\(server.url("/gone"))) [b](gone.md) [c](a.md)"])
      let result = try await Tool.run("--offline", "a.md", in: folder)
      #expect(result.output.hasSuffix("3 links in 1 file: 1 good, 1 broken, 1 not checked.\n"))
      #expect(server.requests.events.isEmpty)
      let report = try await Tool.run("--offline", "--json", "a.md", in: folder).report()
      #expect(
        report.links == .init(total: 3, good: 1, broken: 1, unreachable: 0, redirected: 0, unchecked: 1, skipped: 0))
    }
  }

  @Test func addresses_thatAreNone_areBroken() async throws {
    let folder = try TemporaryFolder(["a.md": "[a](http://) [b](https:///path) [c](http://[::1)"])
    let report = try await Tool.run("--json", "a.md", in: folder).report()
    #expect(report.broken.map(\.reason) == Array(repeating: "this is no valid address", count: 3))
  }
}
#endif
