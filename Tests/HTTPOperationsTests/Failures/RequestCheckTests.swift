import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What no request may have is an error before anything is sent, and not something that is left out
/// without a word.
@Suite("HTTP: requests that cannot be made", .hangLimit) struct RequestCheckTests {
  private func error(
    _ method: String = "GET", headers: HTTPHeaders = [:], _ change: (inout URLRequest) -> Void = { _ in }
  ) async throws -> HTTPError {
    let request = request("http://127.0.0.1:1/path", method, change)
    return try #require(await outcomeOfStarting(HTTPOperation(request, headers: headers)).httpError)
  }

  @Test(arguments: ["Bearer abc\n", "a\r\nX-Injected: b", "a\0b", "a\u{7F}"])
  func value_withAControlCharacter(_ value: String) async throws {
    let error = try await error(headers: ["Authorization": value])
    #expect(error.code == .invalidRequest && "\(error)".contains("its header field Authorization has a line break"))
    #expect(!"\(error)".contains("abc"))
  }

  @Test(arguments: ["X A", "X:A", "", "Größe", "X\n"])
  func name_thatIsNone(_ name: String) async throws {
    let error = try await error(headers: [name: "value"])
    #expect(error.code == .invalidRequest && "\(error)".contains("no name of a header field"))
  }

  @Test(arguments: ["G\0T", "GET /", "", "G\n"])
  func method_thatIsNone(_ method: String) async throws {
    let error = try await error(method)
    #expect(error.code == .invalidRequest && "\(error)".contains("its method has a character"))
  }

  @Test func length_thatIsWrong() async throws {
    let none = try await error { $0.setValue("5", forHTTPHeaderField: "Content-Length") }
    #expect(none.code == .invalidRequest && "\(none)".contains("is 5, but its body has 0 bytes"))
    let other = try await error("POST") {
      $0.httpBody = Data([1, 2, 3])
      $0.setValue("2", forHTTPHeaderField: "content-length")
    }
    #expect(other.code == .invalidRequest && "\(other)".contains("is 2, but its body has 3 bytes"))
  }

  @Test(arguments: ["-5", "+5", "5.0", "", "0x5"]) func length_thatIsNoNumber(_ length: String) async throws {
    let error = try await error("PUT") {
      $0.httpBodyStream = InputStream(data: Data("12345".utf8))
      $0.setValue(length, forHTTPHeaderField: "Content-Length")
    }
    #expect(error.code == .invalidRequest && "\(error)".contains("its Content-Length is"), "\(error)")
  }

  @Test func codingOfTheTransfer_isChunkedOrNone() async throws {
    func change(_ coding: String, length: String? = nil) -> (inout URLRequest) -> Void {
      {
        $0.httpBodyStream = InputStream(data: Data("12345".utf8))
        $0.setValue(coding, forHTTPHeaderField: "Transfer-Encoding")
        $0.setValue(length, forHTTPHeaderField: "Content-Length")
      }
    }
    for coding in ["gzip", "chunked, chunked", "identity"] {
      let error = try await error("PUT", change(coding))
      #expect(error.code == .invalidRequest && "\(error)".contains("its Transfer-Encoding is “\(coding)”"))
    }
    let both = try await error("PUT", change("chunked", length: "5"))
    #expect(both.code == .invalidRequest && "\(both)".contains("both a Transfer-Encoding and a Content-Length"))
    let none = try await error { $0.setValue("chunked", forHTTPHeaderField: "Transfer-Encoding") }
    #expect(none.code == .invalidRequest)
    let right = try await error("PUT", change("Chunked"))
    #expect(right.code == .connectionRefused)
  }

  @Test func length_thatIsRight_isSentOnce() async throws {
    try await withServer { server in
      server.route("/", .echo)
      let right = request(server.url(), "POST") {
        $0.httpBody = Data("abc".utf8)
        $0.setValue("3", forHTTPHeaderField: "Content-Length")
      }
      let answer = try await HTTPOperation(right).run()
      #expect(answer.text == "abc" && server.requests.events.first?.headers["content-length"] == "3")
    }
  }

  #if os(Linux)
  /// A range counts in the packed bytes, and a part of these cannot be unpacked.
  @Test func partOfABody_isNotAskedForPacked() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let part = request(server.url()) { $0.setValue("bytes=3-", forHTTPHeaderField: "range") }
      try await HTTPOperation(part).run()
      try await HTTPOperation(request(server.url())).run()
      #expect(server.requests.events.map { $0.headers["accept-encoding"] } == ["identity", "gzip, deflate"])
    }
  }

  @Test(arguments: [true, false])
  func header_thatIsTooLargeForLibcurl_isAnErrorOfTheRequest(_ isField: Bool) async throws {
    try await withServer { server in
      server.route("/", .ok())
      let long = String(repeating: "a", count: 1_100_000)
      let sent = request(server.url() + (isField ? "" : "?q=\(long)"))
      let outcome = await outcomeOfStarting(HTTPOperation(sent, headers: isField ? ["X-Long": long] : [:]))
      #expect(outcome.httpError?.code == .invalidRequest, "\(outcome)")
      #expect(server.requests.count == 0)
    }
  }
  #endif

  @Test func headers_replaceThoseOfTheRequest() async throws {
    try await withServer { server in
      server.route("/", .ok())
      let request = request(server.url()) { $0.setValue("old", forHTTPHeaderField: "x-color") }
      try await HTTPOperation(request, headers: ["X-Color": "new"]).run()
      #expect(server.requests.events.first?.headers["x-color"] == "new")
    }
  }

  @Test(arguments: [("X-Token", "a\nb", "X-Token has a line break"), ("X A", "b", "no name of a header field")])
  func fieldOfTheSession_thatNoRequestMayHave_isAnError_andNothingIsSent(
    _ name: String, _ value: String, _ mistake: String
  ) async throws {
    try await withServer { server in
      server.route("/", .ok())
      let configuration = URLSessionConfiguration.ephemeral
      configuration.httpAdditionalHeaders = [name: value]
      let session = URLSession(configuration: configuration)
      let operation = HTTPOperation(request(server.url()), session: session)
      let error = try #require(await outcomeOfStarting(operation).httpError)
      #expect(error.code == .invalidRequest && "\(error)".contains(mistake), "\(error)")
      #expect(server.requests.count == 0)
    }
  }

  // MARK: - Secrets

  @Test(arguments: [302, 307]) func secretFields_doNotFollowToAnotherServer(_ status: Int) async throws {
    try await withServer { first in
      try await withServer { second in
        first.route("/", .redirect(to: second.url(), status: status))
        first.route("/same", .redirect(to: "/end", status: status))
        first.route("/end", .ok())
        second.route("/", .ok())
        for path in ["/", "/same"] {
          let operation = HTTPOperation(
            request(first.url(path)) { $0.setValue("s", forHTTPHeaderField: "x-api-key") },
            headers: ["X-Color": "red"], options: HTTPOptions(secretFields: ["X-Api-Key"]))
          try await operation.run()
        }
        #expect(first.requests.events.allSatisfy { $0.headers["x-api-key"] == "s" && $0.headers["x-color"] == "red" })
        let there = second.requests.events.first
        #expect(there?.headers["x-api-key"] == nil && there?.headers["x-color"] == "red")
      }
    }
  }

  @Test func passwordOfARedirect_isNotUsed() async throws {
    try await withServer { first in
      try await withServer { second in
        first.route("/", .redirect(to: second.url().replacing("http://", with: "http://u:p@")))
        second.route("/", .status(401, headers: [("WWW-Authenticate", "Basic realm=\"x\"")]))
        let error = await outcomeOfStarting(HTTPOperation(request(first.url()))).statusError
        #expect(error?.status == 401 && error?.url?.absoluteString == second.url())
        #expect(second.requests.events.map { $0.headers["authorization"] } == [nil])
      }
    }
  }

  // MARK: - Keys of servers

  @Test func keyOfAServer_isNotDemandedWithoutTLS_butTheRequestRefused() async throws {
    try await withServer { server in
      server.route("/", .ok())
      server.route("/away", .redirect(to: "http://localhost:\(server.port)/"))
      for (host, path) in [("127.0.0.1", "/"), ("LOCALHOST", "/away"), ("localhost.", "/away")] {
        let options = HTTPOptions(pinnedKeys: [host: [Data(count: 32).base64EncodedString()]])
        let operation = HTTPOperation(request(server.url(path)), options: options)
        let error = try #require(await outcomeOfStarting(operation).httpError)
        #expect(error.code == .insecureConnection && "\(error)".contains("its key"), "\(error)")
      }
      #expect(server.requests.events.map(\.path) == ["/away", "/away"])
    }
  }

  // MARK: - Limits

  @Test func maxBodySize_isLimited_andTheLimitIsNamed() async throws {
    try await withServer { server in
      server.route("/", .ok("12345"))
      func outcome(_ limit: Int) async -> Outcome<HTTPResponse> {
        await outcomeOfStarting(HTTPOperation(request(server.url()), options: HTTPOptions(maxBodySize: limit)))
      }
      #expect(await outcome(5).value?.text == "12345")
      let error = try #require(await outcome(4).httpError)
      #expect(error.code == .bodyTooLarge && "\(error)".contains("more than 4 bytes"))
    }
  }

  /// The limit is for what is wanted: of an error a part will do.
  @Test func download_thatIsRefused_tellsItsStatus_whateverTheLimit() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .status(503, body: "12345"))
      let download = HTTPOperation(
        request(server.url()), transfer: .download(to: folder.file("file")), options: HTTPOptions(maxBodySize: 4))
      let error = try #require(await outcomeOfStarting(download).statusError)
      #expect(error.status == 503 && error.body == Data("1234".utf8))
    }
  }

  @Test func download_hasNoLimit() async throws {
    let folder = try TemporaryFolder()
    try await withServer { server in
      server.route("/", .ok("12345"))
      try await HTTPOperation(
        request(server.url()), transfer: .download(to: folder.file("file")), options: HTTPOptions(maxBodySize: 4)
      ).run()
      #expect(folder.text(of: "file") == "12345")
    }
  }

  @Test(arguments: [TimeInterval.nan, .infinity]) func timeOfTheSession_thatIsNone_doesNotCount(_ time: TimeInterval)
    async throws
  {
    try await withServer { server in
      server.route("/", .ok())
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForResource = time
      let answer = try await HTTPOperation(request(server.url()), session: URLSession(configuration: configuration))
        .run()
      #expect(answer.status == 200)
    }
  }

  @Test func timeOfTheSession_countsToo() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      let configuration = URLSessionConfiguration.ephemeral
      configuration.timeoutIntervalForResource = 0.25
      let operation = HTTPOperation(request(server.url()), session: URLSession(configuration: configuration))
      #expect(await outcomeOfStarting(operation).httpError?.code == .timedOut)
    }
  }
}
