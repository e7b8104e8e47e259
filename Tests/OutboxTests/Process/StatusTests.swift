#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import Outbox

@Suite(.timeLimit(.minutes(30))) struct StatusTests {
  private func queue(in folder: TemporaryFolder) throws -> DurableQueue {
    try DurableQueue(location: .file(URL(fileURLWithPath: folder.path + "/outbox.sqlite")))
  }

  @Test func databaseWithoutMessages_isToldInASentence() async throws {
    let folder = try TemporaryFolder(["letters/.hidden": ""])
    _ = try await Program.run("enqueue", "letters", in: folder)
    #expect(try await Program.run("status", in: folder).lines == ["There are no messages."])
    let server = try await Server(in: folder)
    let run = try await Program.run("run", "--server", server.url, in: folder)
    #expect(run.lines.prefix(2) == ["Nothing to be sent to \(server.url)", "There are no messages."])
    _ = try await server.stop()
  }

  @Test func whatIsHeldOrCancelled_isNotCountedAsToBeSent_butTold() async throws {
    let folder = try TemporaryFolder.withLetters(5)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", in: folder)
    do {
      let queue = try queue(in: folder)
      try await queue.hold(JobID(rawValue: 1))
      try await queue.cancel(JobID(rawValue: 2))
      try await queue.cancel(JobID(rawValue: 3))
    }
    _ = try await Program.run("digest", in: folder)
    let notes = [
      "1 message is held: durable-queue retry outbox.sqlite --all-held has it sent too",
      "2 messages are cancelled: durable-queue retry outbox.sqlite ID… has them sent after all",
      "1 digest can not be sent before messages that are held",
    ]
    let run = try await Program.run("run", "--server", server.url, in: folder)
    #expect(run.status == 1)
    #expect(Array(run.lines.prefix(4)) == ["2 messages to be sent to \(server.url)"] + notes)
    #expect(run.lines.count { $0.hasSuffix("  sent") } == 2)
    #expect(Array(try await Program.run("status", in: folder).lines.suffix(3)) == notes)

    try await queue(in: folder).retry(JobID(rawValue: 1))
    let further = try await Program.run("run", "--server", server.url, in: folder)
    #expect(further.lines.first == "1 message and 1 digest to be sent to \(server.url)")
    #expect(further.lines.contains("5 messages: 3 sent, 2 cancelled."))
    #expect(further.lines.contains("#6 digest  sent, of 5 messages"))
    _ = try await server.stop()
  }

  @Test func messageThatIsRefused_isDead_andTold() async throws {
    let folder = try TemporaryFolder.withLetters(2)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", in: folder)
    let result = try await Program.run("run", "--server", server.url + "/nowhere", in: folder)
    #expect(result.status == 1)
    #expect(result.lines.contains("2 messages: 2 dead."))
    #expect(result.errors == "Outbox: 2 jobs could not be done: Outbox status tells why.\n")
    let note = "2 messages are dead: durable-queue retry outbox.sqlite --all-dead has them sent again"
    let status = try await Program.run("status", in: folder)
    #expect(status.lines.count { $0.contains("dead") && $0.contains("404") } == 2)
    #expect(status.lines.last == note)
    let again = try await Program.run("run", "--server", server.url, in: folder)
    #expect(again.lines.prefix(2) == ["Nothing to be sent to \(server.url)", note])
    _ = try await server.stop()
  }

  @Test func listThatIsLong_tellsHowMuchIsLeftOut() async throws {
    let folder = try TemporaryFolder.withLetters(130)
    _ = try await Program.run("enqueue", "letters", in: folder)
    try await queue(in: folder).hold(JobID(rawValue: 120))
    let status = try await Program.run("status", in: folder)
    #expect(status.lines.count == 103)
    #expect(status.lines.first == "130 messages: 129 waiting, 1 held.")
    #expect(
      status.lines.dropFirst(101).first
        == "  … and 30 more: durable-queue list outbox.sqlite --after 100 --state waiting,held")
  }

  @Test func sameFileInTwoDatabases_isTwoMessages() async throws {
    let folder = try TemporaryFolder.withLetters(3)
    let server = try await Server(in: folder)
    for database in ["a.sqlite", "b.sqlite"] {
      _ = try await Program.run("enqueue", "letters", "--database", database, in: folder)
      let run = try await Program.run("run", "--server", server.url, "--database", database, in: folder)
      #expect(run.status == 0)
    }
    #expect(try await server.stop().lines.last == "6 messages arrived, 0 came again.")
  }
}
#endif
