#if os(Linux)
import CompositeOperations
import Foundation
import FoundationNetworking
import TestSupport
import Testing

@testable import HTTPOperations

/// Which requests go to a proxy, and what it gets.
@Suite("HTTP: rules for proxies", .hangLimit) struct ProxyRulesTests {
  private func session(_ dictionary: [AnyHashable: Any]) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = dictionary
    return URLSession(configuration: configuration)
  }

  private func dictionary(_ server: HTTPServer, _ more: [AnyHashable: Any] = [:]) -> [AnyHashable: Any] {
    let all: [AnyHashable: Any] = ["HTTPEnable": true, "HTTPProxy": "127.0.0.1", "HTTPPort": Int(server.port)]
    return all.merging(more) { $1 }
  }

  private static let page = "http://no-such-host.invalid/page"
  /// “user:pass:word”, since a password may have a colon.
  private static let password = "Basic dXNlcjpwYXNzOndvcmQ="

  @Test func password_ofTheSession_isGivenToTheProxy() async throws {
    try await withServer { server in
      server.route(Self.page, .ok("by proxy"))
      let session = session(
        dictionary(server, ["kCFProxyUsernameKey": "user", "kCFProxyPasswordKey": "pass:word"]))
      let answer = try await HTTPOperation(request(Self.page), session: session).run()
      #expect(answer.text == "by proxy")
      #expect(server.requests.events.first?.headers["proxy-authorization"] == Self.password)
    }
  }

  @Test func password_ofTheAddressInTheEnvironment_isGivenToTheProxy() async {
    await #expect(processExitsWith: .success) {
      try await withServer { server in
        server.route(ProxyRulesTests.page, .ok("by proxy"))
        setenv("http_proxy", "http://user:pass%3Aword@127.0.0.1:\(server.port)", 1)
        let session = URLSession(configuration: .ephemeral)
        let answer = try await HTTPOperation(request(ProxyRulesTests.page), session: session).run()
        precondition(answer.text == "by proxy")
        precondition(server.requests.events.first?.headers["proxy-authorization"] == ProxyRulesTests.password)
      }
    }
  }

  @Test func exceptions_areAskedDirectly() async throws {
    try await withServer { server in
      server.route("/", .ok("directly"))
      server.route(server.url(), .ok("by proxy"))
      for (exceptions, text) in [
        (["127.0.0.1"], "directly"), (["127/8"], "directly"), (["*"], "directly"), (["127.0.0.2", "10/8"], "by proxy"),
      ] {
        let session = session(dictionary(server, ["ExceptionsList": exceptions]))
        let answer = try await HTTPOperation(request(server.url()), session: session).run()
        #expect(answer.text == text, "\(exceptions)")
      }
    }
  }

  @Test func exceptions_ofTheEnvironment_holdForItsProxiesAlone() async {
    await #expect(processExitsWith: .success) {
      try await withServer { server in
        server.route("/", .ok("directly"))
        server.route(server.url(), .ok("by proxy"))
        setenv("http_proxy", "http://127.0.0.1:1", 1)
        setenv("no_proxy", "example.org,127.0.0.1", 1)
        let answer = try await HTTPOperation(
          request(server.url()), session: URLSession(configuration: .ephemeral)
        ).run()
        precondition(answer.text == "directly")
        let tests = ProxyRulesTests()
        let other = try await HTTPOperation(
          request(server.url()), session: tests.session(tests.dictionary(server))
        ).run()
        precondition(other.text == "by proxy")
      }
    }
  }

  @Test(arguments: [
    ("*.local", "printer.local", true), ("*.local", "local", false), (".example.org", "www.example.org", true),
    ("example.org", "www.example.org", false), ("Example.org", "EXAMPLE.ORG.", true),
    ("169.254/16", "169.254.3.4", true),
    ("169.254/16", "169.255.3.4", false), ("10.0.0.0/8", "10.1.2.3", true), ("0/0", "1.2.3.4", true),
    ("10.0.0.0/33", "10.0.0.0", false), ("10/8", "10.example.org", false), ("10.0.0.1/32", "10.0.0.1", true),
    ("", "example.org", false), ("1.2.3.4.5/8", "1.2.3.4", false),
  ])
  func exception(_ exception: String, _ host: String, _ isExcepted: Bool) {
    #expect(CurlProxies(["ExceptionsList": [exception]]).isExcepted(host) == isExcepted)
  }

  @Test(arguments: [
    ("::1", "http://[::1]:3128"), ("[::1]", "http://[::1]:3128"), ("10.0.0.1", "http://10.0.0.1:3128"),
    ("user:word@proxy", "http://user:word@proxy:3128"),
  ])
  func proxy_hasBracketsAroundAnAddressWithColons(_ host: String, _ proxy: String) throws {
    let proxies = CurlProxies(["HTTPEnable": true, "HTTPProxy": host, "HTTPPort": 3128])
    #expect(proxies.proxy(for: try #require(URL(string: "http://example.org/"))) == proxy)
  }

  @Test func simpleNames_areExcepted_whenTheSessionSaysSo() {
    let proxies = CurlProxies(["ExcludeSimpleHostnames": true])
    #expect(proxies.isExcepted("printer") && !proxies.isExcepted("printer.local") && !proxies.isExcepted("::1"))
  }
}
#endif
