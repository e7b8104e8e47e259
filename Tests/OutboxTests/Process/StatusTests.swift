#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import Outbox

@Suite(.timeLimit(.minutes(30))) struct StatusTests {
  @Test(arguments: Engine.available) func databaseWithoutMessages_isToldInASentence(on engine: Engine) async throws {
    let folder = try TemporaryFolder(["letters/.hidden": ""])
    let place = try await engine.place(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    #expect(try await Program.run("status", at: place, in: folder).lines == ["There are no messages."])
    let server = try await Server(in: folder)
    let run = try await Program.run("run", "--server", server.url, at: place, in: folder)
    #expect(run.lines.prefix(2) == ["Nothing to be sent to \(server.url)", "There are no messages."])
    _ = try await server.stop()
  }

  @Test(arguments: Engine.available)
  func whatIsHeldOrCancelled_isNotCountedAsToBeSent_butTold(on engine: Engine) async throws {
    let folder = try TemporaryFolder.withLetters(5)
    let place = try await engine.place(in: folder)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    do {
      let queue = try place.queue()
      try await queue.hold(JobID(rawValue: 1))
      try await queue.cancel(JobID(rawValue: 2))
      try await queue.cancel(JobID(rawValue: 3))
    }
    _ = try await Program.run("digest", at: place, in: folder)
    let notes = [
      "1 message is held: durable-queue retry \(place.words) --all-held has it sent too",
      "2 messages are cancelled: durable-queue retry \(place.words) ID… has them sent after all",
      "1 digest cannot be sent before messages that are held",
    ]
    let run = try await Program.run("run", "--server", server.url, at: place, in: folder)
    #expect(run.status == 1)
    #expect(Array(run.lines.prefix(4)) == ["2 messages to be sent to \(server.url)"] + notes)
    #expect(run.lines.count { $0.hasSuffix("  sent") } == 2)
    #expect(Array(try await Program.run("status", at: place, in: folder).lines.suffix(3)) == notes)

    try await place.queue().retry(JobID(rawValue: 1))
    let further = try await Program.run("run", "--server", server.url, at: place, in: folder)
    #expect(further.lines.first == "1 message and 1 digest to be sent to \(server.url)")
    #expect(further.lines.contains("5 messages: 3 sent, 2 cancelled."))
    #expect(further.lines.contains("#6 digest  sent, of 5 messages"))
    _ = try await server.stop()
  }

  @Test(arguments: Engine.available) func messageThatIsRefused_isDead_andTold(on engine: Engine) async throws {
    let folder = try TemporaryFolder.withLetters(2)
    let place = try await engine.place(in: folder)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    let result = try await Program.run("run", "--server", server.url + "/nowhere", at: place, in: folder)
    #expect(result.status == 1)
    #expect(result.lines.contains("2 messages: 2 dead."))
    #expect(result.errors == "Outbox: 2 jobs could not be done: Outbox status\(place.advice) tells why.\n")
    let note = "2 messages are dead: durable-queue retry \(place.words) --all-dead has them sent again"
    let status = try await Program.run("status", at: place, in: folder)
    #expect(status.lines.count { $0.contains("dead") && $0.contains("404") } == 2)
    #expect(status.lines.last == note)
    let again = try await Program.run("run", "--server", server.url, at: place, in: folder)
    #expect(again.lines.prefix(2) == ["Nothing to be sent to \(server.url)", note])
    _ = try await server.stop()
  }

  @Test(arguments: Engine.available) func listThatIsLong_tellsHowMuchIsLeftOut(on engine: Engine) async throws {
    let folder = try TemporaryFolder.withLetters(130)
    let place = try await engine.place(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    try await place.queue().hold(JobID(rawValue: 120))
    let status = try await Program.run("status", at: place, in: folder)
    #expect(status.lines.count == 103)
    #expect(status.lines.first == "130 messages: 129 waiting, 1 held.")
    #expect(
      status.lines.dropFirst(101).first
        == "  … and 30 more: durable-queue list \(place.words) --after 100 --state waiting,held")
  }

  @Test(arguments: Engine.available) func sameFileInTwoDatabases_isTwoMessages(on engine: Engine) async throws {
    let folder = try TemporaryFolder.withLetters(3)
    let server = try await Server(in: folder)
    for database in ["a.sqlite", "b.sqlite"] {
      let place = try await engine.place(database, in: folder)
      _ = try await Program.run("enqueue", "letters", at: place, in: folder)
      let run = try await Program.run("run", "--server", server.url, at: place, in: folder)
      #expect(run.status == 0)
    }
    #expect(try await server.stop().lines.last == "6 messages arrived, 0 came again.")
  }
}
#endif
