import ExampleSupport
import Foundation
import TestSupport
import Testing

@testable import Outbox

@Suite struct MessageServiceTests {
  private func post(_ text: String, id: String?, to path: String = "/messages") -> ServerRequest {
    var headers = ["message-name": "a%20b.txt"]
    headers["idempotency-key"] = id
    return ServerRequest(method: "POST", target: path, headers: headers, body: Array(text.utf8))
  }

  private func receipt(_ answer: ServerAnswer) throws -> Sender.Receipt {
    try JSONDecoder().decode(Sender.Receipt.self, from: answer.body)
  }

  @Test func messageThatComesAgain_isRecognised() throws {
    var service = MessageService(failure: 0, seed: 1)
    var written: [MessageService.Arrival] = []
    let first = service.answer(post("hello", id: "1-x")) { written.append($0) }
    #expect(first.status == 201)
    #expect(try receipt(first) == Sender.Receipt(id: "1-x", isDuplicate: false))
    let second = service.answer(post("hello", id: "1-x")) { written.append($0) }
    #expect(second.status == 200)
    #expect(try receipt(second).isDuplicate)
    #expect(written.map(\.isDuplicate) == [false, true])
    #expect(written.map(\.name) == ["a b.txt", "a b.txt"])
    #expect(service.tally == MessageService.Tally(accepted: 1, duplicates: 1))
    // A server that starts anew knows what it has written.
    var restarted = MessageService(failure: 0, seed: 1, arrivals: written)
    #expect(restarted.tally == service.tally)
    #expect(try receipt(restarted.answer(post("hello", id: "1-x")) { _ in }).isDuplicate)
  }

  @Test func idOfAnotherMessage_isAConflict() {
    var service = MessageService(failure: 0, seed: 1)
    _ = service.answer(post("hello", id: "1-x")) { _ in }
    #expect(service.answer(post("goodbye", id: "1-x")) { _ in }.status == 409)
    #expect(service.tally.accepted == 1)
  }

  @Test func wrongRequests_areRefused() {
    var service = MessageService(failure: 0, seed: 1)
    #expect(service.answer(post("a", id: nil)) { _ in }.status == 400)
    #expect(service.answer(post("a", id: "1", to: "/letters")) { _ in }.status == 404)
    #expect(service.answer(ServerRequest(method: "PUT", target: "/messages")) { _ in }.status == 405)
  }

  @Test func whatCanNotBeWritten_isNotAccepted() {
    var service = MessageService(failure: 0, seed: 1)
    let answer = service.answer(post("a", id: "1")) { _ in throw TestError.first }
    #expect(answer.status == 500)
    #expect(service.tally.accepted == 0)
  }

  @Test func troubles_areAsManyAsAskedFor_andTheSameForTheSameSeed() {
    func statuses(_ seed: UInt64) -> (answers: [ServerAnswer], written: Set<String>) {
      var service = MessageService(failure: 0.5, seed: seed)
      var written: Set<String> = []
      let answers = (0..<1000).map { number in
        service.answer(post("\(number)", id: "\(number)")) { written.insert($0.id) }
      }
      return (answers, written)
    }
    let (answers, written) = statuses(7)
    #expect(answers == statuses(7).answers)
    #expect(answers != statuses(8).answers)
    #expect(answers.contains { $0.status == 500 })
    #expect(answers.contains { $0.status == 503 && $0.headers["Retry-After"] == "1" })
    #expect(answers.contains { $0.delay > 0 })
    // Some of the connections that end had stored the message before.
    let dropped = answers.indices.filter { answers[$0].isDropped }
    #expect(dropped.contains { written.contains("\($0)") })
    #expect(dropped.contains { !written.contains("\($0)") })
    let good = answers.count { $0.status == 201 && !$0.isDropped && $0.delay == 0 }
    #expect((400...600).contains(good))
  }

  @Test func logWithATornLine_isGoneOnWith() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/log"
    let arrival = MessageService.Arrival(
      id: "1", name: "a", folder: "messages", bytes: 1, checksum: "x", isDuplicate: false)
    do {
      let log = try ArrivalLog(path: path)
      #expect(log.arrivals.isEmpty)
      try log.write(arrival)
    }
    try folder.write(try folder.text("log") + "{\"id\":\"2", to: "log")
    let again = try ArrivalLog(path: path)
    #expect(again.arrivals == [arrival])
    try again.write(arrival)
    #expect(try ArrivalLog(path: path).arrivals == [arrival, arrival])
  }
}
