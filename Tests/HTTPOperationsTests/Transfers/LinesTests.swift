#if canImport(FoundationNetworking)
import CompositeOperations
import Foundation
import FoundationNetworking
import HTTPOperations
import TestSupport
import Testing

/// On Linux each server has a line of its own, in which requests wait for a connection.
@Suite("HTTP: lines for servers", .hangLimit) struct LinesTests {
  private func session(_ connections: Int) -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = connections
    return URLSession(configuration: configuration)
  }

  @Test func requestThatWaits_isMadeAsSoonAsOneEnds() async throws {
    try await withServer { server in
      try await withServer { other in
        other.route("/", .ok())
        let gates = (0..<6).map { _ in Gate() }
        for (number, gate) in gates.enumerated() { server.route("/\(number)", HTTPAnswer.ok().held(by: gate)) }
        let session = session(2)
        let operations = gates.indices.map { HTTPOperation(request(server.url("/\($0)")), session: session) }
        for (number, operation) in operations.enumerated() {
          operation.start()
          // They wait in the order in which they come.
          await server.requests.wait(forCount: min(number + 1, 2))
        }
        for number in gates.indices {
          try await HTTPOperation(request(other.url()), session: session).run()
          #expect(server.requests.count == min(number + 2, 6) && server.running == min(2, 6 - number))
          gates[number].open()
          #expect(await settled(operations[number]).value?.status == 200)
          await server.requests.wait(forCount: min(number + 3, 6))
        }
        #expect(server.requests.events.map(\.path) == gates.indices.map { "/\($0)" })
        #expect(server.openConnections.events.max() == 2 && server.maxConcurrent == 2)
      }
    }
  }

  @Test func requestThatWaits_isCancelled_withoutBeingMade() async throws {
    try await withServer { server in
      let gate = Gate()
      for path in ["/held", "/last"] { server.route(path, HTTPAnswer.ok().held(by: gate)) }
      let session = session(1)
      let held = HTTPOperation(request(server.url("/held")), session: session)
      held.start()
      await server.requests.wait(forCount: 1)
      let waiting = HTTPOperation(request(server.url("/waiting")), session: session)
      let last = HTTPOperation(request(server.url("/last")), session: session)
      waiting.start()
      last.start()
      waiting.cancel()
      #expect(await settled(waiting).isCancelled)
      #expect(held.outcome == nil && server.requests.count == 1)
      gate.open()
      #expect(await settled(held).value?.status == 200)
      #expect(await settled(last).value?.status == 200)
      #expect(server.requests.events.map(\.path) == ["/held", "/last"])
    }
  }

  /// The second would send the rest of it, or nothing, as its whole body.
  @Test func requestsThatWait_withOneStream_doNotShareIt() async throws {
    try await withServer { server in
      let gate = Gate()
      server.route("/held", HTTPAnswer.ok().held(by: gate))
      server.route("/", .echo)
      let session = session(1)
      let held = HTTPOperation(request(server.url("/held")), session: session)
      held.start()
      await server.requests.wait(forCount: 1)
      let body = Data((0..<1_000_000).map(HTTPAnswer.largeByte))
      let upload = request(server.url(), "PUT") {
        $0.httpBodyStream = InputStream(data: body)
        $0.setValue("\(body.count)", forHTTPHeaderField: "Content-Length")
      }
      let operations = (0..<2).map { _ in HTTPOperation(upload, session: session) }
      for operation in operations { operation.start() }
      gate.open()
      #expect(await settled(operations[0]).value?.body == body)
      let error = try #require(await settled(operations[1]).httpError)
      #expect(error.code == .invalidRequest && "\(error)".contains("a stream that was read before"), "\(error)")
    }
  }

  /// It cannot be read, and has no error.
  @Test func stream_thatIsClosed_whileItsRequestWaits_isUnreadable() async throws {
    try await withServer { server in
      let gate = Gate()
      server.route("/held", HTTPAnswer.ok().held(by: gate))
      server.route("/", .echo)
      let session = session(1)
      let held = HTTPOperation(request(server.url("/held")), session: session)
      held.start()
      await server.requests.wait(forCount: 1)
      let stream = InputStream(data: Data("body".utf8))
      let put = request(server.url(), "PUT") {
        $0.httpBodyStream = stream
        $0.setValue("4", forHTTPHeaderField: "Content-Length")
      }
      let upload = HTTPOperation(put, session: session)
      upload.start()
      stream.open()
      stream.close()
      gate.open()
      #expect(await settled(upload).httpError?.code == .unreadableFile)
    }
  }

  @Test(arguments: ["cancel", "failure", "settled elsewhere"])
  func requestThatEndsOtherwise_givesItsPlaceOn(_ end: String) async throws {
    try await withServer(keepsConnections: false) { server in
      let gate = Gate()
      server.route("/first", HTTPAnswer.drop.held(by: gate))
      server.route("/second", .ok())
      let session = session(1)
      let first = HTTPOperation(request(server.url("/first")), session: session)
      let second = HTTPOperation(request(server.url("/second")), session: session)
      first.start()
      await server.requests.wait(forCount: 1)
      second.start()
      switch end {
      case "cancel": first.cancel()
      case "failure": gate.open()
      default: first.finish(with: HTTPResponse(status: 299))
      }
      #expect(await settled(second).value?.status == 200)
    }
  }

  /// What a server may do to requests without ever ending them.
  private static func holdOn(_ server: HTTPServer) -> [String] {
    let ok = "HTTP/1.1 200 OK\r\n"
    let slowly = HTTPPiece("x").delayed(by: .milliseconds(5))
    let answers: [HTTPAnswer] = [
      HTTPAnswer.ok().held(by: Gate()),
      .endless("HTT", then: HTTPPiece("P").held(by: Gate())),
      .endless(ok + "X: ", then: slowly),
      .endless(ok + "\r\n", then: slowly),
      .endless(ok + "Content-Encoding: gzip\r\n\r\n", then: slowly.held(by: Gate())),
      .endless(ok + "Transfer-Encoding: chunked\r\n\r\n", then: HTTPPiece("1\r\nx\r\n").delayed(by: .milliseconds(5))),
    ]
    for (number, answer) in answers.enumerated() { server.route("/\(number)", answer) }
    return answers.indices.map { "/\($0)" }
  }

  /// What a server may do to keep its clients busy.
  private static func keepBusy(_ server: HTTPServer) -> [String] {
    let ok = "HTTP/1.1 200 OK\r\n"
    let cookies = (1...3_000).map { "Set-Cookie: c\($0)=v; Path=/\r\n" }.joined()
    let answers: [HTTPAnswer] = [
      .raw(ok + cookies + "Content-Length: 0\r\n\r\n"),
      .raw(Array((ok + "Content-Encoding: gzip\r\n\r\n").utf8) + Gzip.zeros(byteCount: 8 << 20)),
      .raw(Array((ok + "Content-Encoding: gzip, gzip\r\n\r\n").utf8) + Gzip.stored(Gzip.zeros(byteCount: 8 << 20))),
      .endless(ok + "\r\n", then: HTTPPiece(String(repeating: "x", count: 65_536))),
      .endless("", then: HTTPPiece("HTTP/1.1 102 Processing\r\nX: 1\r\n\r\n")),
      .endless("HTTP/1.1 302 Found\r\nLocation: /0\r\n\r\n", then: HTTPPiece(String(repeating: "x", count: 65_536))),
    ]
    for (number, answer) in answers.enumerated() { server.route("/busy/\(number)", answer) }
    server.route("/0", .ok())
    return answers.indices.map { "/busy/\($0)" }
  }

  @Test func goodServer_answers_whileAHostileOneHoldsItsWholeLine() async throws {
    try await withServer(keepsConnections: false) { hostile in
      try await withServer(keepsConnections: false) { busy in
        try await withServer { good in
          good.route("/", .ok("good"))
          let session = session(6)
          let held = (Self.holdOn(hostile) + Self.holdOn(hostile)).map {
            HTTPOperation(request(hostile.url($0)), session: session)
          }
          let isOver = Locked(false)
          await withTaskGroup(of: Void.self) { group in
            for operation in held {
              operation.start()
              group.addTask { #expect(await settled(operation).isCancelled) }
            }
            await hostile.requests.wait(forCount: 6)
            for path in Self.keepBusy(busy) {
              group.addTask {
                while !isOver.current {
                  let options = HTTPOptions(maxBodySize: 1 << 20)
                  let outcome = await outcomeOfStarting(
                    HTTPOperation(request(busy.url(path)), session: session, options: options))
                  #expect(!outcome.isCancelled)
                }
              }
            }
            await busy.requests.wait(forCount: 6)
            for _ in 0..<Scale.count(50, least: 10) {
              let answer = await outcomeOfStarting(HTTPOperation(request(good.url()), session: session))
              #expect(answer.value?.text == "good")
            }
            #expect(held.allSatisfy { $0.outcome == nil } && hostile.requests.count == 6)
            isOver.withLock { $0 = true }
            for operation in held { operation.cancel() }
          }
        }
      }
    }
  }
}
#endif
