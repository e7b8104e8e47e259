import CompositeOperations
import DurableOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

@testable import Outbox

@Suite(.timeLimit(.minutes(30))) struct SenderTests {
  private func sender(_ server: HTTPServer, pace: Duration = .zero) throws -> Sender {
    var options = RunOptions(server: try #require(URL(string: server.url(""))))
    options.pace = pace
    return Sender(options)
  }

  @Test func message_hasNoTimeLimit_thatAPauseCouldUseUp() throws {
    #expect(Message(name: "a.txt", content: Data()).options.timeout == nil)
    #expect(Digest(messages: []).options.timeout == nil)
  }

  @Test func requestWithoutAnAnswer_fails_afterAPauseThatIsLongerThanItsTime() async throws {
    try await withServer { server in
      server.route("/messages", HTTPAnswer.ok().held(by: Gate()))
      var sender = try sender(server, pace: .milliseconds(50))
      #expect(sender.requestTime == .seconds(60))
      sender.requestTime = .milliseconds(10)
      let error = await #expect(throws: HTTPError.self) {
        _ = try await sender.post(Data(), name: "a.txt", key: "1", to: "messages").run()
      }
      #expect(error?.code == .timedOut)
    }
  }
}
