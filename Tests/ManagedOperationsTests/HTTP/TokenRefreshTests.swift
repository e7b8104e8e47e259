import CompositeOperations
import Foundation
import HTTPOperations
import ManagedOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The client's side of a token: what it has now, and how it gets a new one.
private final class TokenStore: Sendable {
  let current = Locked("none")
  let refreshes = EventRecorder<String>()

  func refresh(from server: HTTPServer) async throws {
    let response = try await HTTPOperation(request(server.url("/token"), "POST")).run()
    let token = String(decoding: response.body, as: UTF8.self)
    current.withLock { $0 = token }
    refreshes.record(token)
  }

  /// Gives requests the token of the moment.
  var interceptor: AnyInterceptor {
    .headers { [self] _ in ["Authorization": "Bearer \(current.current)"] }
  }
}

/// A server with a secret, and a client that has no valid token yet.
private struct SecretServer {
  let server: HTTPServer
  let tokens = HTTPTokens()
  let store = TokenStore()
  let http: HTTPManager

  /// - Parameter refresh: gets a new token; by default from the server.
  init(
    on server: HTTPServer,
    refresh: @escaping @Sendable (TokenStore, HTTPServer) async throws -> Void = { try await $0.refresh(from: $1) }
  ) {
    self.server = server
    server.route("/token", .refreshing(tokens))
    server.route("/secret", .protected(by: tokens, then: .ok("secret")))
    http = HTTPManager(
      interceptors: [store.interceptor],
      reactors: [.refreshingToken { [store] _ in try await refresh(store, server) }], clock: ManualClock())
  }

  var request: URLRequest { ManagedOperationsTests.request(server.url("/secret")) }
}

@Suite("Refreshing tokens", .timeLimit(.minutes(30))) struct TokenRefreshTests {
  @Test(arguments: [nil, 4])
  func hundredRefused_fiftyOfThemAfterTheRefresh_causeOneRefresh(_ width: Int?) async throws {
    try await withServer { server in
      let tokens = HTTPTokens()
      let store = TokenStore()
      let refreshed = Gate()
      server.route("/token", .refreshing(tokens))
      // Half of the refusals come when the new token is there already.
      for number in 0..<100 {
        server.route(
          "/\(number)",
          HTTPRoute { request in
            if tokens.accepts(request) { return .ok("\(number)") }
            let refusal = HTTPAnswer.status(401, headers: [("WWW-Authenticate", "Bearer")])
            return number < 50 ? refusal : refusal.held(by: refreshed)
          })
      }
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpMaximumConnectionsPerHost = 100
      let http = HTTPManager(
        configuration: configuration, interceptors: [store.interceptor],
        reactors: [
          .refreshingToken { _ in
            try await store.refresh(from: server)
            refreshed.open()
          }
        ], clock: ManualClock())
      if let width { http.operations.maxConcurrentOperationCount = width }
      let handles = (0..<100).map { http.operations.add(HTTPTask(request(server.url("/\($0)")))) }
      for (number, handle) in handles.enumerated() {
        #expect(await settled(handle).value?.body == Data("\(number)".utf8))
      }
      #expect(tokens.refreshCount == 1 && store.refreshes.count == 1)
    }
  }

  @Test func requestsThatWaitedWithTheOldToken_causeNoRefresh() async throws {
    // A connection that is kept may be dropped under a client, which then asks again, and that is
    // counted.
    try await withServer(keepsConnections: false) { server in
      let secret = SecretServer(on: server)
      // All are intercepted, with the old token, before the first one is refused.
      secret.http.operations.maxConcurrentOperationCount = 1
      secret.http.operations.isSuspended = true
      let handles = (0..<20).map { _ in secret.http.operations.add(HTTPTask(secret.request)) }
      await until(handles.allSatisfy { $0.state == .queued })
      secret.http.operations.isSuspended = false
      for handle in handles { #expect(await settled(handle).value?.body == Data("secret".utf8)) }
      #expect(secret.tokens.refreshCount == 1)
      // The first alone was refused: the others are not sent with the token that is known to be
      // old.
      #expect(server.count("/secret") == 21)
    }
  }

  /// Where a request has a token of its own.
  enum OwnToken: CaseIterable {
    case none, inTheRequest, inTheTask
  }

  @Test(arguments: OwnToken.allCases)
  func refreshThatLeavesNoToken_oldOneIsNotSentAgain(_ own: OwnToken) async throws {
    try await withServer(keepsConnections: false) { server in
      let token = Locked<String?>("old")
      server.route("/", HTTPRoute { $0.headers["authorization"] == "Bearer old" ? .status(401) : .ok() })
      let http = HTTPManager(
        interceptors: [.headers { _ in token.current.map { ["Authorization": "Bearer \($0)"] } ?? [:] }],
        reactors: [.refreshingToken { _ in token.withLock { $0 = nil } }], clock: ManualClock())
      var task = HTTPTask(request(server.url(), token: own == .inTheRequest ? "own" : nil))
      if own == .inTheTask { task.headers["Authorization"] = "Bearer own" }
      // The second one waits with the old token, too.
      http.operations.maxConcurrentOperationCount = 1
      http.operations.isSuspended = true
      let handles = (0..<2).map { _ in http.operations.add(task) }
      await until(handles.allSatisfy { $0.state == .queued })
      http.operations.isSuspended = false
      for handle in handles { #expect(await settled(handle).value?.status == 200) }
      let expected = own == .none ? nil : "Bearer own"
      #expect(server.requests.events.map { $0.headers["authorization"] } == ["Bearer old", expected, expected])
    }
  }

  @Test func tokenThatExpiresAgain_isRefreshedAgain() async throws {
    try await withServer { server in
      let secret = SecretServer(on: server)
      for round in 1...3 {
        let answer = try await secret.http.data(for: secret.request)
        #expect(answer.status == 200)
        #expect(secret.store.refreshes.count == round)
        secret.tokens.refresh()
      }
    }
  }

  @Test func requestsWithTheirOwnToken_areRefreshedWithoutAnInterceptor() async throws {
    // No interceptor changes the request: its cookies may have changed, or the server's mind.
    try await withServer { server in
      let allowed = Locked(0)
      server.route("/", HTTPRoute { _ in allowed.current > 0 ? .ok() : .status(401) })
      let http = HTTPManager(reactors: [.refreshingToken { _ in allowed.increment() }], clock: ManualClock())
      var task = HTTPTask(request(server.url()))
      task.request.setValue("x", forHTTPHeaderField: "X-Changed")
      for round in 1...3 {
        let answer = try await http.operations.run(task)
        #expect(answer.status == 200)
        #expect(allowed.current == 1, "round \(round)")
      }
      allowed.withLock { $0 = 0 }
      let secondAnswer = try await http.operations.run(task)
      #expect(secondAnswer.status == 200)
      #expect(allowed.current == 1)
    }
  }

  @Test func serverThatNeverAccepts_endsWithItsAnswer() async throws {
    try await withServer { server in
      let refreshes = Locked(0)
      server.route("/", .status(401, body: "never"))
      let http = HTTPManager(
        reactors: [.refreshingToken(maxRequeues: 2) { _ in refreshes.increment() }], clock: ManualClock())
      let error = await settled(http.operations.add(HTTPTask(request(server.url())))).error as? HTTPStatusError
      #expect(error?.status == 401 && error?.body == Data("never".utf8))
      #expect(server.count("/") == 3 && refreshes.current == 2)
    }
  }

  @Test func refreshThatFails_failsThoseThatWait_andIsTriedAgainByTheNext() async throws {
    struct NoToken: Error {}
    try await withServer { server in
      let attempts = Locked(0)
      let secret = SecretServer(on: server) { store, server in
        if attempts.increment() == 1 { throw NoToken() }
        try await store.refresh(from: server)
      }
      let error = await settled(secret.http.operations.add(HTTPTask(secret.request))).error as? ManagedTaskError
      #expect(error?.code == .reactionFailed && error?.cause is NoToken)
      #expect((error?.original as? HTTPStatusError)?.status == 401)
      let answer = try await secret.http.data(for: secret.request)
      #expect(answer.status == 200)
    }
  }

  @Test func servers_haveTheirOwnTokens() async throws {
    try await withServer { first in
      try await withServer { second in
        let keys = EventRecorder<String>()
        for server in [first, second] { server.route("/", .failing(1, with: .status(401), then: .ok())) }
        let http = HTTPManager(reactors: [.refreshingToken { keys.record($0.key ?? "none") }], clock: ManualClock())
        async let one = http.data(for: request(first.url()))
        async let two = http.data(for: request(second.url()))
        let statuses = try await [one.status, two.status]
        #expect(statuses == [200, 200])
        #expect(Set(keys.events) == ["http://127.0.0.1:\(first.port)", "http://127.0.0.1:\(second.port)"])
        #expect(keys.count == 2)
      }
    }
  }

  @Test func otherStatuses_andAcceptedRefusals() async throws {
    try await withServer { server in
      let refreshes = Locked(0)
      server.route("/403", .failing(1, with: .status(403), then: .ok()))
      server.route("/401", .failing(1, with: .status(401), then: .ok()))
      let http = HTTPManager(
        reactors: [.refreshingToken(statuses: [401, 403]) { _ in refreshes.increment() }], clock: ManualClock())
      let answer = try await http.data(for: request(server.url("/403")))
      #expect(answer.status == 200)
      let secondAnswer = try await http.operations.run(HTTPTask(request(server.url("/401")), acceptedStatuses: nil))
      #expect(secondAnswer.status == 200)
      #expect(refreshes.current == 2)
    }
  }

  @Test func cancelWhileTheTokenIsRefreshed_endsTheOneOnly() async throws {
    try await withServer { server in
      let (refreshing, mayGoOn) = (Gate(), Gate())
      server.route("/", .failing(2, with: .status(401), then: .ok()))
      let http = HTTPManager(
        reactors: [
          .refreshingToken { _ in
            refreshing.open()
            await mayGoOn.wait()
          }
        ], clock: ManualClock())
      let handles = (0..<2).map { _ in http.operations.add(HTTPTask(request(server.url()))) }
      await refreshing.wait()
      handles[0].cancel()
      #expect(await settled(handles[0]).isCancelled)
      mayGoOn.open()
      #expect(await settled(handles[1]).value?.status == 200)
    }
  }

  #if canImport(FoundationNetworking)
  /// The first attempt has read it.
  @Test func bodyThatIsAStream_isNotSentTwice_andSaysSo() async throws {
    try await withServer { server in
      server.route("/", .failing(1, with: .status(401), then: .ok()))
      let http = HTTPManager(reactors: [.refreshingToken { _ in }], clock: ManualClock())
      var sent = request(server.url(), "PUT")
      sent.httpBodyStream = InputStream(data: Data("abc".utf8))
      sent.setValue("3", forHTTPHeaderField: "Content-Length")
      let error = await settled(http.operations.add(HTTPTask(sent))).error as? HTTPError
      #expect(error?.code == .invalidRequest)
      #expect(error?.description.contains("a stream that was read before") == true)
      #expect(server.count("/") == 1)
    }
  }
  #endif
}
