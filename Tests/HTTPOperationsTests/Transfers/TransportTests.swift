import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What the transports have in common beyond a request and its answer: connections, passwords,
/// proxies, and protocols of the session's owner.
@Suite("HTTP: transports", .hangLimit) struct TransportTests {
  private func session(_ change: (URLSessionConfiguration) -> Void = { _ in }) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    change(configuration)
    return URLSession(configuration: configuration)
  }

  @Test func connections_ofOneHost_areAsManyAsTheSessionAllows() async throws {
    try await withServer { server in
      let gate = Gate()
      server.route("/", HTTPAnswer.ok().held(by: gate))
      let session = session { $0.httpMaximumConnectionsPerHost = 2 }
      let operations = (0..<10).map { _ in HTTPOperation(request(server.url()), session: session) }
      for operation in operations { operation.start() }
      await server.requests.wait(forCount: 2)
      gate.open()
      for operation in operations { #expect(await settled(operation).value?.text == "ok\n") }
      #expect(server.openConnections.events.max() == 2 && server.maxConcurrent <= 2)
    }
  }

  @Test func connection_isUsedAgain() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let session = session()
      for _ in 0..<5 { try await HTTPOperation(request(server.url()), session: session).run() }
      #expect(server.openConnections.events == [1])
    }
  }

  /// The server closes a connection that was kept, and the client finds out when it uses it.
  @Test func connection_thatWasClosedMeanwhile_isMadeAnew() async throws {
    try await withServer { server in
      server.route("/last", .status(200, headers: [("Connection", "close")], body: "last"))
      server.route("/", .echo)
      let session = session()
      for _ in 0..<3 {
        try await HTTPOperation(request(server.url("/last")), session: session).run()
        let post = request(server.url(), "POST") { $0.httpBody = Data("body".utf8) }
        let answer = try await HTTPOperation(post, session: session).run()
        #expect(answer.text == "body")
      }
    }
  }

  @Test func hostName_isLookedUp() async throws {
    try await withServer { server in
      server.route("/", .ok("here"))
      let url = "http://localhost:\(server.port)/"
      for _ in 0..<3 {
        let answer = try await HTTPOperation(request(url), session: session()).run()
        #expect(answer.text == "here" && answer.url?.absoluteString == url)
      }
    }
  }

  @Test(.enabled(if: HTTPServer.hasIPv6, "There is no IPv6"))
  func hostName_ofSeveralAddresses_isAskedAtTheOneThatAnswers() async throws {
    let (server, refusing) = try HTTPServer.besideRefusingPort()
    server.route("/", .ok("here"))
    let session = session()
    for _ in 0..<3 {
      let answer = await outcomeOfStarting(
        HTTPOperation(request("http://localhost:\(server.port)/"), session: session))
      #expect(answer.value?.text == "here", "\(answer)")
    }
    withExtendedLifetime(refusing) {}
    await server.stop()
  }

  /// A server may have read a request that it closes the connection upon: what must not be done
  /// twice is not asked again.
  @Test(arguments: ["POST", "PATCH", "MOVE"], ["body", "", nil])
  func request_thatMustNotBeRepeated_isMadeOnce(_ method: String, _ body: String?) async throws {
    try await withServer { server in
      server.route("/first", .ok())
      server.route("/second", .drop)
      let session = session { $0.httpMaximumConnectionsPerHost = 1 }
      for round in 1...5 {
        try await HTTPOperation(request(server.url("/first")), session: session).run()
        let second = request(server.url("/second"), method) { $0.httpBody = body.map { Data($0.utf8) } }
        #expect(await outcomeOfStarting(HTTPOperation(second, session: session)).httpError?.code == .connectionLost)
        #expect(server.count("/second") == round)
      }
    }
  }

  @Test func request_thatMayBeRepeated_isMadeOnceMore_onAConnectionThatWasClosed() async throws {
    try await withServer { server in
      server.route("/first", .ok())
      server.route("/second", HTTPRoute { $0.number == 1 ? .drop : .ok("second") })
      let session = session()
      try await HTTPOperation(request(server.url("/first")), session: session).run()
      let answer = await outcomeOfStarting(HTTPOperation(request(server.url("/second")), session: session))
      // Whether it is asked again is for the transport to say.
      #expect(answer.value.map { $0.text == "second" } ?? (answer.httpError?.code == .connectionLost))
      #if canImport(FoundationNetworking)
      #expect(answer.value?.text == "second" && server.count("/second") == 2)
      #endif
    }
  }

  #if canImport(FoundationNetworking)
  /// Three connections are kept, and the server closes each upon the request.
  @Test(arguments: ["GET", "PUT"]) func request_thatMayBeRepeated_isSentTwiceAtMost(_ method: String) async throws {
    try await withServer { server in
      let gate = Gate()
      server.route("/first", HTTPAnswer.ok().held(by: gate))
      server.route("/second", .drop)
      let session = session()
      let operations = (0..<3).map { _ in HTTPOperation(request(server.url("/first")), session: session) }
      for operation in operations { operation.start() }
      await server.requests.wait(forCount: 3)
      gate.open()
      for operation in operations { #expect(await settled(operation).value?.text == "ok\n") }
      let second = request(server.url("/second"), method) { if method == "PUT" { $0.httpBody = Data("body".utf8) } }
      let outcome = await outcomeOfStarting(HTTPOperation(second, session: session))
      #expect(outcome.httpError?.code == .connectionLost, "\(outcome)")
      #expect(server.count("/second") == 2)
      // The second time on a connection of its own.
      let open = [0] + server.openConnections.events
      #expect(zip(open, open.dropFirst()).count { $0 < $1 } == 4)
    }
  }
  #endif

  // MARK: - Passwords

  #if canImport(FoundationNetworking)
  @Test(arguments: ["Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\", algorithm=MD5, qop=\"auth\""])
  func password_ofTheAddress_isGivenWhenItIsAskedFor(_ challenge: String) async throws {
    try await withServer { server in
      let scheme = String(challenge.prefix { $0 != " " })
      server.route(
        "/",
        HTTPRoute { request in
          request.headers["authorization"]?.hasPrefix(scheme) == true
            ? .ok("welcome") : .status(401, headers: [("WWW-Authenticate", challenge)], body: "who are you?")
        })
      let url = server.url().replacing("http://", with: "http://user:secret@")
      let answer = try await HTTPOperation(request(url)).run()
      #expect(answer.text == "welcome")
      let first = server.requests.events.first
      #expect(first?.headers["authorization"] == nil)
      if scheme == "Basic" {
        #expect(server.requests.events.last?.headers["authorization"] == "Basic dXNlcjpzZWNyZXQ=")
      }
      let post = request(url, "POST") { $0.httpBody = Data("body".utf8) }
      try await HTTPOperation(post).run()
      #expect(server.requests.events.last?.text == "body")
    }
  }

  /// The server closes the connection, which was kept since the challenge, upon the request with
  /// the password.
  @Test(arguments: ["body", "", nil])
  func request_thatMustNotBeRepeated_isMadeOnce_afterAChallenge(_ body: String?) async throws {
    try await withServer { server in
      server.route(
        "/",
        HTTPRoute {
          $0.headers["authorization"] == nil
            ? .status(401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")], body: "who are you?") : .drop
        })
      let url = server.url().replacing("http://", with: "http://user:secret@")
      let post = request(url, "POST") { $0.httpBody = body.map { Data($0.utf8) } }
      let outcome = await outcomeOfStarting(HTTPOperation(post, session: session()))
      #expect(outcome.httpError?.code == .connectionLost, "\(outcome)")
      #expect(server.requests.events.count { $0.headers["authorization"] != nil } == 1)
    }
  }

  @Test func password_thatIsWrong_isTheAnswerOfTheServer() async throws {
    try await withServer { server in
      server.route("/", .status(401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")], body: "no"))
      let url = server.url().replacing("http://", with: "http://user:wrong@")
      let error = await outcomeOfStarting(HTTPOperation(request(url))).statusError
      #expect(error?.status == 401 && error.map { String(decoding: $0.body, as: UTF8.self) } == "no")
      #expect(server.requests.count == 2)
    }
  }

  @Test func challenge_thatIsCutOff_isAnError() async throws {
    let challenge = "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\n"
    for (end, codes) in [
      ("", [HTTPError.Code.connectionLost]), ("Content-Length: 100\r\n\r\nno", [.truncatedBody, .connectionLost]),
    ] {
      try await withServer(keepsConnections: false) { server in
        server.route("/", .raw(challenge + end))
        let url = server.url().replacing("http://", with: "http://user:wrong@")
        let error = await outcomeOfStarting(HTTPOperation(request(url))).httpError
        #expect(error.map { codes.contains($0.code) } == true, "\(end): \(error.map { "\($0)" } ?? "none")")
        #expect(server.requests.count <= 2)
      }
    }
  }
  #endif

  // MARK: - Protocols of others

  /// A stand-in for the network, as tests of apps have it.
  private final class Mock: URLProtocol {
    override class func canInit(with request: URLRequest) -> Bool { request.url?.host == "mock" }
    override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
    override func startLoading() {
      let response = HTTPURLResponse(url: request.url!, statusCode: 200, httpVersion: "HTTP/1.1", headerFields: [:])!
      client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
      client?.urlProtocol(self, didLoad: Data("mocked".utf8))
      client?.urlProtocolDidFinishLoading(self)
    }
    override func stopLoading() {}
  }

  @Test func protocol_ofTheSession_isAsked() async throws {
    let session = session { $0.protocolClasses = [Mock.self] + ($0.protocolClasses ?? []) }
    let answer = try await HTTPOperation(request("http://mock/"), session: session).run()
    #expect(answer.text == "mocked")
  }

  // MARK: - Requests

  @Test func scheme_inAnyCase_isTaken() async throws {
    try await withServer { server in
      server.route("/", .redirect(to: server.url("/there").replacing("http:", with: "HTTP:")))
      server.route("/there", .ok("there"))
      let answer = try await HTTPOperation(request(server.url().replacing("http:", with: "HTTP:"))).run()
      #expect(answer.text == "there")
    }
  }

  @Test(arguments: ["POST", "PUT", "PATCH"]) func requestWithoutABody_saysSo(_ method: String) async throws {
    try await withServer { server in
      server.route("/", .ok())
      try await HTTPOperation(request(server.url(), method)).run()
      #expect(server.requests.events.first?.headers["content-length"] == "0")
    }
  }

  #if os(Linux)
  /// Also behind a redirect. In a process of its own, in which nothing else needs a thread.
  @Test func answer_whileOperationsKeepAllProcessorsBusy_settles() async {
    await #expect(processExitsWith: .success) {
      let (server, gate, end) = (try HTTPServer(), Gate(), Gate())
      server.route("/", HTTPAnswer.redirect(to: server.url("/there")).held(by: gate))
      server.route("/there", .ok())
      let operation = HTTPOperation(request(server.url()))
      operation.completion = { _ in end.open() }
      operation.start()
      await server.requests.wait(forCount: 1)
      let work = CompositeOperation(operations: computing(until: end) { gate.open() })
      work.start()
      _ = await settled(work)
      await server.stop()
    }
  }
  #endif
}
