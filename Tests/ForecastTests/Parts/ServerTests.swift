import ExampleSupport
import Foundation
import TestSupport
import Testing

@testable import Forecast

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(30))) struct ServerTests {
  @Test func request_isReadWhenAllOfItIsThere() throws {
    let text = "POST /token?a=b%20c HTTP/1.1\r\nHost: x\r\nContent-LENGTH:  3\r\n\r\nabc"
    let bytes = Array(text.utf8)
    for count in 0..<bytes.count {
      #expect(try ServerRequest.read(Array(bytes[..<count])) == nil)
    }
    let request = try #require(try ServerRequest.read(bytes))
    #expect((request.method, request.path) == ("POST", "/token"))
    #expect(request.query("a") == "b c")
    #expect(request.headers == ["host": "x", "content-length": "3"])
  }

  @Test(arguments: ["no request\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET / HTTP/1.1\r\nno field\r\n\r\n"])
  func bytesThatAreNoRequest_areMalformed(_ text: String) {
    #expect(throws: ServerRequest.Malformed.self) { try ServerRequest.read(Array(text.utf8)) }
  }

  @Test func headWithoutEnd_isMalformed() {
    #expect(throws: ServerRequest.Malformed.self) {
      try ServerRequest.read([UInt8](repeating: 65, count: 20_000))
    }
  }

  @Test func answer_saysHowLongItIs() {
    let answer = ServerAnswer(status: 503, headers: ["Retry-After": "1"], body: Data("busy".utf8))
    #expect(
      String(decoding: answer.bytes, as: UTF8.self)
        == "HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 4\r\nRetry-After: 1\r\n\r\nbusy")
  }

  @Test func manyClientsAtOnce_areAllAnswered() async throws {
    let day = try #require(Day("2026-03-29"))
    let server = try WeatherServer(WeatherService(seed: 3, firstDay: day, tokenUses: 5))
    let session = URLSession(configuration: .ephemeral)
    defer { session.finishTasksAndInvalidate() }
    await withTaskGroup { group in
      for _ in 0..<20 {
        group.addTask {
          var request = URLRequest(url: server.url.appendingPathComponent("token"))
          request.httpMethod = "POST"
          // A busy machine may let a test wait for minutes.
          request.timeoutInterval = 3_600
          request.httpBody = Data("grant_type=client_credentials".utf8)
          let answer = try? await session.data(for: request)
          #expect((answer?.1 as? HTTPURLResponse)?.statusCode == 200)
        }
      }
    }
    #expect(server.tokenCount == 20)
  }
}
