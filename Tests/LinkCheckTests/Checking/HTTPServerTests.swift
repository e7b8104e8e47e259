import Foundation
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// The test server keeps what it promises, seen from an ordinary client.
@Suite(.timeLimit(.minutes(30))) struct HTTPServerTests {
  private struct Answer: Equatable {
    var status: Int
    var body: String

    init(_ status: Int, _ body: String) {
      self.status = status
      self.body = body
    }
  }

  private func ask(_ url: String, _ method: String = "GET") async throws -> Answer {
    var request = URLRequest(url: try #require(URL(string: url)))
    request.httpMethod = method
    // A busy machine may let a test wait for minutes.
    request.timeoutInterval = 3_600
    let (asked, cancelled) = (request, Gate())
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let task = URLSession.shared.dataTask(with: asked) { data, response, error in
          guard let response = response as? HTTPURLResponse else {
            return continuation.resume(throwing: error ?? URLError(.unknown))
          }
          continuation.resume(returning: Answer(response.statusCode, String(decoding: data ?? Data(), as: UTF8.self)))
        }
        task.resume()
        cancelled.whenOpen { task.cancel() }
      }
    } onCancel: {
      // The time of the test is up.
      cancelled.open()
    }
  }

  @Test(arguments: [true, false])
  func routes_answerAsTold(_ keepsConnections: Bool) async throws {
    try await withServer(keepsConnections: keepsConnections) { server in
      server.route("/ok", .ok("hello"))
      server.route("/flaky", .failing(2, then: .ok("at last")))
      server.route("/get", .refusingHead(then: .ok("got")))
      server.route("/there", .redirect(to: "/ok"))
      var answers = [try await ask(server.url("/ok")), try await ask(server.url("/ok"), "HEAD")]
      #expect(answers == [Answer(200, "hello"), Answer(200, "")])
      answers = [try await ask(server.url("/nowhere")), try await ask(server.url("/there"))]
      #expect(answers == [Answer(404, ""), Answer(200, "hello")])
      answers = [try await ask(server.url("/get"), "HEAD"), try await ask(server.url("/get"))]
      #expect(answers == [Answer(405, ""), Answer(200, "got")])
      answers = []
      for _ in 1...3 { answers.append(try await ask(server.url("/flaky"))) }
      #expect(answers == [Answer(503, ""), Answer(503, ""), Answer(200, "at last")])
      #expect(server.count("/flaky") == 3)
      #expect(server.count(of: "HEAD", "/ok") == 1)
      #expect(server.maxConcurrent == 1 && server.running == 0)
    }
  }

  @Test func largeBody_arrivesWhole() async throws {
    try await withServer { server in
      let body = String(repeating: "0123456789", count: 500_000)
      server.route("/large", .ok(body))
      let answer = try await ask(server.url("/large"))
      #expect(answer.body == body)
    }
  }

  @Test func heldRequests_countAsConcurrent_andAnswerWhenTheGateOpens() async throws {
    try await withServer { server in
      let gate = Gate()
      server.route("/held", HTTPAnswer.ok("open").held(by: gate))
      async let first = ask(server.url("/held"))
      async let second = ask(server.url("/held"))
      await server.requests.wait(forCount: 2)
      #expect(server.running == 2)
      gate.open()
      let bodies = try await [first.body, second.body]
      #expect(bodies == ["open", "open"])
      #expect(server.maxConcurrent == 2)
    }
  }

  @Test func clientGone_whileItsAnswerIsHeld_leavesNothingAtTheGate() async throws {
    try await withServer { server in
      let beginning = Gate(), middle = Gate()
      server.route("/held", HTTPAnswer.ok().held(by: beginning))
      server.route("/half", .pieces([HTTPPiece("first"), HTTPPiece("second").held(by: middle)]))
      for (number, path) in ["/held", "/half", "/held", "/half"].enumerated() {
        let asking = Task { try await ask(server.url(path)) }
        await server.requests.wait(forCount: number + 1)
        asking.cancel()
        _ = await asking.result
        await server.openConnections.wait { $0.last == 0 }
      }
      #expect(beginning.waitingCount == 0 && middle.waitingCount == 0)
    }
  }

  @Test func stop_dropsWhatIsHeld_andMayBeRepeated() async throws {
    let server = try HTTPServer()
    server.route("/held", HTTPAnswer.ok().held(by: Gate()))
    let held = Task { try await ask(server.url("/held")) }
    await server.requests.wait(forCount: 1)
    await server.stop()
    await withTaskCancellationHandler {
      _ = await #expect(throws: URLError.self) { try await held.value }
    } onCancel: {
      held.cancel()
    }
    await server.stop()
  }
}
