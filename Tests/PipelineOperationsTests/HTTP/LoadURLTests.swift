import CompositeOperations
import Foundation
import HTTPOperations
import PipelineOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("LoadURL", .timeLimit(.minutes(30)))
struct LoadURLTests {
  private struct City: Codable, Sendable, Equatable {
    let name: String
  }

  @Test func loadURL_givesTheBody_toTheNextStep() async throws {
    try await withServer { server in
      server.route("/cities", .ok(#"[{"name": "Oslo"}]"#))
      let pipeline = Pipeline(LoadURL(session: .patient)).then(DecodeJSON([City].self))
      let cities = try await pipeline.run(URL(string: server.url("/cities"))!)
      #expect(cities == [City(name: "Oslo")])
    }
  }

  @Test func loadURL_withARequestThatIsBuilt_makesIt() async throws {
    try await withServer { server in
      server.route("/city/Oslo", .ok("{}"))
      let base = server.url("/city/")
      let pipeline = Pipeline(
        LoadURL { (city: String) in
          var request = URLRequest(url: URL(string: base + city)!)
          request.timeoutInterval = 3_600
          request.setValue("application/json", forHTTPHeaderField: "Accept")
          return request
        }
      ).then(ParseJSON())
      let json = try await pipeline.run("Oslo")
      #expect(json == .object([:]))
      #expect(server.requests.events.first?.headers["accept"] == "application/json")
    }
  }

  @Test func headers_arrive_insteadOfThoseOfTheRequest() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let url = URL(string: server.url())!
      _ = try await Pipeline(LoadURL(session: .patient, headers: ["X-Color": "red"])).run(url)
      let changed = LoadURL(session: .patient, headers: ["X-Color": "blue"]) { (url: URL) in
        var request = URLRequest(url: url)
        request.setValue("old", forHTTPHeaderField: "x-color")
        return request
      }
      _ = try await Pipeline(changed).run(url)
      #expect(server.requests.events.map { $0.headers["x-color"] } == ["red", "blue"])
    }
  }

  @Test(arguments: [("Authorization", "Bearer abc\n"), ("X A", "v"), ("X-Color", "a\r\nX-Injected: b")])
  func headers_thatNoRequestMayHave_areTheErrorOfARequest(_ name: String, _ value: String) async throws {
    try await withServer { server in
      server.route("/", .ok())
      let url = URL(string: server.url())!
      let fields = HTTPHeaders([name: value])
      let expected = await outcomeOfStarting(HTTPOperation(URLRequest(url: url), headers: fields)).error as? HTTPError
      #expect(expected?.code == .invalidRequest)
      let outcomes = [
        try await outcome(of: Pipeline(LoadURL(session: .patient, headers: fields)), for: url).stepError,
        try await outcome(of: Pipeline(LoadURL(session: .patient, headers: fields).response), for: url).stepError,
        try await outcome(of: Pipeline(LoadURL(headers: fields) { URLRequest(url: $0) }), for: url).stepError,
      ]
      for error in outcomes.map({ $0?.cause as? HTTPError }) {
        #expect(error?.code == .invalidRequest)
        #expect(error.map { "\($0)" } == expected.map { "\($0)" })
      }
      #expect(server.requests.count == 0)
    }
  }

  @Test func loadURL_followsAsManyRedirectsAsAllowed() async throws {
    try await withServer { server in
      server.route("/1", .redirect(to: "/2"))
      server.route("/2", .redirect(to: "/3"))
      server.route("/3", .ok("there"))
      let url = URL(string: server.url("/1"))!
      let body = try await Pipeline(LoadURL(session: .patient, maxRedirects: 2)).run(url)
      #expect(body == Data("there".utf8))
      let error = try await outcome(of: Pipeline(LoadURL(session: .patient, maxRedirects: 1)), for: url).stepError
      #expect((error?.cause as? HTTPError)?.code == .tooManyRedirects)
      let none = LoadURL(session: .patient, acceptedStatuses: nil, maxRedirects: 0) { (url: URL) in
        URLRequest(url: url)
      }
      let answer = try await Pipeline(none.response).run(url)
      #expect(answer.status == 302 && answer.headers["Location"] == "/2")
    }
  }

  @Test func loadURL_whoseRequestCannotBeBuilt_fails() async throws {
    let step = LoadURL { (_: String) in throw TestError.first }
    let error = try await outcome(of: Pipeline(step), for: "x").stepError
    #expect(error?.stepName == "LoadURL" && error?.cause as? TestError == .first)
  }

  @Test(
    "A status that is not a success is an error with status, header fields and body",
    arguments: [400, 404, 500, 503])
  func loadURL_ofAnotherStatus_failsWithAllOfTheAnswer(status: Int) async throws {
    try await withServer { server in
      server.route("/", .status(status, headers: [("X-Reason", "none")], body: "no such thing"))
      let error = try await outcome(
        of: Pipeline(LoadURL(session: .patient)).then(ParseJSON()), for: URL(string: server.url())!
      )
      .stepError
      let answer = try #require(error?.cause as? HTTPStatusError)
      #expect(error?.stepIndex == 0 && error?.stepName == "LoadURL")
      #expect(answer.status == status && answer.headers["x-reason"] == "none")
      #expect(String(decoding: answer.body, as: UTF8.self) == "no such thing")
      let accepting = Pipeline(LoadURL(session: .patient, acceptedStatuses: nil).response).then {
        ($0.status, $0.body.count)
      }
      let accepted = try await accepting.run(URL(string: server.url())!)
      #expect(accepted == (status, 13))
    }
  }

  @Test func emptyBody_isNoJSON_andNoFailure() async throws {
    try await withServer { server in
      server.route("/", .status(200))
      let json = try await Pipeline(LoadURL(session: .patient)).then(ParseJSON()).run(URL(string: server.url())!)
      #expect(json == nil)
    }
  }

  @Test func loadURL_whereNoServerListens_fails() async throws {
    let port = try RefusingPort()
    let error = try await outcome(of: Pipeline(LoadURL(session: .patient)), for: URL(string: port.url())!).stepError
    #expect((error?.cause as? HTTPError)?.code == .connectionRefused)
  }

  @Test func loadURL_isRetried_withARequestForEachAttempt() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/flaky", .failing(2, with: .status(503), then: .ok("done")))
      let policy = RetryPolicy(maxAttempts: 3, backoff: .constant(.zero), jitter: .none)
      let pipeline = Pipeline(LoadURL(session: .patient).named("load").retrying(policy)).then {
        String(decoding: $0, as: UTF8.self)
      }
      let text = try await pipeline.run(URL(string: server.url("/flaky"))!)
      #expect(text == "done")
      #expect(server.count(of: "GET", "/flaky") == 3)
    }
  }

  @Test func response_isNamedAndWeightedLikeItsStep() {
    #expect(LoadURL().response.stepName == "LoadURL" && LoadURL().response.stepWeight == 1)
  }

  @Test func loadURL_uploadsAndDownloads() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/echo", .echo)
      let echo = URL(string: server.url("/echo"))!
      let upload = LoadURL<String>(session: .patient, transfer: { .upload(.data(Data($0.utf8))) }) { _ in
        var request = URLRequest(url: echo)
        request.httpMethod = "PUT"
        return request
      }
      let echoed = try await Pipeline(upload).run("hello")
      #expect(echoed == Data("hello".utf8))
      #expect(try await Pipeline(upload.response).then(\.body).run("hello") == echoed)
      server.route("/file", .ok("content"))
      let file = folder.url.appendingPathComponent("a/b")
      let download = LoadURL<URL>(session: .patient, transfer: { _ in .download(to: file) }) { URLRequest(url: $0) }
      let pipeline = Pipeline(download.response).then { $0.file! }.then(LoadFile())
      let content = try await pipeline.run(URL(string: server.url("/file"))!)
      #expect(content == Data("content".utf8))
    }
  }

  @Test("BkTask 7 A step finishes with its request, so a queue of one goes on; a cancel closes the connection")
  func b07_requestsFinish_andCanBeCancelled() async throws {
    try await withServer { server in
      let never = Gate()
      server.route("/quick", .ok("quick"))
      server.route("/slow", .ok("slow").held(by: never))
      let queue = OperationQueue(limit: 1)
      let load = Pipeline(LoadURL(session: .patient)).then { String(decoding: $0, as: UTF8.self) }
      let quick = (0..<3).map { _ in load.operation(for: URL(string: server.url("/quick"))!) }
      queue.add(quick)
      for operation in quick { #expect(await settled(operation).value == "quick") }
      let slow = load.operation(for: URL(string: server.url("/slow"))!)
      let after = load.operation(for: URL(string: server.url("/quick"))!)
      queue.add([slow, after])
      await server.requests.wait { $0.contains { $0.path == "/slow" } }
      slow.cancel()
      #expect(await settled(slow).isCancelled)
      #expect(await settled(after).value == "quick")
      await server.abandonedRequests.wait(forCount: 1)
      never.open()
    }
  }

  @Test(
    "BkTask 8 An address that is not HTTP is an error",
    arguments: ["file:///etc/hosts", "data:,abc", "ftp://127.0.0.1/", "nowhere"])
  func b08_otherAddressesAreErrors(address: String) async throws {
    let error = try await outcome(of: Pipeline(LoadURL(session: .patient)), for: URL(string: address)!).stepError
    #expect((error?.cause as? HTTPError)?.code == .invalidURL, "\(String(describing: error))")
  }

  @Test func progress_ofALoad_showsInThePipeline() async throws {
    try await withServer { server in
      let rest = Gate()
      server.route("/", .pieces([HTTPPiece("half "), HTTPPiece("whole").held(by: rest)], isChunked: false))
      let operation = Pipeline(LoadURL(session: .patient).weighted(3)).then { $0.count }.operation(
        for: URL(string: server.url())!)
      let half = Gate()
      operation.addObserver { event in if let fraction = event.fractionCompleted, fraction == 0.375 { half.open() } }
      operation.start()
      await half.wait()
      rest.open()
      #expect(await settled(operation).value == 10)
    }
  }
}

extension URLSession {
  /// A busy machine may let a test wait for minutes. It is the test that ends a request, not the
  /// time.
  fileprivate static let patient: URLSession = {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.timeoutIntervalForRequest = 3_600
    return URLSession(configuration: configuration)
  }()
}
