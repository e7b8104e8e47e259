#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(60))) struct KillTests {
  /// `DURABLE_KILLS`: how often a process is killed in each case, such as 200. Without it 12 times,
  /// or fewer with a lower `STRESS_SCALE`.
  static let kills =
    ProcessInfo.processInfo.environment["DURABLE_KILLS"].flatMap { Int($0) } ?? Scale.count(12, least: 4)

  struct Case: CustomTestStringConvertible {
    let engine: Engine
    let processes: Int
    let durability: String

    var testDescription: String { "\(engine), \(processes) at once, \(durability)" }

    /// All in full, else those of a single process with one durability.
    static let all = Engine.available.flatMap { engine in
      [1, 3].flatMap { processes in
        (Scale.factor < 1 && processes == 1 ? ["full"] : ["full", "normal"]).map {
          Case(engine: engine, processes: processes, durability: $0)
        }
      }
    }
  }

  @Test(
    "Killed at random moments: the place stays sound, all that was stored runs, nothing acknowledged runs again",
    arguments: Case.all)
  func killedAtRandomMoments_losesAndRepeatsNothing(_ killed: Case) async throws {
    let seed = ProcessInfo.processInfo.environment["DURABLE_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...999_999)
    print("kill test, \(killed.testDescription): DURABLE_KILLS=\(Self.kills) DURABLE_SEED=\(seed)")
    try await withDatabaseFile { file in
      let folder = file.deletingLastPathComponent()
      let test = KillRound(try await KilledPlace(killed.engine, in: folder), folder, killed.durability, seed: seed)
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<killed.processes { group.addTask { await test.killAgainAndAgain(Self.kills) } }
      }
      let children = try (0..<killed.processes).map { try test.spawn(number: 1_000_000 + $0, death: nil) }
      for child in children {
        child.tell("churn 100")
        await child.tell("start", until: "started")
      }
      for child in children { await child.wait(for: "churned") }
      for child in children { await child.tell("settle", until: "settled") }
      for child in children { await child.tell("stop 0", until: "stopped") }
      for child in children { await child.exit() }

      let look = try #require(try test.place.look())
      #expect(look.problems == [])
      let notes = AttemptNotes(test.log)
      let all = Set(look.jobs.keys)
      let ran = notes.ids("S")
      #expect(notes.ids("E").subtracting(all).isEmpty, "a job that was stored is not there")
      #expect(look.ids(in: .done) == all, "a job is stuck")
      #expect(look.doneOnce == all, "a job was acknowledged twice")
      #expect(all.subtracting(ran).isEmpty, "a job is done that never ran")
      #expect(notes.startsAfterDone().isEmpty)
      #expect(notes.startsWhileRunning().isEmpty)
      #expect(look.workers == 0)
      #expect(ran.count > Self.kills, "nothing to speak of ran")
      #expect(test.failures.withLock { $0 } == [])
      let early = test.seenEarly.withLock { $0 }
      let attempts = notes.notes.count { $0.what == "S" }
      print("\(killed.testDescription): \(all.count) jobs, \(attempts) attempts, \(early) kills before it was open")
    }
  }
}

/// The processes of one case.
private final class KillRound: Sendable {
  let place: KilledPlace
  let log: URL
  let failures = LockBox<[String]>([])
  let seenEarly = LockBox(0)
  private let durability: String
  private let random: LockBox<SeededRandomNumberGenerator>
  /// The jobs that were seen done.
  private let noted = LockBox<Set<Int64>>([])
  private let count = LockBox((begun: 0, ended: 0))

  init(_ place: KilledPlace, _ folder: URL, _ durability: String, seed: UInt64) {
    self.place = place
    self.durability = durability
    log = folder.appending(path: "attempts.log")
    random = LockBox(SeededRandomNumberGenerator(seed: seed))
  }

  func spawn(number: Int, death: Int?) throws -> DurableChild {
    try DurableChild(
      arguments: place.arguments + [
        "durability=\(durability)", "log=\(log.path)", "run=\(number)", "concurrent=8",
        death.map { "death=\($0)" } ?? "lives=on",
      ])
  }

  /// Kills one process after the other, until no kills are left.
  func killAgainAndAgain(_ kills: Int) async {
    while let number = next(kills) {
      do {
        try await kill(number)
      } catch {
        failures.withLock { $0.append("kill \(number): \(error)") }
      }
    }
  }

  private func next(_ kills: Int) -> Int? {
    count.withLock { count in
      guard count.begun < kills else { return nil }
      count.begun += 1
      return count.begun
    }
  }

  private func kill(_ number: Int) async throws {
    // Some while the file is opened, most while there is work.
    let (death, jobs) = random.withLock { random in
      (
        random.chance(10) ? random.number(100...20_000) : random.number(20_000...place.longestLife),
        random.number(50...300)
      )
    }
    let child = try spawn(number: number, death: death)
    child.tell("churn \(jobs)")
    child.tell("start")
    let signal = await child.end()
    if signal != SIGKILL { fail(number, "the process ended with \(signal) by itself: \(child.lines.events.suffix(5))") }
    if !child.lines.contains("open") { seenEarly.withLock { $0 += 1 } }
    for line in child.lines.events where line.hasPrefix("error") || line.hasPrefix("failed") { fail(number, line) }
    guard let look = try await onWorker({ [place] in Result { try place.look() } }).get() else { return }
    for problem in look.problems { fail(number, problem) }
    noteDone(look.ids(in: .done), number)
  }

  /// The process that ran the job had noted its start before. So a start that is noted after this
  /// is one too many.
  private func noteDone(_ done: Set<Int64>, _ number: Int) {
    let new = noted.withLock { noted in
      defer { noted.formUnion(done) }
      return done.subtracting(noted)
    }
    let lines = Array(new.map { "D \($0) test\(number)\n" }.joined().utf8)
    let descriptor = open(log.path, O_WRONLY | O_APPEND)
    defer { close(descriptor) }
    if descriptor >= 0, write(descriptor, lines, lines.count) != lines.count {
      fail(number, "the log cannot be written")
    }
  }

  private func fail(_ number: Int, _ text: String) {
    failures.withLock { $0.append("kill \(number): \(text)") }
  }
}
#endif
