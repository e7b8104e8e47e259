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
      #expect(try await browser.sent(to: "http://host.example/x") == ["a=1", "c=3", "d=4, e=5"])
      #expect(try await browser.sent(to: "http://host.example/y") == ["c=3", "d=4, e=5"])
    }
  }

  @Test func charactersBeyondASCII_areSentAsTheyCame() async throws {
    try await withBrowser { browser in
      try await browser.take("😀=é; Path=/", "e\u{301}= \u{301} ;ü=ü", "a==\u{301}=", from: "http://host.example/")
      #expect(
        try await browser.sent(to: "http://host.example/") == ["a==\u{301}=", "e\u{301}=\u{301}", "😀=é"].sorted())
    }
  }

  @Test func cookies_ofRandomCharacters_areTakenOrNot_andNothingElseHappens() async throws {
    let parts = [
      "a", "=", "; ", ";", ",", " ", "\"", "\t", "é", "😀", "e\u{301}", "\u{301}", "\u{338}", "\u{37E}", "\u{2260}",
      "\u{200D}", "\u{600}", "\u{FEFF}", "\u{1}", "Expires=", "Domain=", "Path=", "Max-Age=", "Version=", "Port=",
      "Comment=", "Discard", "Secure", "1", "-", "9999999999", "/", ".", "host.example",
      "Wed, 09 Jun 2100 10:18:14 GMT", "Wed, 09-Jun-99 99:99:99 GMT+99:99", "99",
    ]
    var random = SeededRandomNumberGenerator(seed: 5)
    try await withBrowser { browser in
      for _ in 0..<Scale.count(200, least: 40) {
        let cookies = (0..<50).map { _ in
          (random.chance(50) ? "a=1;" : "") + (0..<random.number(1...12)).map { _ in random.pick(parts) }.joined()
        }
        browser.server.route("http://host.example/a/b", .status(200, headers: cookies.map { ("Set-Cookie", $0) }))
        try await HTTPOperation(request("http://host.example/a/b"), session: browser.session).run()
      }
    }
  }

  // MARK: - How long

  @Test(arguments: ["0", "-1", "-99999999999999999999999"]) func maxAge_thatIsOver_deletesTheCookie(_ age: String)
    async throws
  {
    try await withBrowser { browser in
      try await browser.take("sid=secret; Path=/", from: "http://host.example/login")
      #expect(try await browser.sent(to: "http://host.example/") == ["sid=secret"])
      try await browser.take(
        "sid=; max-age=\(age); Expires=Wed, 09 Jun 2100 10:18:14 GMT; Path=/", from: "http://host.example/logout")
      #expect(browser.names == [])
      #expect(try await browser.sent(to: "http://host.example/") == [])
    }
  }

  @Test func maxAge_countsInPlaceOfTheDate() async throws {
    try await withBrowser { browser in
      let start = Date()
      try await browser.take(
        "a=1; Max-Age=3600; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "b=1; Max-Age=99999999999999999999999",
        from: "http://host.example/")
      #expect(browser.names == ["a", "b"])
      for cookie in browser.storage.cookies ?? [] {
        let date = try #require(cookie.expiresDate)
        #expect(date >= start + 3_600 && (cookie.name == "b" || date <= Date() + 3_600))
      }
    }
  }

  @Test(arguments: ["1x", "+1", "", "-", "1.5", "١"]) func maxAge_thatIsNoNumber_doesNotCount(_ age: String)
    async throws
  {
    try await withBrowser { browser in
      try await browser.take(
        "a=1; Max-Age=\(age)", "b=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT; Max-Age=\(age)",
        from: "http://host.example/")
      let dates = browser.storage.cookies?.sorted { $0.name < $1.name }.map(\.expiresDate)
      #expect(dates == [nil, Date(timeIntervalSince1970: 4_116_219_494)])
    }
  }

  // MARK: - Where

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

  @Test(arguments: ["Domain=", "Domain", "Domain=."])
  func domain_thatIsEmpty_isTheServerAlone(_ domain: String) async throws {
    try await withBrowser { browser in
      try await browser.take("a=1; \(domain)", from: "http://host.example/")
      #expect(try await browser.sent(to: "http://host.example/") == ["a=1"])
      #expect(try await browser.sent(to: "http://www.host.example/") == [])
    }
  }

  @Test(arguments: ["a=1", "a=1; Path=", "a=1; Path=no/path"])
  func cookie_withoutAPath_isForTheFolderThatSetIt(_ cookie: String) async throws {
    try await withBrowser { browser in
      try await browser.take(cookie, from: "http://host.example/folder/login?next=/page")
      for (path, cookies) in [("/folder/page", ["a=1"]), ("/folder", ["a=1"]), ("/", []), ("/folders", [])] {
        #expect(try await browser.sent(to: "http://host.example\(path)") == cookies, "\(path)")
      }
      try await browser.take(cookie, from: "http://other.example/page")
      #expect(try await browser.sent(to: "http://other.example/page") == ["a=1"])
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
