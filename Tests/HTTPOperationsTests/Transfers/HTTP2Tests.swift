#if os(Linux)
import CompositeOperations
import Foundation
import FoundationNetworking
import HTTPOperations
import TestSupport
import Testing

/// HTTP/2, which libcurl speaks where a server takes it, over TLS.
@Suite("HTTP/2", .hangLimit, .enabled(if: TLSServer.isAvailable)) struct HTTP2Tests {
  private static func session(_ server: HTTP2Server, connections: Int) -> URLSession {
    setenv("URLSessionCertificateAuthorityInfoFile", server.certificate.path, 1)
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpMaximumConnectionsPerHost = connections
    return URLSession(configuration: configuration)
  }

  /// The server answers none before all have come, on its only connection.
  @Test func requests_areMadeAtOnce_onOneConnection() async {
    await #expect(processExitsWith: .success) {
      let server = try await HTTP2Server()
      let session = HTTP2Tests.session(server, connections: 1)
      let first = HTTPOperation(request(server.url), session: session)
      first.start()
      let second = HTTPOperation(request(server.url), session: session)
      second.start()
      await server.requests.wait(forCount: 1)
      server.answer(server.requests.events[0], .ok, .body("first", isLast: false))
      // It waited, and waits no longer, though the first one is not over.
      await server.requests.wait(forCount: 2)
      precondition(first.outcome == nil)
      let others = (0..<20).map { _ in HTTPOperation(request(server.url), session: session) }
      for operation in others { operation.start() }
      await server.requests.wait(forCount: 22)
      for (number, stream) in server.requests.events.enumerated().dropFirst() {
        server.answer(stream, .ok, .body("answer \(number)", isLast: true))
      }
      server.answer(server.requests.events[0], .body(" and last", isLast: true))
      let text = await settled(first).value?.text
      precondition(text == "first and last")
      var texts: Set<String> = []
      for operation in [second] + others { texts.insert(await settled(operation).value?.text ?? "") }
      precondition(texts == Set((1...21).map { "answer \($0)" }), "\(texts)")
    }
  }

  /// It may have to wait for its disk, and then all on its connection would. The server takes no
  /// second connection: it waits.
  @Test func download_isMadeOnAConnectionOfItsOwn() async {
    await #expect(processExitsWith: .success) {
      let server = try await HTTP2Server()
      let session = HTTP2Tests.session(server, connections: 3)
      let first = HTTPOperation(request(server.url), session: session)
      first.start()
      await server.requests.wait(forCount: 1)
      server.answer(server.requests.events[0], .ok, .body("first", isLast: false))
      let folder = try TemporaryFolder()
      let download = HTTPOperation(request(server.url), transfer: .download(to: folder.file("file")), session: session)
      download.start()
      let (second, third) = (
        HTTPOperation(request(server.url), session: session), HTTPOperation(request(server.url), session: session)
      )
      second.start()
      await server.requests.wait(forCount: 2)
      server.answer(server.requests.events[1], .ok, .body("second", isLast: true))
      let text = await settled(second).value?.text
      precondition(text == "second", "\(text ?? "none")")
      third.start()
      await server.requests.wait(forCount: 3)
      server.answer(server.requests.events[2], .ok, .body("third", isLast: true))
      let textOfThird = await settled(third).value?.text
      precondition(textOfThird == "third" && download.outcome == nil)
      download.cancel()
      let end = await settled(download)
      precondition(end.isCancelled && first.outcome == nil)
    }
  }

  @Test func answer_thatIsReset_isAnError_andOthersGoOn() async {
    await #expect(processExitsWith: .success) {
      let server = try await HTTP2Server()
      let session = HTTP2Tests.session(server, connections: 6)
      var operations: [HTTPOperation] = []
      for number in 1...4 {
        operations.append(HTTPOperation(request(server.url), session: session))
        operations.last?.start()
        await server.requests.wait(forCount: number)
        // From now on it is known that they go over one connection.
        if number == 1 { server.answer(server.requests.events[0], .ok, .body("one", isLast: false)) }
      }
      let streams = server.requests.events
      server.answer(streams[1], .ok, .body("two", isLast: false), .reset)
      server.answer(streams[2], .reset)
      let (second, third) = (await settled(operations[1]), await settled(operations[2]))
      precondition([.truncatedBody, .connectionLost].contains(second.httpError?.code), "\(second)")
      precondition(third.httpError?.code == .connectionLost, "\(third)")
      operations[3].cancel()
      let fourth = await settled(operations[3])
      precondition(fourth.isCancelled && operations[0].outcome == nil)
      server.answer(streams[0], .body(" and all", isLast: true))
      let first = await settled(operations[0])
      precondition(first.value?.text == "one and all", "\(first)")
    }
  }
}
#endif
