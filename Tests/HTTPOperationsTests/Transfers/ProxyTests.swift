#if os(Linux)
import CompositeOperations
import Foundation
import FoundationNetworking
import HTTPOperations
import TestSupport
import Testing

/// Proxies, and what they do wrong. On Linux the transport asks them itself.
@Suite("HTTP: proxies", .hangLimit) struct ProxyTests {
  private static func session(_ port: UInt16) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.connectionProxyDictionary = [
      "HTTPEnable": true, "HTTPProxy": "127.0.0.1", "HTTPPort": Int(port),
      "HTTPSEnable": true, "HTTPSProxy": "127.0.0.1", "HTTPSPort": Int(port),
    ]
    return URLSession(configuration: configuration)
  }

  private static func outcome(_ url: String, _ session: URLSession) async -> Outcome<HTTPResponse> {
    await outcomeOfStarting(HTTPOperation(request(url), session: session))
  }

  @Test func proxy_ofTheSession_isAsked() async throws {
    try await withServer { server in
      server.route("http://no-such-host.invalid/page", .ok("by proxy"))
      let answer = await Self.outcome("http://no-such-host.invalid/page", Self.session(server.port))
      #expect(answer.value?.text == "by proxy")
    }
  }

  // MARK: - Refusals

  @Test(arguments: [407, 403, 502]) func tunnel_thatIsRefused_isAnErrorOfTheProxy(_ status: Int) async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("no-such-host.invalid:443", .status(status, body: "no way"))
      let outcome = await Self.outcome("https://no-such-host.invalid/", Self.session(server.port))
      let error = try #require(outcome.httpError, "\(outcome)")
      #expect("\(error)".contains("proxy") && "\(error)".contains("\(status)"), "\(error)")
      #expect(server.requests.events.map(\.method) == ["CONNECT"])
    }
  }

  @Test func answerOfTheProxy_isTheAnswer_withoutTLS() async throws {
    try await withServer { server in
      server.route("http://no-such-host.invalid/", .status(407, body: "who are you?"))
      let outcome = await Self.outcome("http://no-such-host.invalid/", Self.session(server.port))
      #expect(outcome.statusError?.status == 407)
    }
  }

  @Test(arguments: ["http", "https"]) func proxy_thatCloses_isNamed(_ scheme: String) async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("http://no-such-host.invalid/", .drop)
      server.route("no-such-host.invalid:443", .drop)
      let outcome = await Self.outcome("\(scheme)://no-such-host.invalid/", Self.session(server.port))
      let error = try #require(outcome.httpError, "\(outcome)")
      #expect("\(error)".lowercased().contains("proxy"), "\(error)")
    }
  }

  @Test(arguments: ["http", "https"]) func proxy_thatIsNotThere_isNamed(_ scheme: String) async throws {
    let port = try RefusingPort()
    let outcome = await Self.outcome("\(scheme)://no-such-host.invalid/", Self.session(port.port))
    let error = try #require(outcome.httpError, "\(outcome)")
    #expect("\(error)".contains("proxy") && "\(error)".contains("\(port.port)"), "\(error)")
  }

  @Test func proxy_thatHasNoAddress_isNamed() async throws {
    let configuration = URLSessionConfiguration.ephemeral
    let host = String(repeating: "a", count: 64) + ".invalid"
    configuration.connectionProxyDictionary = ["HTTPEnable": true, "HTTPProxy": host, "HTTPPort": 80]
    let outcome = await Self.outcome("http://127.0.0.1/", URLSession(configuration: configuration))
    let error = try #require(outcome.httpError, "\(outcome)")
    #expect("\(error)".contains("the proxy was not found"), "\(error)")
  }

  @Test func proxy_ofTheSession_isNamedWithoutItsPassword() async throws {
    let port = try RefusingPort()
    for user in ["user:secret", "user:se/cret", "user:se@cret"] {
      let configuration = URLSessionConfiguration.ephemeral
      configuration.connectionProxyDictionary = [
        "HTTPEnable": true, "HTTPProxy": "\(user)@127.0.0.1", "HTTPPort": Int(port.port),
      ]
      let outcome = await Self.outcome("http://no-such-host.invalid/", URLSession(configuration: configuration))
      let error = try #require(outcome.httpError, "\(outcome)")
      #expect("\(error)".contains("through the proxy http://127.0.0.1:\(port.port)"), "\(error)")
      #expect(!"\(error)".contains("cret") && !"\(error)".contains("user"), "\(error)")
    }
  }

  // MARK: - The environment

  @Test func proxy_ofTheEnvironment_isNotQuotedWithItsPassword() async {
    await #expect(processExitsWith: .success) {
      let port = try RefusingPort()
      unsetenv("no_proxy")
      unsetenv("NO_PROXY")
      let addresses = [
        "http://user:se/cret@127.0.0.1:\(port.port)", "ftp://user:secret@127.0.0.1:\(port.port)",
        "http://user:sec'ret@127.0.0.1:\(port.port)", "http://user:secret\(String(repeating: "x", count: 300))",
      ]
      for address in addresses {
        setenv("http_proxy", address, 1)
        let session = URLSession(configuration: .ephemeral)
        let outcome = await ProxyTests.outcome("http://no-such-host.invalid/", session)
        guard let error = outcome.httpError else { preconditionFailure("\(outcome)") }
        let hasSecret = ["user", "cret", "'ret"].contains { "\(error)".contains($0) }
        precondition(!hasSecret, "\(error)")
      }
    }
  }

  @Test func proxy_ofTheEnvironment_isAsked_exceptForHostsThatNeedNone() async {
    await #expect(processExitsWith: .success) {
      try await withServer { server in
        server.route("http://no-such-host.invalid/page", .ok("by proxy"))
        server.route("/", .ok("by itself"))
        setenv("http_proxy", server.url(), 1)
        setenv("no_proxy", "other.example,127.0.0.1", 1)
        let session = URLSession(configuration: .ephemeral)
        let asked = await ProxyTests.outcome("http://no-such-host.invalid/page", session)
        precondition(asked.value?.text == "by proxy", "\(asked)")
        let direct = await ProxyTests.outcome(server.url(), session)
        precondition(direct.value?.text == "by itself", "\(direct)")
      }
    }
  }

  @Test func proxy_ofTheEnvironment_isNotAsked_whereTheSessionSaysSo() async {
    await #expect(processExitsWith: .success) {
      let port = try RefusingPort()
      setenv("http_proxy", port.url(), 1)
      unsetenv("no_proxy")
      unsetenv("NO_PROXY")
      try await withServer { server in
        server.route("/", .ok("by itself"))
        let configuration = URLSessionConfiguration.ephemeral
        let refused = await ProxyTests.outcome(server.url(), URLSession(configuration: configuration)).httpError
        precondition(refused?.code == .connectionRefused, "\(String(describing: refused))")
        configuration.connectionProxyDictionary = [:]
        let direct = await ProxyTests.outcome(server.url(), URLSession(configuration: configuration))
        precondition(direct.value?.text == "by itself", "\(direct)")
      }
    }
  }
}
#endif
