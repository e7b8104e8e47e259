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
