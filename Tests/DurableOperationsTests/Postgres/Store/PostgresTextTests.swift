#if os(macOS) || os(Linux)
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30)), .needsPostgres) struct PostgresTextTests {
  private struct Odd: Job {
    static let kind = "odd\0kind"
  }

  private struct Fresh: Job {
    static let kind = "fresh"
  }

  /// PostgreSQL has no text with U+0000.
  @Test func textWithNull_isADatabaseErrorThatNamesThePlace() throws {
    let queue = try DurableQueue(location: Engine.postgres.location())
    let key = JobOptions(uniqueKey: UniqueKey("odd\0key"))
    let calls: [(String, () throws -> Void)] = [
      ("a kind that is enqueued", { try queue.enqueue(Odd()) }),
      ("a kind that is asked for", { _ = try queue.jobs(kind: Odd.kind) }),
      ("a kind that is paused", { try queue.pause(kind: Odd.kind) }),
      ("a key that is enqueued", { try queue.enqueue(Count(number: 1), options: key) }),
      ("a key that is asked for", { _ = try queue.jobs(Count.self, uniqueKey: "odd\0key") }),
      (
        "a key of a periodic job",
        { try queue.schedule(Count(number: 1), named: "a", .interval(.seconds(60)), options: key) }
      ),
      ("a name", { try queue.schedule(Count(number: 1), named: "odd\0name", .interval(.seconds(60))) }),
    ]
    // The kind has its number: a key is looked at behind it.
    try queue.enqueue(Count(number: 1))
    for (what, call) in calls {
      let error = #expect(throws: DatabaseError.self, "\(what)") { try call() }
      #expect(error?.code == .statement, "\(what)")
      #expect(error?.engine == .postgres, "\(what)")
      #expect(error?.path.isEmpty == false && error?.description.contains("U+0000") == true, "\(what)")
    }
    #expect(try queue.jobs().count == 1)
    #expect(try queue.periodicJobs().isEmpty)
  }

  @Test func keyTooLongForTheIndex_isRefused() throws {
    let queue = try DurableQueue(location: Engine.postgres.location())
    var generator = SeededRandomNumberGenerator(seed: 1)
    // The server packs what repeats.
    let letters = Array("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789")
    func options(_ length: Int) -> JobOptions {
      let key = (0..<length).map { _ in letters.randomElement(using: &generator)! }
      return JobOptions(uniqueKey: UniqueKey(String(key)))
    }
    try queue.enqueue(Count(number: 1), options: options(2600))
    let long = options(2601)
    let calls: [() throws -> Void] = [
      { try queue.enqueue(Count(number: 2), options: long) },
      { try queue.schedule(Count(number: 2), named: "a", .interval(.seconds(60)), options: long) },
    ]
    for call in calls {
      let error = #expect(throws: DatabaseError.self) { try call() }
      #expect(error?.code == .statement && error?.description.contains("may have 2600") == true)
    }
    #expect(try queue.jobs().count == 1)
    #expect(try queue.periodicJobs().isEmpty)
  }

  /// As two calls do that are made at the same time.
  @Test func kindWithNull_storedTogetherWithANewKind_failsAlone() throws {
    guard case .postgres(let url, let options) = try Engine.postgres.location() else { return }
    let access = try PostgresAccess.open(url, options, mustExist: false, DurableQueue.Configuration(), EventHub())
    try access.sync { session in
      let answers = try session.enqueue([[JobRequest(Odd())], [JobRequest(Fresh())]])
      #expect(databaseErrorCode { _ = try answers[0].get() } == .statement)
      #expect(try session.record(answers[1].get()[0])?.kind == "fresh")
    }
  }
}
#endif
