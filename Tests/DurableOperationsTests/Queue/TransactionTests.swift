import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct TransactionTests {
  /// DUR-20: would not compile without a warning.
  @Test func result_discarded_isNoWarning() throws {
    let queue = try DurableQueue(location: .memory)
    try queue.transaction { try $0.execute("CREATE TABLE mine (a)") }
  }

  private func queue() throws -> DurableQueue {
    let queue = try DurableQueue(location: .memory)
    try queue.transaction { _ = try $0.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, note TEXT)") }
    return queue
  }

  private func orders(_ queue: DurableQueue) throws -> Int64? {
    try queue.transaction { try $0.execute("SELECT count(*) FROM orders")[0][0].integerValue }
  }

  @Test func returns_bothAreStored() throws {
    let queue = try queue()
    let (id, row) = try queue.transaction { db in
      try db.execute("INSERT INTO orders (note) VALUES (?)", "first")
      #expect(db.changeCount == 1)
      return (try db.enqueue(Count(number: 1)), db.lastInsertedRowID)
    }
    #expect(row == 1)
    #expect(try queue.job(id)?.decoded(as: Count.self).number == 1)
    #expect(try orders(queue) == 1)
  }

  @Test(arguments: Engine.available) func changeCount_isThatOfTheLastChange(_ engine: Engine) throws {
    let queue = try DurableQueue(location: engine.location())
    try queue.transaction { db in
      try db.execute("CREATE TABLE mine (a INTEGER)")
      try db.execute("INSERT INTO mine VALUES (1), (2), (3)")
      #expect(db.changeCount == 3)
      // Neither changes a row.
      #expect(try db.execute("SELECT a FROM mine WHERE a = 1").count == 1)
      try db.execute("CREATE INDEX by_a ON mine (a)")
      #expect(db.changeCount == 3)
      try db.execute("UPDATE mine SET a = a + 1 WHERE a > 1")
      #expect(db.changeCount == 2)
      try db.execute("DELETE FROM mine WHERE a = 7")
      #expect(db.changeCount == 0)
    }
  }

  @Test(arguments: Engine.available) func changeCount_isNotThatOfAnEnqueue(_ engine: Engine) throws {
    let queue = try DurableQueue(location: engine.location())
    // On a server rows have no numbers.
    let row: Int64 = engine == .sqlite ? 3 : 0
    try queue.transaction { db in
      try db.execute("CREATE TABLE mine (a INTEGER)")
      try db.enqueue(Count(number: 1))
      #expect(db.changeCount == 0 && db.lastInsertedRowID == 0)
      try db.execute("INSERT INTO mine VALUES (1), (2), (3)")
      try db.enqueue(contentsOf: (2...6).map { JobRequest(Count(number: $0)) })
      #expect(db.changeCount == 3 && db.lastInsertedRowID == row)
      // Neither changes a row.
      try db.execute("WITH few AS (SELECT a FROM mine) SELECT a FROM few")
      try db.execute("CREATE INDEX by_a ON mine (a)")
      #expect(db.changeCount == 3 && db.lastInsertedRowID == row)
      try db.execute("/* a */ -- few\n WITH few AS (SELECT 2 AS a) DELETE FROM mine WHERE a IN (SELECT a FROM few)")
      try db.enqueue(contentsOf: (7...9).map { JobRequest(Count(number: $0)) })
      #expect(db.changeCount == 1 && db.lastInsertedRowID == row)
      try db.execute("INSERT INTO mine SELECT a FROM mine WHERE a = 7")
      try db.enqueue(Count(number: 10))
      #expect(db.changeCount == 0 && db.lastInsertedRowID == row)
    }
  }

  @Test func throws_nothingIsStored() throws {
    let queue = try queue()
    #expect(throws: TestFailure()) {
      try queue.transaction { db in
        try db.execute("INSERT INTO orders (note) VALUES (?)", "first")
        try db.enqueue(Count(number: 1))
        throw TestFailure()
      }
    }
    #expect(try orders(queue) == 0)
    #expect(try queue.counts().total == 0)
    // A kind that was new then is new again.
    let id = try queue.enqueue(Count(number: 2))
    #expect(try queue.job(id)?.kind == "count")
  }

  @Test func jobOfIt_runsWhenItIsOver() async throws {
    let queue = try queue()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    queue.start()
    let id = try await queue.transaction { db in try db.enqueue(Count(number: 1)) }
    try await queue.waitUntilIdle()
    #expect(try await queue.job(id)?.state == .done)
    await queue.stop()
  }

  @Test func badJobInside_canBeCaught() throws {
    let queue = try queue()
    try queue.transaction { db in
      try db.execute("INSERT INTO orders (note) VALUES ('kept')")
      #expect(jobErrorReason { try db.enqueue(Odd(number: .nan)) } == .notEncodable)
      try db.enqueue(Count(number: 1))
    }
    #expect(try orders(queue) == 1)
    #expect(try queue.counts().total == 1)
  }

  @Test(arguments: ["COMMIT", "ROLLBACK", "END"])
  func endedInside_isAnError(_ sql: String) throws {
    let queue = try queue()
    let code = databaseErrorCode {
      try queue.transaction { db in
        try db.execute("INSERT INTO orders (note) VALUES ('x')")
        try db.execute(sql)
      }
    }
    #expect(code == .transactionEnded)
    // The queue works as before.
    _ = try queue.enqueue(Count(number: 1))
  }

  @Test func begunInside_isAnError() throws {
    let queue = try queue()
    #expect(databaseErrorCode { try queue.transaction { _ = try $0.execute("BEGIN") } } == .transactionEnded)
    #expect(databaseErrorCode { try queue.transaction { _ = try $0.execute("SELECT ?", 1, 2) } } == .statement)
  }

  @Test func refusedJob_caught_isNotStored() throws {
    let queue = try queue()
    try queue.transaction { db in
      let unknown = JobID(rawValue: 99)
      #expect(
        jobErrorReason { try db.enqueue(Count(number: 1), options: JobOptions(dependsOn: [unknown])) }
          == .unknownPrerequisite(unknown))
      try db.enqueue(Count(number: 2), options: JobOptions(uniqueKey: UniqueKey("k")))
      // The second is refused, and takes the first along.
      #expect(
        jobErrorReason {
          try db.enqueue(contentsOf: [
            JobRequest(Send(text: "x")), JobRequest(Count(number: 3), options: JobOptions(uniqueKey: UniqueKey("k"))),
          ])
        } != nil)
    }
    #expect(try queue.jobs().map { try $0.decoded(as: Count.self).number } == [2])
  }

  @Test func savepointRolledBack_jobAndItsKindAreGone() async throws {
    struct Other: Job {
      static let kind = "other"
      var number: Int
    }
    let queue = try queue()
    let events = queue.events()
    try await queue.transaction { db in
      try db.execute("SAVEPOINT a")
      try db.enqueue(Other(number: 1))
      try db.execute("ROLLBACK TO a; RELEASE a")
    }
    #expect(try await queue.counts().total == 0)
    let id = try await queue.enqueue(Other(number: 2))
    // The number of a kind is never given to another.
    let next = try await queue.enqueue(Count(number: 3))
    #expect(try await queue.job(id)?.kind == "other")
    #expect(try await queue.job(next)?.kind == "count")
    #expect(await texts(of: events, through: "enqueued \(next)").count == 2, "one of them is not there")
  }

  @Test func savepointRolledBack_itsNumberIsGivenAgain_isToldOnce() async throws {
    let queue = try queue()
    let events = queue.events()
    let (taken, id) = try await queue.transaction { db in
      try db.execute("SAVEPOINT a")
      let taken = try db.enqueue(Count(number: 1))
      try db.execute("Rollback To a")
      try db.enqueue(Count(number: 2))
      // What comes before the error is done.
      #expect(databaseErrorCode { try db.execute("ROLLBACK TO a; SELECT * FROM nothing") } == .statement)
      return (taken, try db.enqueue(Count(number: 3)))
    }
    #expect(taken == id)
    #expect(try await queue.jobs().map { try $0.decoded(as: Count.self).number } == [3])
    let last = try await queue.enqueue(Count(number: 4))
    #expect(await texts(of: events, through: "enqueued \(last)") == ["enqueued \(id)", "enqueued \(last)"])
  }

  @Test(arguments: Engine.available)
  func savepointRolledBack_deathOfItsJob_isNotTold(_ engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let events = queue.events()
    let first = try await queue.enqueue(Count(number: 1))
    try await queue.cancel(first)
    let kept = try await queue.transaction { db in
      func options(_ policy: PrerequisiteFailure) -> JobOptions {
        JobOptions(dependsOn: [first], whenPrerequisiteFails: policy)
      }
      try db.execute("SAVEPOINT a")
      try db.enqueue(Count(number: 2), options: options(.die))
      try db.enqueue(Count(number: 3), options: options(.cancel))
      try db.execute("ROLLBACK TO SAVEPOINT a")
      return try db.enqueue(Count(number: 4), options: options(.die))
    }
    let last = try await queue.enqueue(Count(number: 5))
    let told = await texts(of: events, through: "enqueued \(last)")
    #expect(
      told == ["enqueued \(first)", "cancelled \(first)", "enqueued \(kept)", "dead \(kept)", "enqueued \(last)"])
  }

  /// The jobs are there, and as they are told to be, because they were so before.
  @Test(arguments: Engine.available)
  func savepointRolledBack_replacingJob_isNotTold(_ engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let gone = try await queue.enqueue(Count(number: 1))
    try await queue.cancel(gone)
    let replacing = UniqueKey("k", whenTaken: .replace)
    let waiting = try await queue.enqueue(Count(number: 2), options: JobOptions(uniqueKey: replacing))
    let replacingEnded = UniqueKey("ended", whenTaken: .replace, by: [.cancelled])
    let cancelled = try await queue.enqueue(Count(number: 3), options: JobOptions(uniqueKey: replacingEnded))
    try await queue.cancel(cancelled)
    let events = queue.events()
    let kept = try await queue.transaction { db in
      try db.execute("SAVEPOINT a")
      #expect(try db.enqueue(Count(number: 4), options: JobOptions(uniqueKey: replacing)) == waiting)
      let cancelledAtOnce = JobOptions(
        uniqueKey: replacingEnded, dependsOn: [gone], whenPrerequisiteFails: .cancel)
      #expect(try db.enqueue(Count(number: 5), options: cancelledAtOnce) == cancelled)
      try db.execute("ROLLBACK TO SAVEPOINT a")
      let first = try db.enqueue(Count(number: 6))
      // Each goes back to its own place, though both have one name.
      try db.execute("SAVEPOINT a")
      let second = try db.enqueue(Count(number: 7))
      try db.execute("SAVEPOINT a")
      try db.enqueue(Count(number: 8), options: JobOptions(uniqueKey: replacing))
      try db.execute("Rollback To a")
      try db.execute("RELEASE SAVEPOINT a")
      // The word alone takes back nothing.
      let third = try db.enqueue(Count(number: 9))
      #expect(try db.execute("SELECT 'rollback'").count == 1)
      try db.execute("RELEASE SAVEPOINT a")
      return [first, second, third]
    }
    #expect(try await queue.job(waiting)?.decoded(as: Count.self).number == 2)
    #expect(try await queue.job(cancelled)?.decoded(as: Count.self).number == 3)
    let last = try await queue.enqueue(Count(number: 10))
    #expect(await texts(of: events, through: "enqueued \(last)") == (kept + [last]).map { "enqueued \($0)" })
  }

  @Test(arguments: [0, 1])
  func savepointMadeAndReleased_changesAreStillThoseOfTheUser(placeOfTheChange: Int) throws {
    let queue = try queue()
    var statements = ["SAVEPOINT a", "RELEASE SAVEPOINT a"]
    statements.insert("INSERT INTO orders VALUES (1, 'x'), (2, 'x'), (3, 'x')", at: placeOfTheChange)
    try queue.transaction { [statements] db in
      for statement in statements { try db.execute(statement) }
      #expect(try db.execute("SELECT changes()")[0][0].integerValue == 3)
    }
  }

  /// The file does not keep what the transaction noted in it.
  @Test func savepoints_leaveNothingBehind() throws {
    let queue = try queue()
    func notes() throws -> [SQLRow] {
      try queue.transaction { try $0.execute("SELECT key FROM durable_meta ORDER BY key") }
    }
    let before = try notes()
    try queue.transaction { db in
      try db.execute("SAVEPOINT a")
      try db.enqueue(Count(number: 1))
      try db.execute("ROLLBACK TO a; RELEASE a; SAVEPOINT b")
      try db.enqueue(Count(number: 2))
    }
    #expect(try notes() == before)
    #expect(try queue.counts().total == 1)
  }

  @Test func rolledBackByAStatement_whatFollowsIsNotStored() throws {
    let queue = try queue()
    try queue.transaction { _ = try $0.execute("INSERT INTO orders VALUES (1, 'x')") }
    let code = databaseErrorCode {
      try queue.transaction { db in
        _ = try? db.execute("INSERT OR ROLLBACK INTO orders VALUES (1, 'y')")
        #expect(databaseErrorCode { _ = try db.enqueue(Count(number: 1)) } == .transactionEnded)
        #expect(databaseErrorCode { _ = try db.execute("INSERT INTO orders VALUES (2, 'z')") } == .transactionEnded)
      }
    }
    #expect(code == .transactionEnded)
    #expect(try orders(queue) == 1)
    #expect(try queue.counts().total == 0)
    // Within one text too.
    #expect(
      databaseErrorCode {
        try queue.transaction { db in
          _ = try db.execute("CREATE TRIGGER t BEFORE INSERT ON orders BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
          _ = try? db.execute("INSERT INTO orders VALUES (3, ''); INSERT INTO orders VALUES (4, '')")
        }
      } == .transactionEnded)
    #expect(try orders(queue) == 1)
  }

  @Test(arguments: [
    "PRAGMA query_only = ON", "PRAGMA busy_timeout = 0", "PRAGMA locking_mode = EXCLUSIVE",
    "ATTACH ':memory:' AS other",
  ])
  func settingOfTheConnection_isRefused(_ sql: String) throws {
    let queue = try queue()
    #expect(databaseErrorCode { try queue.transaction { _ = try $0.execute(sql) } } == .settingOfTheQueue)
    // What only reads, and what belongs to the file, is not.
    try queue.transaction { db in
      #expect(try db.execute("PRAGMA table_info(orders)").count == 2)
      try db.execute("PRAGMA user_version = 7")
      #expect(try db.execute("PRAGMA user_version")[0][0] == 7)
    }
  }

  /// Later transactions would find what is TEMP in place of what has the same name.
  @Test(arguments: [
    "CREATE TEMP TABLE orders (id)", "CREATE TEMP TABLE orders AS SELECT 1", "CREATE TABLE temp.orders (id)",
    "CREATE TEMP VIEW orders AS SELECT 1", "CREATE VIRTUAL TABLE temp.orders USING fts5 (note)",
    "CREATE TEMP TRIGGER t AFTER INSERT ON orders BEGIN DELETE FROM orders; END",
  ])
  func temporary_isRefused(_ sql: String) throws {
    let queue = try queue()
    #expect(databaseErrorCode { try queue.transaction { _ = try $0.execute(sql) } } == .settingOfTheQueue)
    try queue.transaction { db in
      try db.execute("INSERT INTO orders VALUES (1, 'x')")
      // What belongs to the file is allowed.
      try db.execute("CREATE TABLE more (id); CREATE INDEX by_id ON more (id); ALTER TABLE more RENAME TO most")
      try db.execute("CREATE VIEW notes AS SELECT note FROM orders")
      try db.execute("CREATE TRIGGER t AFTER INSERT ON most BEGIN DELETE FROM orders; END")
    }
    #expect(try orders(queue) == 1)
  }

  @Test(arguments: [false, true]) func foreignKeys_holdIfTheyAreToBe(_ areToBe: Bool) throws {
    var configuration = DurableQueue.Configuration()
    configuration.enforcesForeignKeys = areToBe
    let queue = try DurableQueue(location: .memory, configuration: configuration)
    let code = databaseErrorCode {
      try queue.transaction { db in
        try db.execute("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a (id))")
        try db.execute("INSERT INTO b VALUES (1)")
      }
    }
    #expect(code == (areToBe ? .constraint : nil))
  }

  @Test func usedAfterItsEnd_isAnError() throws {
    let queue = try queue()
    var kept: DatabaseTransaction?
    try queue.transaction { kept = $0 }
    #expect(databaseErrorCode { _ = try kept?.execute("SELECT 1") } == .transactionEnded)
    #expect(databaseErrorCode { _ = try kept?.enqueue(Count(number: 1)) } == .transactionEnded)
    #expect(kept?.changeCount == 0)
  }

  @Test func sqlWithAZeroByte_ends() throws {
    let queue = try queue()
    let rows = try queue.transaction { try $0.execute("SELECT 7;\0 and more") }
    #expect(rows.first?[0].integerValue == 7)
    _ = try queue.transaction { try $0.execute("\0") }
    #expect(try queue.transaction { try $0.execute("SELECT 1; SELECT 2; -- the end") }.first?[0].integerValue == 2)
  }

  @Test(arguments: [false, true])
  func queueCalledInside_isAnError(_ isInFile: Bool) async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue(location: isInFile ? .file(file) : .memory)
      let id = try await queue.enqueue(Count(number: 1))
      try callInside(queue, id)
    }
  }

  @Test func queueCalledInTheLogHandler_isAnErrorThatSaysHow() async throws {
    let handled = LockBox<DurableQueue?>(nil), errors = EventRecorder<String>()
    var configuration = DurableQueue.Configuration()
    configuration.logHandler = { event in
      guard let queue = handled.withLock({ $0 }), let id = event.jobIDs.first else { return }
      do { try queue.delete(id) } catch { errors.record("\(error)") }
      Task { try await queue.delete(id) }
    }
    let queue = try DurableQueue(location: .memory, configuration: configuration)
    handled.withLock { $0 = queue }
    try await queue.register(Count.self) { _, _ async throws in throw TestFailure() }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    await errors.wait(forCount: 1)
    #expect(errors.events.first?.contains("from a log handler or sink") == true, "\(errors.events)")
    try await until(try await queue.job(id) == nil)
    await queue.stop()
    handled.withLock { $0 = nil }
  }

  private func callInside(_ queue: DurableQueue, _ id: JobID) throws {
    try queue.transaction { _ in
      let calls: [() throws -> Void] = [
        { _ = try queue.enqueue(Count(number: 2)) }, { _ = try queue.job(id) }, { _ = try queue.counts() },
        { try queue.cancel(id) }, { try queue.transaction { _ in } }, { try queue.pause(kind: "count") },
        { try queue.register(Count.self) { _, _ in BlockOperation {} } }, { _ = try queue.periodicJobs() },
        { _ = try queue.jobs() },
      ]
      for call in calls { #expect(jobErrorReason(call) == .insideTransaction) }
    }
  }
}

/// A job that does not always encode.
private struct Odd: Job {
  static let kind = "odd"
  var number: Double
}
