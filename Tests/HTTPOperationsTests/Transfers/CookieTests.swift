#if canImport(FoundationNetworking)
import CompositeOperations
import Foundation
import FoundationNetworking
import HTTPOperations
import TestSupport
import Testing

/// Which cookies are kept, and where they are sent: on Linux that is not left to Foundation.
@Suite("HTTP: cookies", .hangLimit) struct CookieTests {
  /// A session with cookies of its own, all of whose requests go to one server, whatever their
  /// host.
  private struct Browser {
    let session: URLSession
    let storage: HTTPCookieStorage
    let server: HTTPServer

    init(_ server: HTTPServer) throws {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.connectionProxyDictionary = [
        "HTTPEnable": true, "HTTPProxy": "127.0.0.1", "HTTPPort": Int(server.port),
      ]
      storage = try #require(configuration.httpCookieStorage)
      session = URLSession(configuration: configuration)
      self.server = server
    }

    /// Has the server set cookies.
    func take(_ cookies: String..., from url: String) async throws {
      server.route(url, .status(200, headers: cookies.map { ("Set-Cookie", $0) }))
      try await HTTPOperation(request(url), session: session).run()
    }

    /// The cookies that a request brings along, sorted.
    func sent(to url: String) async throws -> [String] {
      server.route(url, .ok())
      try await HTTPOperation(request(url), session: session).run()
      let field = server.requests.events.last?.headers["cookie"]
      return field.map { $0.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }.sorted() } ?? []
    }

    var names: [String] { storage.cookies?.map(\.name).sorted() ?? [] }
  }

  private func withBrowser(_ body: (Browser) async throws -> Void) async throws {
    try await withServer { try await body(Browser($0)) }
  }

  @Test func comma_beginsNoSecondCookie() async throws {
    try await withBrowser { browser in
      try await browser.take(
        "a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/x", "b=2; expires=Sunday, 06-Nov-94 08:49:37 GMT",
        "c=3", "d=4, e=5", from: "http://host.example/set")
      #expect(browser.names == ["a", "c", "d"])
      #expect(try await browser.sent(to: "http://host.example/x") == ["a=1", "c=3", "d=4"])
      #expect(try await browser.sent(to: "http://host.example/y") == ["c=3", "d=4"])
    }
  }

  /// It would be sent once more, as a line of its own.
  @Test func lineEnd_insideOfACookie_beginsNoField() async throws {
    try await withBrowser { browser in
      try await browser.take("a=1\rX-Admin: 1; Path=/", from: "http://host.example/set")
      #expect(try await browser.sent(to: "http://host.example/x") == ["a=1 X-Admin: 1"])
      #expect(browser.server.requests.events.last?.headers["x-admin"] == nil)
    }
  }

  @Test func cookiesOfARedirect_areSentToWhereItLeads() async throws {
    try await withBrowser { browser in
      browser.server.route(
        "http://host.example/", .status(302, headers: [("Set-Cookie", "a=1; Path=/"), ("Location", "/end")]))
      browser.server.route("http://host.example/end", .ok())
      try await HTTPOperation(request("http://host.example/"), session: browser.session).run()
      #expect(browser.server.requests.events.last?.headers["cookie"] == "a=1")
    }
  }

  @Test func secureCookie_isNeitherTakenNorSent_withoutTLS() async throws {
    try await withBrowser { browser in
      try await browser.take("a=1; Secure", "b=2", from: "http://host.example/")
      #expect(browser.names == ["b"])
      let secret = try #require(
        HTTPCookie(properties: [.name: "s", .value: "1", .domain: "host.example", .path: "/", .secure: "TRUE"]))
      browser.storage.setCookie(secret)
      #expect(browser.names == ["b", "s"])
      #expect(try await browser.sent(to: "http://host.example/") == ["b=2"])
    }
  }

  @Test func path_isThatOfAFolder() async throws {
    try await withBrowser { browser in
      try await browser.take("a=1; Path=/a", "b=2; Path=/a/", "c=3; Path=/", from: "http://host.example/a/set")
      for (path, cookies) in [
        ("/a", ["a=1", "c=3"]), ("/a/", ["a=1", "b=2", "c=3"]), ("/a/b/c", ["a=1", "b=2", "c=3"]), ("/ab", ["c=3"]),
        ("/", ["c=3"]), ("/b/a", ["c=3"]),
      ] {
        #expect(try await browser.sent(to: "http://host.example\(path)") == cookies, "\(path)")
      }
    }
  }

  @Test func cookie_forAnotherDomain_isRefused() async throws {
    try await withBrowser { browser in
      try await browser.take(
        "a=1; Domain=other.example", "b=2; Domain=example", "c=3; Domain=ost.example", "d=4; Domain=www.host.example",
        "e=5; Domain=host.example", "f=6", from: "http://api.host.example/")
      #expect(browser.names == ["e", "f"])
      for (host, cookies) in [
        ("api.host.example", ["e=5", "f=6"]), ("host.example", ["e=5"]), ("www.host.example", ["e=5"]),
        ("x.api.host.example", ["e=5"]), ("badhost.example", []), ("other.example", []), ("example", []),
      ] {
        #expect(try await browser.sent(to: "http://\(host)/") == cookies, "\(host)")
      }
    }
  }

  @Test func cookie_ofAnAddressInNumbers_isForNoOther() async throws {
    try await withBrowser { browser in
      try await browser.take("a=1; Domain=0.0.1", "b=2; Domain=127.0.0.1", "c=3", from: "http://127.0.0.1/")
      #expect(!browser.names.contains("a"))
      #expect(try await browser.sent(to: "http://10.0.0.1/") == [])
      #expect(try await browser.sent(to: "http://127.0.0.1/").contains("c=3"))
    }
  }

  @Test func cookies_ofOneServer_areFew_howeverOftenItSetsSome() async throws {
    try await withBrowser { browser in
      for round in 0..<8 {
        let cookies = (0..<50).map { ("Set-Cookie", "c\(round * 50 + $0)=v") }
        browser.server.route("http://host.example/", .status(200, headers: cookies))
        try await HTTPOperation(request("http://host.example/"), session: browser.session).run()
      }
      #expect(browser.names.count == 180)
      // The newest is there, and another server has room.
      #expect(browser.names.contains("c399"))
      try await browser.take("mine=1", from: "http://other.example/")
      #expect(try await browser.sent(to: "http://other.example/") == ["mine=1"])
    }
  }
}
#endif
