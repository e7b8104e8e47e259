import CompositeOperations
import Foundation
import HTTPOperations
import TestSupport
import Testing

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

@Suite("HTTP: data", .hangLimit) struct DataTests {
  @Test func answer_isTheValue() async throws {
    try await withServer { server in
      server.route("/page?q=1", .status(201, headers: [("X-Color", "red")], body: "hello"))
      let response = try await HTTPOperation(request(server.url("/page?q=1"))).run()
      #expect(response.status == 201 && response.text == "hello" && response.file == nil)
      #expect(response.headers["x-color"] == "red" && response.headers["Content-Length"] == "5")
      #expect(response.url?.absoluteString == server.url("/page?q=1"))
    }
  }

  @Test func request_isSentAsItIs() async throws {
    try await withServer { server in
      server.route("/", .echo)
      let response = try await HTTPOperation(
        request(server.url(), "PATCH") {
          $0.httpBody = Data("body".utf8)
          $0.setValue("blue", forHTTPHeaderField: "X-Color")
        }
      ).run()
      #expect(response.text == "body" && response.headers["X-Method"] == "PATCH")
      #expect(server.requests.events.first?.headers["x-color"] == "blue")
    }
  }

  @Test func head_hasNoBody_andIsNotTakenForCutShort() async throws {
    try await withServer { server in
      server.route("/", .ok("hello"))
      let response = try await HTTPOperation(request(server.url(), "HEAD")).run()
      #expect(response.status == 200 && response.body.isEmpty && response.headers["content-length"] == "5")
    }
  }

  @Test(arguments: [204, 299])
  func emptyAnswers_succeed(_ status: Int) async throws {
    try await withServer { server in
      server.route("/", .status(status))
      let response = try await HTTPOperation(request(server.url())).run()
      #expect(response.status == status && response.body.isEmpty)
    }
  }

  @Test func chunks_arriveAsOneBody() async throws {
    try await withServer { server in
      server.route("/", .pieces([HTTPPiece("one "), HTTPPiece("two "), HTTPPiece("three")]))
      let response = try await HTTPOperation(request(server.url())).run()
      #expect(response.text == "one two three")
    }
  }

  @Test func slowChunks_arriveOneAfterTheOther() async throws {
    try await withServer { server in
      let gate = Gate()
      server.route(
        "/",
        .pieces([HTTPPiece("one "), HTTPPiece("two ").held(by: gate), HTTPPiece("three").delayed(by: .milliseconds(1))])
      )
      async let response = HTTPOperation(request(server.url())).run()
      await server.requests.wait(forCount: 1)
      gate.open()
      let text = try await response.text
      #expect(text == "one two three")
    }
  }

  @Test func largeBody_arrivesWhole() async throws {
    try await withServer { server in
      server.route("/", .large(byteCount: 5_000_001))
      let response = try await HTTPOperation(request(server.url())).run()
      #expect(response.body.count == 5_000_001)
      #expect(response.body.enumerated().allSatisfy { $1 == HTTPAnswer.largeByte($0) })
    }
  }

  @Test func statusThatIsNotAccepted_failsWithTheWholeAnswer() async throws {
    try await withServer { server in
      server.route("/", .status(404, headers: [("X-Color", "red")], body: "no such page"))
      let error = try #require(await outcomeOfStarting(HTTPOperation(request(server.url("/?key=1")))).statusError)
      #expect(error.status == 404 && error.body.isEmpty)
      let full = try #require(await outcomeOfStarting(HTTPOperation(request(server.url()))).statusError)
      #expect(full.status == 404 && full.headers["x-color"] == "red" && full.body == Data("no such page".utf8))
      #expect(full.url?.absoluteString == server.url() && full.retryAfter == nil)
      #expect(full.description == "\(server.url()) answered with the status 404: no such page")
      #expect(error.description == "\(server.url()) answered with the status 404.")
    }
  }

  @Test func acceptedStatuses_decide() async throws {
    try await withServer { server in
      server.route("/200", .ok())
      server.route("/404", .status(404, body: "gone"))
      let all = try await HTTPOperation(request(server.url("/404")), acceptedStatuses: nil).run()
      #expect(all.status == 404 && all.text == "gone")
      let some = try await HTTPOperation(request(server.url("/404")), acceptedStatuses: 404..<405).run()
      #expect(some.status == 404)
      let none = await outcomeOfStarting(HTTPOperation(request(server.url("/200")), acceptedStatuses: 404..<405))
      #expect(none.statusError?.status == 200)
    }
  }

  @Test func retryAfter_isReadFromTheAnswer() async throws {
    try await withServer { server in
      server.route("/", .retryLater(after: "7"))
      let error = await outcomeOfStarting(HTTPOperation(request(server.url()))).statusError
      #expect(error?.status == 429 && error?.retryAfter == .seconds(7))
    }
  }

  @Test(arguments: ["Bearer", "Basic realm=\"x\"", "Digest realm=\"x\", nonce=\"y\"", "Negotiate", nil])
  func unauthorized_isAnAnswer_whateverTheChallenge(_ challenge: String?) async throws {
    try await withServer { server in
      let headers = challenge.map { [("WWW-Authenticate", $0)] } ?? []
      server.route("/", .status(401, headers: headers, body: "who are you?"))
      let error = await outcomeOfStarting(HTTPOperation(request(server.url()))).statusError
      #expect(error?.status == 401 && error?.body == Data("who are you?".utf8))
      let accepted = try await HTTPOperation(request(server.url()), acceptedStatuses: nil).run()
      #expect(accepted.status == 401 && accepted.text == "who are you?")
    }
  }

  @Test func token_makesTheDifference() async throws {
    try await withServer { server in
      let tokens = HTTPTokens()
      server.route("/token", .refreshing(tokens))
      server.route("/secret", .protected(by: tokens, then: .ok("secret")))
      let refused = await outcomeOfStarting(HTTPOperation(request(server.url("/secret")))).statusError
      #expect(refused?.status == 401)
      let token = try await HTTPOperation(request(server.url("/token"), "POST")).run().text
      let secret = try await HTTPOperation(
        request(server.url("/secret")) { $0.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
      ).run()
      #expect(secret.text == "secret" && tokens.refreshCount == 1)
    }
  }

  @Test func operations_composeAndRunInQueues() async throws {
    try await withServer { server in
      for path in ["/a", "/b", "/c"] { server.route(path, .ok(path)) }
      let queue = OperationQueue()
      queue.maxConcurrentOperationCount = 2
      let answers = try await queue.run(
        forEach(["/a", "/b", "/c"], maxConcurrent: 3) { HTTPOperation(request(server.url($0))).map(\.text) })
      #expect(answers == ["/a", "/b", "/c"])
    }
  }

  @Test func name_tellsMethodAndAddress_withoutSecrets() {
    let operation = HTTPOperation(request("http://me:pass@host:81/path?key=secret#x", "POST"))
    #expect(operation.name == "POST http://host:81/path")
  }

  @Test func name_hasBracketsAroundAnAddressWithColons() {
    #expect(HTTPOperation(request("http://[::1]:8080/x?key=1")).name == "GET http://[::1]:8080/x")
    let error = HTTPError(.connectionRefused, url: URL(string: "http://[2001:db8::8080]/"))
    #expect(error.description.hasPrefix("http://[2001:db8::8080]/ cannot be connected to"), "\(error)")
  }
}
