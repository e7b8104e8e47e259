import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// What can go wrong on the way is an error with a code and a sentence, and never hangs.
@Suite("HTTP: bad servers and addresses", .hangLimit) struct BadServerTests {
  private func error(_ url: String) async -> HTTPError? {
    await outcomeOfStarting(HTTPOperation(request(url))).httpError
  }

  @Test(arguments: [
    "file:///etc/passwd", "ftp://host/file", "http:///path", "nothing", "http://", "data:,x", "http:path",
  ])
  func addressesThatAreNone(_ url: String) async throws {
    let error = try #require(await error(url))
    #expect(error.code == .invalidURL && error.url?.absoluteString == url)
    #expect(error.description.hasPrefix("No request can be made to "))
    // The scheme is the mistake.
    if url.hasPrefix("file:") { #expect(error.description.hasPrefix("No request can be made to \(url).")) }
  }

  @Test func requestWithoutAnAddress() async throws {
    var request = request("http://host")
    request.url = nil
    let error = await outcomeOfStarting(HTTPOperation(request)).httpError
    #expect(error?.code == .invalidURL && error?.url == nil)
  }

  @Test func lineBreakInAField_isNotSent() async throws {
    try await withServer { server in
      let operation = HTTPOperation(
        request(server.url()) { $0.setValue("a\r\nX-Injected: b", forHTTPHeaderField: "X-Color") })
      let outcome = await outcomeOfStarting(operation)
      // Foundation itself drops such a value on some platforms.
      #expect(outcome.httpError?.code == .invalidRequest || outcome.statusError?.status == 404)
      #expect(!server.requests.events.contains { $0.headers["x-injected"] != nil })
    }
  }

  @Test func refusedConnection() async throws {
    let port = try RefusingPort()
    let error = try #require(await error(port.url("/page?key=secret")))
    #expect(error.code == .connectionRefused && error.url?.absoluteString == port.url("/page?key=secret"))
    #expect(error.description.hasPrefix("\(port.url("/page")) cannot be connected to"))
    #expect(!error.description.contains("secret") && error.errorDescription == error.description)
    #expect(error.cause is URLError)
  }

  @Test func unknownHost() async throws {
    // No part of a host's name may be that long, so no name service is asked, which might not
    // answer.
    let host = String(repeating: "a", count: 64) + ".invalid"
    #expect(await error("http://\(host)/")?.code == .hostNotFound)
  }

  @Test func noAnswer() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/", .drop)
      #expect(await error(server.url())?.code == .connectionLost)
    }
  }

  @Test(arguments: ["SMTP ready\r\n\r\n", "\0\0\0\0\r\n\r\n"])
  func whatIsNoHTTP(_ text: String) async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/", .raw(text))
      #expect(await error(server.url())?.code == .malformedAnswer)
    }
  }

  @Test(arguments: [true, false])
  func bodyThatIsCutShort(_ isChunked: Bool) async throws {
    try await withServer(keepsConnections: false) { server in
      server.route(
        "/", HTTPAnswer.pieces([HTTPPiece("one"), HTTPPiece("two")], isChunked: isChunked).cutShort(after: 3))
      let error = try #require(await error(server.url()))
      #expect(error.code == .truncatedBody && error.url?.absoluteString == server.url())
    }
  }

  @Test func hugeHeader() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/long", .hugeHeader(byteCount: 50_000))
      server.route("/huge", .hugeHeader(byteCount: 1_000_000))
      let long = try await HTTPOperation(request(server.url("/long"))).run()
      #expect(long.headers["X-Huge"]?.count == 50_000)
      #expect(await error(server.url("/huge"))?.code == .headerTooLarge)
    }
  }

  #if canImport(FoundationNetworking)
  @Test func hugeHeader_thatIsWithinTheLimitOfTheOptions_namesThatOfLibcurl() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/", .hugeHeader(byteCount: 150_000))
      let error = try #require(await error(server.url()))
      #expect(error.code == .headerTooLarge && error.description.contains("no line of more than 100 KiB"), "\(error)")
    }
  }
  #endif

  @Test func timeoutOfTheRequest() async throws {
    try await withServer { server in
      server.route("/", HTTPAnswer.ok().held(by: Gate()))
      // On a busy machine a short time may be over before the server has seen the request.
      var timeout = 0.2
      repeat {
        let operation = HTTPOperation(request(server.url()) { $0.timeoutInterval = timeout })
        #expect(await outcomeOfStarting(operation).httpError?.code == .timedOut)
        timeout *= 4
      } while server.requests.count == 0
      await server.abandonedRequests.wait(forCount: 1)
    }
  }

  @Test func everyCode_hasASentenceOfItsOwn() {
    let sentences = HTTPError.Code.allCases.map {
      HTTPError($0, url: URL(string: "http://u:p@host/x?key=1")).description
    }
    #expect(Set(sentences).count == HTTPError.Code.allCases.count)
    #expect(sentences.allSatisfy { $0.contains("http://host/x") && $0.hasSuffix(".") })
  }
}
