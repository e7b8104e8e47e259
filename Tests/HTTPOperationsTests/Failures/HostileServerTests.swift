import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Exact bytes from a server that breaks the rules, or bends them. None ends the process, and each
/// ends as it should.
@Suite("HTTP: hostile servers", .hangLimit) struct HostileServerTests {
  /// What a server sends to a request before it closes the connection, and how the request has to
  /// end.
  struct Case: CustomTestStringConvertible, Sendable {
    enum End: Equatable {
      case success(String)
      case status(Int)
      case failure(HTTPError.Code)
    }

    let testDescription: String
    let answer: HTTPAnswer
    let end: End
    var limits = HTTPOptions(maxBodySize: 1 << 20)

    init(_ name: String, _ answer: HTTPAnswer, _ end: End) {
      testDescription = name
      self.answer = answer
      self.end = end
    }

    init(_ name: String, _ text: String, _ end: End) {
      self.init(name, .raw(text), end)
    }
  }

  private static let ok = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
  private static let much = HTTPPiece(String(repeating: "x", count: 65_536))

  private static func lines(_ count: Int, _ line: (Int) -> String) -> String {
    (1...count).map { line($0) + "\r\n" }.joined()
  }

  private static func packed(_ codings: String, _ body: [UInt8]) -> HTTPAnswer {
    .raw(Array((ok + "Content-Encoding: \(codings)\r\n\r\n").utf8) + body)
  }

  private static func chunked(_ body: String) -> String { ok + "Transfer-Encoding: chunked\r\n\r\n" + body }

  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  private static let hello = Gzip.stored(Array("hello".utf8))

  private static func withHello(_ fields: String) -> String { ok + fields + "Content-Length: 5\r\n\r\nhello" }

  private static let longField = HTTPPiece("X-T: " + String(repeating: "z", count: 1_000) + "\r\n")

  // MARK: - Answers that are cut off

  static let cutOff: [Case] = [
    Case("in a field", "HTTP/1.1 200 OK\r\nContent-Type: te", .failure(.connectionLost)),
    Case("after a field", ok, .failure(.connectionLost)),
    Case("after the first line", "HTTP/1.1 200 OK\r\n", .failure(.connectionLost)),
    Case("in the first line", "HTTP/1.1 200 OK", .failure(.connectionLost)),
    Case("in a redirect", "HTTP/1.1 302 Found\r\nLocation: /normal\r\n", .failure(.connectionLost)),
    Case("after an interim answer", "HTTP/1.1 100 Continue\r\n\r\n", .failure(.connectionLost)),
    Case("by a reset", .reset, .failure(.connectionLost)),
    Case(
      "by a reset, in a long body",
      HTTPAnswer.raw(ok + "Content-Length: 400000\r\n\r\n" + text(300_000)).thenReset(), .failure(.truncatedBody)),
    Case(
      "by a reset, in a body without a length", HTTPAnswer.raw(ok + "\r\n" + text(300_000)).thenReset(),
      .failure(.truncatedBody)),
    Case("in a refusal", "HTTP/1.1 401 No\r\nWWW-Authenticate: Ba", .failure(.connectionLost)),
    Case(
      "in the body of a refusal",
      "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 10\r\n\r\nwho",
      .failure(.truncatedBody)),
    Case("before 2^63-1 bytes", ok + "Content-Length: 9223372036854775807\r\n\r\nhello", .failure(.truncatedBody)),
    Case("before 2^63-8 bytes", ok + "Content-Length: 9223372036854775800\r\n\r\nhello", .failure(.truncatedBody)),
    Case("before 2^62 bytes", ok + "Content-Length: 4611686018427387904\r\n\r\nhello", .failure(.truncatedBody)),
    Case("in a chunk", chunked("10\r\nhello"), .failure(.truncatedBody)),
    Case("after a chunk", chunked("5\r\nhello\r\n"), .failure(.truncatedBody)),
    Case(
      "in a packed body",
      packed("gzip", Gzip.stored((0..<5_000).map(HTTPAnswer.largeByte)).dropLast(3_000)),
      .failure(.truncatedBody)),
    Case("after the first byte of a packed body", packed("gzip", Array(hello.prefix(1))), .failure(.truncatedBody)),
    Case("in the checksum of a packed body", packed("gzip", hello.dropLast(3)), .failure(.truncatedBody)),
    Case("in the second part of a packed body", packed("gzip", hello + hello.dropLast(9)), .failure(.truncatedBody)),
    Case(
      "in the inner one of two packed bodies", packed("gzip, gzip", Gzip.stored(hello.dropLast(3))),
      .failure(.truncatedBody)),
  ]

  // MARK: - Answers that are unusual, and right

  static let unusual: [Case] = [
    Case("no reason", "HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello", .success("hello")),
    Case("no reason in 1.0", "HTTP/1.0 404\r\nContent-Length: 5\r\n\r\nhello", .status(404)),
    Case("bare line feeds", "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", .success("hello")),
    Case("a length beyond all numbers", ok + "Content-Length: 99999999999999999999999\r\n\r\nhello", .success("hello")),
    Case(
      "Latin-1",
      .raw(
        Array((ok + "Content-Disposition: attachment; filename=").utf8) + [0xE9]
          + Array(".txt\r\nContent-Length: 5\r\n\r\nhello".utf8)),
      .success("hello")),
    Case("9,000 fields", withHello(lines(9_000) { "X-\($0): v" }), .success("hello")),
    Case(
      "3,000 cookies", withHello(lines(3_000) { "Set-Cookie: c\($0)=v; Path=/" }),
      .success("hello")),
    Case(
      "interim answers", lines(20) { _ in "HTTP/1.1 102 Processing\r\nX: 1\r\n" } + withHello(""), .success("hello")),
    Case(
      "a reset after a whole body",
      HTTPAnswer.raw(ok + "Content-Length: 300000\r\n\r\n" + text(300_000)).thenReset(), .success(text(300_000))),
    Case(
      "a length, and chunks", ok + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      .success("hello")),
    Case(
      "chunks, and a length", ok + "Transfer-Encoding: chunked\r\nContent-Length: 300\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
      .success("hello")),
    Case("zeros after a packed body", packed("gzip", hello + [0, 0, 0, 0]), .success("hello")),
    Case("a text after a packed body", packed("gzip", hello + Array("<!-- served by x -->".utf8)), .success("hello")),
    Case("a trailer", chunked("5\r\nhello\r\n0\r\nX-T: v\r\n\r\n"), .success("hello")),
    Case(
      "a packed body", packed("gzip", Gzip.stored(Array("hello".utf8))),
      .success("hello")),
    Case(
      "a body packed twice",
      packed("gzip, gzip", Gzip.stored(Gzip.stored(Array("hello".utf8)))),
      .success("hello")),
    Case(
      "a body packed in two parts",
      packed("x-gzip", Gzip.stored(Array("hel".utf8)) + Gzip.stored(Array("lo".utf8))),
      .success("hello")),
  ]

  // MARK: - Cookies that Foundation cannot read

  static let cookies: [Case] = [
    "😀=", "e\u{301}=", "a=1; 😀=", "a=\u{301}b=", "ab\u{200D}=", "a=1; =\u{338}=",
    "a=1; Expires=Wed, 09 Jun 2100 10:18:14 GMT\u{301}", "a=1; Expires=\u{200D}", "a=1; Max-Age=\u{301}1",
  ].map { Case("the cookie \($0)", withHello("Set-Cookie: \($0)\r\n"), .success("hello")) }

  // MARK: - Redirects whose body is of no use

  private static let redirect = "HTTP/1.1 302 Found\r\nLocation: /normal\r\n"

  static let redirects: [Case] = [
    Case("bad chunks", redirect + "Transfer-Encoding: chunked\r\n\r\nZZZ\r\nhello\r\n", .success("normal")),
    Case("a damaged packed body", redirect + "Content-Encoding: gzip\r\n\r\nhello, hello", .success("normal")),
    Case("a body that is cut off", redirect + "Content-Length: 100\r\n\r\nhello", .success("normal")),
    Case(
      "a body that is reset",
      HTTPAnswer.raw(redirect + "Content-Length: 100\r\n\r\nhello").thenReset(), .success("normal")),
    Case(
      "a body that never begins", .endless(redirect + "\r\n", then: HTTPPiece("x").held(by: Gate())), .success("normal")
    ),
    Case(
      "a body that trickles", .endless(redirect + "\r\n", then: HTTPPiece("x").delayed(by: .milliseconds(20))),
      .success("normal")),
  ]

  // MARK: - Answers that are none

  static let malformed: [Case] = [
    Case("no colon", withHello("no colon here\r\n"), .failure(.malformedAnswer)),
    Case("a zero byte", withHello("X: a\0b\r\n"), .failure(.malformedAnswer)),
    Case("no name", withHello(": x\r\n"), .failure(.malformedAnswer)),
    Case("a negative length", ok + "Content-Length: -1\r\n\r\nhello", .failure(.malformedAnswer)),
    Case("two lengths", ok + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", .failure(.malformedAnswer)),
    Case(
      "501 codings", packed([String](repeating: "gzip", count: 501).joined(separator: ", "), Array("hello".utf8)),
      .failure(.malformedAnswer)),
    Case("three codings", packed("gzip, gzip, gzip", Gzip.stored(Gzip.stored(hello))), .failure(.malformedAnswer)),
    Case("a damaged second part", packed("gzip", hello + [0x1F, 7, 7, 7]), .failure(.malformedAnswer)),
    Case("bad chunks", chunked("ZZZ\r\nhello\r\n0\r\n\r\n"), .failure(.malformedAnswer)),
    Case(
      "a damaged packed body",
      packed("gzip", (0..<1_000).map { HTTPAnswer.largeByte($0 * 7 + 1) }),
      .failure(.malformedAnswer)),
  ]

  // MARK: - Fields after a body, which libcurl looks at

  #if canImport(FoundationNetworking)
  static let trailers: [Case] = [
    Case("a long field", chunked("5\r\nhello\r\n0\r\nX-T: \(text(5_000))\r\n\r\n"), .failure(.headerTooLarge)),
    Case("a field without a colon", chunked("5\r\nhello\r\n0\r\nno colon here\r\n\r\n"), .failure(.malformedAnswer)),
  ]
  #else
  static let trailers: [Case] = []
  #endif

  // MARK: - Answers without measure

  static let endless: [Case] = [
    Case("a body", .endless(ok + "\r\n", then: much), .failure(.bodyTooLarge)),
    Case(
      "chunks",
      .endless(chunked(""), then: HTTPPiece("10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n")),
      .failure(.bodyTooLarge)),
    Case(
      "a packed body", packed("gzip", Gzip.zeros(byteCount: 64 << 20)),
      .failure(.bodyTooLarge)),
    Case(
      "a body packed twice",
      packed("gzip, gzip", Gzip.stored(Gzip.zeros(byteCount: 64 << 20))),
      .failure(.bodyTooLarge)),
    Case(
      "a trailer",
      .endless(
        chunked("5\r\nhello\r\n0\r\n"), then: longField),
      .failure(.headerTooLarge)),
    Case("fields", .endless(ok, then: longField), .failure(.headerTooLarge)),
    Case("one field", .endless(ok + "X: ", then: much), .failure(.headerTooLarge)),
    Case("100,000 fields", withHello(lines(100_000) { "X-\($0): v" }), .failure(.headerTooLarge)),
    Case(
      "interim answers", .endless("", then: HTTPPiece("HTTP/1.1 102 Processing\r\nX: 1\r\n\r\n")),
      .failure(.headerTooLarge)),
    Case(
      "the body of a redirect", .endless("HTTP/1.1 302 Found\r\nLocation: /normal\r\n\r\n", then: much),
      .success("normal")),
    Case("the body of an error", .endless("HTTP/1.1 500 Oh\r\n\r\n", then: much), .failure(.bodyTooLarge)),
  ]

  @Test(arguments: cutOff + unusual + cookies + redirects + malformed + trailers + endless)
  func answer_endsAsItShould(_ hostile: Case) async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/", hostile.answer)
      server.route("/normal", .ok("normal"))
      let session = URLSession(configuration: .ephemeral)
      let operation = HTTPOperation(request(server.url()), session: session, options: hostile.limits)
      let outcome = await outcomeOfStarting(operation)
      switch hostile.end {
      case .success(let text):
        #expect(outcome.value?.text == text, "\(outcome)")
      case .status(let status):
        #expect(outcome.statusError?.status == status, "\(outcome)")
      case .failure(let code):
        #expect(outcome.httpError?.code == code, "\(outcome.error.map { "\($0)" } ?? "\(outcome)")")
        #expect(outcome.httpError?.url?.absoluteString == server.url())
      }
    }
  }

  @Test func answer_packedTooOften_saysSo() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route("/", Self.packed("gzip, gzip, gzip", Self.hello))
      let error = try #require(await outcomeOfStarting(HTTPOperation(request(server.url()))).httpError)
      #expect("\(error)".contains("its body is packed more than 2 times"), "\(error)")
    }
  }

  @Test func tricklingBody_endsWhenItsTimeIsOver() async throws {
    try await withServer { server in
      for (path, head) in [("/body", Self.ok + "Content-Length: 100000\r\n\r\n"), ("/header", Self.ok + "X: ")] {
        server.route(path, .endless(head, then: HTTPPiece("x").delayed(by: .milliseconds(20))))
        // The time with nothing is never over, that of the whole request is.
        let operation = HTTPOperation(request(server.url(path)), options: HTTPOptions(totalTime: .milliseconds(300)))
        let error = try #require(await outcomeOfStarting(operation).httpError)
        #expect(error.code == .timedOut && "\(error)".contains("0.3 seconds"), "\(error)")
      }
    }
  }

  @Test func otherRequests_goOnBesideHostileOnes() async throws {
    try await withServer { hostile in
      try await withServer { good in
        hostile.route("/", .endless(Self.ok + "\r\n", then: Self.much))
        hostile.route("/slow", .endless(Self.ok + "X: ", then: HTTPPiece("x").delayed(by: .milliseconds(20))))
        good.route("/", .ok("good"))
        let session = URLSession(configuration: .ephemeral)
        let isOver = Locked(false)
        await withTaskGroup(of: Void.self) { group in
          for path in ["/", "/slow", "/", "/slow"] {
            group.addTask {
              while !isOver.current {
                let operation = HTTPOperation(
                  request(hostile.url(path)), session: session, options: HTTPOptions(totalTime: .seconds(1)))
                #expect(await outcomeOfStarting(operation).httpError != nil)
              }
            }
          }
          await hostile.requests.wait(forCount: 4)
          for _ in 0..<20 {
            // Much for a busy machine, and little for a request that starves.
            let operation = HTTPOperation(
              request(good.url()), session: session, options: HTTPOptions(totalTime: .seconds(1_200)))
            let answer = await outcomeOfStarting(operation)
            #expect(answer.value?.text == "good", "\(answer)")
          }
          isOver.withLock { $0 = true }
        }
      }
    }
  }

  @Test(arguments: ["/body", "/header", "/silence", "/redirect"])
  func cancel_whateverTheServerDoes_settles(_ path: String) async throws {
    try await withServer { server in
      server.route("/body", .endless(Self.ok + "\r\n", then: HTTPPiece("x").delayed(by: .milliseconds(5))))
      server.route("/header", .endless(Self.ok + "X: ", then: HTTPPiece("x").delayed(by: .milliseconds(5))))
      server.route("/silence", HTTPAnswer.ok().held(by: Gate()))
      server.route(
        "/redirect",
        .endless("HTTP/1.1 302 Found\r\nLocation: /silence\r\n\r\n", then: HTTPPiece("x").delayed(by: .milliseconds(5)))
      )
      let operation = HTTPOperation(request(server.url(path)))
      async let outcome = outcomeOfStarting(operation)
      await server.requests.wait(forCount: 1)
      operation.cancel()
      #expect(await outcome.isCancelled)
      await server.openConnections.wait { $0.last == 0 }
    }
  }

  @Test func cookies_ofOneAnswer_areFew() async throws {
    try await withServer(keepsConnections: false) { server in
      server.route(
        "/", .raw(Self.withHello(Self.lines(3_000) { "Set-Cookie: c\($0)=v; Path=/" })))
      let configuration = URLSessionConfiguration.ephemeral
      let session = URLSession(configuration: configuration)
      try await HTTPOperation(request(server.url()), session: session).run()
      #if canImport(FoundationNetworking)
      #expect(configuration.httpCookieStorage?.cookies?.count ?? 0 <= 50)
      #endif
    }
  }
}
