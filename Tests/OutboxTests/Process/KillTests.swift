#if os(macOS) || os(Linux)
import DurableOperations
import Foundation
import TestSupport
import Testing

@testable import Outbox

@Suite(.timeLimit(.minutes(30))) struct KillTests {
  private func arrivals(in folder: TemporaryFolder) throws -> [MessageService.Arrival] {
    try folder.text("received.jsonl").split(separator: "\n").map {
      try JSONDecoder().decode(MessageService.Arrival.self, from: Data($0.utf8))
    }
  }

  /// `OUTBOX_KILLS`: how often `enqueue` is killed, and then `run`. `OUTBOX_SEED`: decides when.
  private static let kills = number("OUTBOX_KILLS").map { max(1, Int($0)) } ?? Scale.count(8, least: 3)
  private static let seeds =
    number("OUTBOX_SEED").map { [$0] } ?? (Scale.factor < 1 ? [] : [1]) + [.random(in: 2...1_000_000)]
  /// How many letters are sent beside the runs that are killed: enough for each of them.
  private static let sharedCount = min(120, 15 * kills)

  private static func number(_ name: String) -> UInt64? {
    ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) }
  }

  /// Stores the letters, but is killed before that is done, or soon after. Either all are stored,
  /// or none.
  private func enqueueAndKill(
    _ folder: TemporaryFolder, after delay: Duration, _ place: Place, on engine: Engine
  ) async throws {
    let enqueueing = try Program(["enqueue", "letters"], at: place, in: folder)
    await enqueueing.kill(after: delay)
    let wasKilled = try await enqueueing.result().wasKilled
    let status = try await Program.run("status", at: place, in: folder)
    let isStored = status.lines.first == "40 messages: 40 waiting."
    #expect(isStored || wasKilled)
    // The file may not be there yet, or not be complete; the server may have no tables.
    let isEmpty = status.lines == ["There are no messages."] || status.errors.contains("Outbox enqueue FOLDER")
    #expect(isStored || isEmpty, "\(status)")
    let again = try await Program.run("enqueue", "letters", at: place, in: folder)
    let (stored, known) = ("40 messages stored.", "0 messages stored, 40 were there already.")
    // A server continues with what a killed process has sent: it may have committed after the look.
    let possible = isStored ? [known] : engine == .postgres ? [stored, known] : [stored]
    #expect(again.lines.count == 1 && possible.contains(again.lines.first ?? ""), "\(again) after \(status)")
  }

  @Test(arguments: Engine.available, seeds)
  func killedAtAnyMoment_everyMessageArrivesOnce_andDuplicatesAreRecognised(
    on engine: Engine, _ seed: UInt64
  ) async throws {
    print("OutboxTests: OUTBOX_KILLS=\(Self.kills) OUTBOX_SEED=\(seed) on \(engine.testDescription)")
    var random = SeededRandomNumberGenerator(seed: seed)
    let folder = try TemporaryFolder.withLetters(40)
    let other = try await engine.place("other.sqlite", in: folder)
    // Kills are spread over the time that `enqueue` takes here undisturbed, and over some more of
    // `run`.
    let start = ContinuousClock.now
    let undisturbed = try await Program.run("enqueue", "letters", at: other, in: folder)
    // Not what it takes to be told of its end where many tests run at once.
    let time = min(start.duration(to: .now), .milliseconds(500))
    #expect(undisturbed.lines == ["40 messages stored."])
    let place = try await engine.place(in: folder)
    for round in 1...Self.kills {
      let place = round < Self.kills ? try await engine.place("\(round).sqlite", in: folder) : place
      try await enqueueAndKill(folder, after: time * Double.random(in: 0...1.2, using: &random), place, on: engine)
    }

    var server = try await Server.onSteadyPort("--fail", "0.3", "--seed", "\(seed)", in: folder)
    for round in 0..<Self.kills {
      let run = try Program(["run", "--server", server.url, "--pace", "0.02"], at: place, in: folder)
      if round % 4 == 2 {
        // The server may be killed, too; it returns.
        let port = server.port
        await server.program.kill(after: time * Double.random(in: 0...3, using: &random))
        _ = try await server.program.result()
        server = try await Server("--fail", "0.3", "--seed", "\(seed + UInt64(round))", in: folder, port: port)
      }
      if round.isMultiple(of: 2) { await run.wait(forLines: Int.random(in: 0...10, using: &random)) }
      await run.kill(after: time * Double.random(in: 0...3, using: &random))
      _ = try await run.result()
    }
    let last = try await Program.run("run", "--server", server.url, at: place, in: folder)
    #expect(last.status == 0)
    #expect(last.errors == "")
    #expect(last.lines.contains("40 messages: 40 sent."))

    let arrivals = try arrivals(in: folder)
    let accepted = arrivals.filter { !$0.isDuplicate }
    #expect(accepted.map(\.name).sorted() == (1...40).map { "\($0).txt" }.sorted())
    #expect(Set(accepted.map(\.id)).count == 40)
    // A repeated message has the id and the content of a known one.
    let known = Dictionary(uniqueKeysWithValues: accepted.map { ($0.id, $0.checksum) })
    let duplicates = arrivals.filter(\.isDuplicate)
    for duplicate in duplicates { #expect(known[duplicate.id] == duplicate.checksum) }
    let sentence = try #require(last.lines.first { $0.hasPrefix("The server has ") })
    #expect(
      sentence.hasPrefix(
        "The server has 40 messages, each once; \(duplicates.isEmpty ? "none" : "\(duplicates.count)") "))

    // An acknowledged message is never sent again, and never stored anew.
    let again = try await Program.run("run", "--server", server.url, at: place, in: folder)
    #expect(again.lines.prefix(2) == ["Nothing to be sent to \(server.url)", "40 messages: 40 sent."])
    #expect(try self.arrivals(in: folder).count == arrivals.count)
    let twice = try await Program.run("enqueue", "letters", at: place, in: folder)
    #expect(twice.lines == ["0 messages stored, 40 were there already."])
    #expect(try await server.stop().status == 0)
  }

  @Test(arguments: Engine.available, seeds)
  func killedBesideARunThatGoesOn_whatTheyHadIsTakenOver(on engine: Engine, _ seed: UInt64) async throws {
    print("OutboxTests: OUTBOX_KILLS=\(Self.kills) OUTBOX_SEED=\(seed) on \(engine.testDescription), beside a run")
    var random = SeededRandomNumberGenerator(seed: seed)
    let count = Self.sharedCount
    let folder = try TemporaryFolder.withLetters(count)
    let place = try await engine.place(in: folder)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    let arguments = ["run", "--server", server.url, "--pace", "0.05"]
    // One at a time, so that enough is left for the others.
    let lasting = try Program(arguments + ["--width", "1"], at: place, in: folder)
    for _ in 0..<Self.kills {
      let run = try Program(arguments, at: place, in: folder)
      await run.wait(forLines: Int.random(in: 0...6, using: &random), with: "  sent")
      await run.kill(after: .milliseconds(100) * Double.random(in: 0...1, using: &random))
      _ = try await run.result()
    }
    // It ends by itself only when no message of a killed process is left.
    let last = try await lasting.result()
    #expect(last.status == 0)
    #expect(last.errors == "")
    #expect(last.lines.contains("\(count) messages: \(count) sent."))
    let arrivals = try arrivals(in: folder)
    let accepted = arrivals.filter { !$0.isDuplicate }
    #expect(accepted.map(\.name).sorted() == (1...count).map { "\($0).txt" }.sorted())
    #expect(Set(accepted.map(\.id)).count == count)
    // Repeated messages were under way in a killed process: the continuing run sends nothing twice
    // itself.
    let own = last.lines.filter { $0.contains("  sent") }.compactMap { $0.split(separator: " ").first }
    #expect(Set(own).count == own.count, "\(own)")
    _ = try await server.stop()
  }

  @Test(arguments: Engine.available)
  func digestThatWasKilled_goesOnAfterItsFinishedTasks(on engine: Engine) async throws {
    let folder = try TemporaryFolder.withLetters(30)
    let place = try await engine.place(in: folder)
    let server = try await Server(in: folder)
    _ = try await Program.run("enqueue", "letters", at: place, in: folder)
    #expect(try await Program.run("run", "--server", server.url, at: place, in: folder).status == 0)
    let enqueued = try await Program.run("digest", at: place, in: folder)
    #expect(enqueued.lines == ["Digest #31 of 30 messages stored."])

    // A task takes two seconds: this is killed long before the last.
    let first = try Program(["run", "--server", server.url, "--pace", "2"], at: place, in: folder)
    await first.wait(forLines: 3, with: "#31 digest  read ")
    first.send(SIGKILL)
    let killed = try await first.result()
    #expect(killed.wasKilled)
    let done = killed.lines.filter { $0.hasPrefix("#31 digest  read ") }

    let second = try await Program.run("run", "--server", server.url, at: place, in: folder)
    #expect(second.status == 0)
    let sentence = try #require(second.lines.first { $0.hasPrefix("#31 digest  goes on after ") })
    let count = try #require(Int(sentence.split(separator: " ")[5]))
    // More may be in the checkpoint than was printed: tasks go on while one is noted.
    #expect(count >= done.count && count < 30)
    #expect(Set(second.lines).isDisjoint(with: done))
    #expect(second.lines.count { $0.hasPrefix("#31 digest  read ") } == 30 - count)
    #expect(second.lines.contains("#31 digest  sent, of 30 messages"))
    #expect(try arrivals(in: folder).count { $0.folder == "digests" } == 1)
    _ = try await server.stop()
  }
}
#endif
