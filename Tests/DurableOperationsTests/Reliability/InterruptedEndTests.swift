import CompositeOperationsSQLite
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Statements that end a transaction, or go back to a savepoint, and fail: a suspension interrupts
/// whatever statement runs.
@Suite(.timeLimit(.minutes(30))) struct InterruptedEndTests {
  private let refusing = JobOptions(uniqueKey: UniqueKey("one"))

  /// Another connection gets the lock at once, and the queue stores jobs.
  private func expectUsable(_ queue: DurableQueue, _ file: URL) async throws {
    // The file is opened anew when the call has returned.
    await queue.hasNothingUnderWay()
    let other = try Connection(path: file.path, busyTimeout: .zero, mustExist: true)
    try other.execute("BEGIN IMMEDIATE")
    try other.execute("ROLLBACK")
    _ = try await queue.enqueue(Count(number: 2))
  }

  @Test func suspended_whileAJobIsRefused_holdsNoLock() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file), options = refusing
      _ = try await queue.enqueue(Count(number: 1), options: options)
      for _ in 0..<Scale.count(5000) {
        async let second = queue.enqueue(Count(number: 1), options: options)
        await queue.suspend()
        queue.resume()
        _ = try? await second
      }
      try await expectUsable(queue, file)
      #expect(try await queue.counts().total == 2)
    }
  }

  @Test func suspended_whilePartOfATransactionIsRefused_leavesNoPart() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file), options = refusing
      _ = try await queue.enqueue(Count(number: 1), options: options)
      let requests = [JobRequest(Count(number: 2)), JobRequest(Count(number: 1), options: options)]
      for _ in 0..<Scale.count(2000) {
        async let second: Void = queue.transaction { db in _ = try? db.enqueue(contentsOf: requests) }
        await queue.suspend()
        queue.resume()
        try? await second
      }
      #expect(try await queue.jobs().count == 1)
      #expect(try await queue.counts().total == 1)
    }
  }

  @Test(arguments: [1, 50, Int.max]) func rollbackThatFails_isRepeated_orTheFileIsOpenedAnew(times: Int) async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file)
      let first = try await queue.enqueue(Count(number: 1), options: refusing)
      let denial = try Denial(of: SQLITE_TRANSACTION, "ROLLBACK", times: times, in: queue)
      await #expect(throws: JobError.self) { try await queue.enqueue(Count(number: 1), options: refusing) }
      withExtendedLifetime(denial) {}
      try await expectUsable(queue, file)
      #expect(try await queue.counts().total == 2)
      // Its sessions find all as it was.
      try await queue.register(Count.self) { _, _ in BlockOperation {} }
      queue.start()
      #expect(try await queue.waitUntilSettled(first)?.state == .done)
      await queue.suspend()
      queue.resume()
      await queue.stop()
    }
  }

  @Test(arguments: [1, 50]) func rollbackInMemoryThatFails_isRepeated(times: Int) async throws {
    let queue = try DurableQueue(location: .memory)
    _ = try await queue.enqueue(Count(number: 1), options: refusing)
    let denial = try Denial(of: SQLITE_TRANSACTION, "ROLLBACK", times: times, in: queue)
    await #expect(throws: JobError.self) { try await queue.enqueue(Count(number: 1), options: refusing) }
    withExtendedLifetime(denial) {}
    _ = try await queue.enqueue(Count(number: 2))
    #expect(try await queue.counts().total == 2)
  }

  @Test(arguments: ["ROLLBACK", "RELEASE"]) func wayBackToASavepointFails_nothingOfTheTransactionIsStored(way: String)
    async throws
  {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file)
      _ = try await queue.enqueue(Count(number: 1), options: refusing)
      let events = queue.events()
      let denial = try Denial(of: SQLITE_SAVEPOINT, way, times: .max, in: queue)
      await #expect(throws: DatabaseError.self) {
        try await queue.transaction { db in
          do {
            try db.enqueue(contentsOf: [
              JobRequest(Count(number: 2)), JobRequest(Count(number: 1), options: refusing),
            ])
          } catch {
            // It goes on, as one may after an error of `enqueue`.
          }
        }
      }
      denial.end()
      #expect(try await queue.jobs().count == 1)
      #expect(try await queue.counts().total == 1)
      let next = try await queue.enqueue(Count(number: 3))
      #expect(await texts(of: events, through: "enqueued \(next)") == ["enqueued \(next)"])
    }
  }
}

/// Makes SQLite refuse statements of a kind, as an interruption does at the wrong moment.
private final class Denial {
  private let queue: DurableQueue
  private let action: Int32
  private let operation: String
  private var left: Int

  init(of action: Int32, _ operation: String, times: Int, in queue: DurableQueue) throws {
    (self.action, self.operation, self.left, self.queue) = (action, operation, times, queue)
    _ = try queue.core.database.withSQLite { store in
      sqlite3_set_authorizer(
        store.connection.handle,
        { context, action, first, _, _, _ in
          let denial = Unmanaged<Denial>.fromOpaque(context!).takeUnretainedValue()
          return denial.denies(action, first.map { String(cString: $0) }) ? SQLITE_DENY : SQLITE_OK
        }, Unmanaged.passUnretained(self).toOpaque())
    }
  }

  private func denies(_ action: Int32, _ operation: String?) -> Bool {
    guard action == self.action, operation == self.operation, left > 0 else { return false }
    left -= 1
    return true
  }

  /// Ends it on the queue's own thread.
  func end() { _ = try? queue.core.database.withSQLite { _ in left = 0 } }
}
