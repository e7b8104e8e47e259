import CompositeOperationsSQLite
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-18: the database keeps the numbers of jobs, and they are right after every change.
@Suite(.timeLimit(.minutes(30))) struct CountTests {
  // MARK: - Time

  @Test func counts_readNoJobs() throws {
    func work(jobs: Int) throws -> Int {
      let harness = try StoreHarness()
      try harness.fill(jobs, .waiting)
      try harness.fill(jobs, .done, from: 100_000)
      var counts = JobCounts([], registered: [])
      let work = try harness.work { counts = try harness.store.counts(registered: []) }
      #expect(counts["a"]?.states == [.waiting: jobs, .done: jobs])
      return work
    }
    #expect(try work(jobs: 10_000) == work(jobs: 10))
  }

  // MARK: - Text

  @Test func counts_areALine() {
    let stored: [JobCounts.StoredKind] = [
      ("mail", true, 2, [.dead: 1, .waiting: 3]), ("sleep", false, 5, [:]), ("upload", false, nil, [.done: 7]),
    ]
    let counts = JobCounts(stored, registered: ["mail", "zip"])
    #expect(
      "\(counts)"
        == "mail (paused, limit 2): 3 waiting, 1 dead; sleep (limit 5): no jobs; upload: 7 done; zip: no jobs")
    #expect("\(counts.kinds[2])" == "upload: 7 done")
    #expect("\(JobCounts([], registered: []))" == "no jobs")
    #expect("\(JobCounts([stored[2]], registered: [], isApproximate: true))" == "about upload: 7 done")
  }

  // MARK: - Files of other versions, and other programs

  @Test func olderFile_isCountedWhenItIsBroughtUpToDate() async throws {
    try await withDatabaseFile { file in
      do {
        let store = try SQLiteStore(
          path: file.path, configuration: DurableQueue.Configuration(), events: EventHub(), mustExist: false,
          migrations: [Schema.migrations[0]])
        // As a program of that time does it.
        try store.connection.transaction {
          let ids = try store.enqueue((0..<5).map { StoreHarness.job($0 < 2 ? "a" : "b") })
          _ = try store.cancel(ids[4])
        }
      }
      #expect(
        try await DurableQueue(location: .readOnlyFile(file)).counts()["b"]?.states == [.waiting: 2, .cancelled: 1])
      let queue = try DurableQueue.patient(file)
      let counts = try await queue.counts()
      #expect(counts["a"]?.states == [.waiting: 2] && counts["b"]?.states == [.waiting: 2, .cancelled: 1])
    }
  }

  @Test func olderProgram_thatHasTheFileOpen_isCountedWhenTheQueueIsStarted() async throws {
    try await withDatabaseFile { file in
      let old = try SQLiteStore(
        path: file.path, configuration: DurableQueue.Configuration(), events: EventHub(), mustExist: false,
        migrations: [Schema.migrations[0]])
      let queue = try DurableQueue.patient(file)
      func stored() throws -> Bool {
        try !old.connection.execute("SELECT 1 FROM durable_meta WHERE key = 'upgraded'").isEmpty
      }
      for round in 1...2 {
        try old.connection.transaction { _ = try old.enqueue([StoreHarness.job("a")]) }
        queue.start()
        await queue.stop()
        #expect(try await queue.counts()["a"]?.states == [.waiting: round])
        #expect(try stored())
      }
      // It can no longer be there after a restart of the machine.
      let inspection = try Inspection(file)
      try inspection.connection.execute("DELETE FROM durable_counts")
      try queue.core.database.withSQLite { try $0.recountAfterUpgrade(in: "another start") }
      #expect(try inspection.hasRightCounts() && !stored())
    }
  }

  @Test func whatAnOlderProgramEnded_leavesRoomUnderTheLimit() async throws {
    try await withDatabaseFile { file in
      let old = try SQLiteStore(
        path: file.path, configuration: DurableQueue.Configuration(), events: EventHub(), mustExist: false,
        migrations: [Schema.migrations[0]])
      let harness = try StoreHarness(at: .file(file))
      try old.connection.transaction { _ = try old.enqueue([StoreHarness.job("a")]) }
      try old.connection.execute("UPDATE durable_jobs SET state = 3, worker = 77, claim = 1")
      // It is counted.
      try harness.session { try $0.begin(resuming: nil) }
      try old.connection.execute("DELETE FROM durable_jobs")
      try harness.session { try $0.setLimit(1, kind: "a") }
      let id = try harness.enqueue(), next = try harness.enqueue()
      #expect(try harness.claimed() == [id])
      // What ends in the same round makes room, too.
      let end = StoreHarness.acknowledgement(of: id)
      let kind = try harness.session { try $0.number(ofKind: "a") }
      let request = ClaimRequest(kinds: [(kind, .max)], limit: 9, isOnline: true, mayRunAlone: true)
      let claim = try harness.session { try harness.perform($0, claiming: request, ends: [end]) }
      #expect(claim.jobs.map(\.id) == [next])
    }
  }

  @Test func youngFile_isNotCountedAnew() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file)
      try await queue.enqueue(Count(number: 1))
      let inspection = try Inspection(file)
      try inspection.connection.execute("UPDATE durable_counts SET jobs = 77")
      queue.start()
      await queue.stop()
      #expect(try await queue.counts().total == 77)
    }
  }

  @Test func jobsChangedByAStatementOfTheUsers_areCountedAnew() async throws {
    let queue = try DurableQueue(location: .memory)
    let ids = try await queue.enqueue(contentsOf: (0..<5).map { Count(number: $0) })
    try await queue.transaction { db in
      try db.execute("CREATE TABLE mine (a)")
      try db.execute("CREATE TRIGGER t AFTER INSERT ON mine BEGIN DELETE FROM durable_jobs WHERE id = NEW.a; END")
    }
    try await queue.transaction { db in
      try db.execute("UPDATE durable_jobs SET state = 4 WHERE id < 3")
      try db.enqueue(Count(number: 5))
    }
    #expect(try await queue.counts()["count"]?.states == [.held: 2, .waiting: 4])
    try await queue.transaction { db in _ = try db.execute("INSERT INTO mine VALUES (?)", .integer(ids[0].rawValue)) }
    #expect(try await queue.counts()["count"]?.states == [.held: 1, .waiting: 4])
    try await queue.transaction { db in _ = try db.execute("DELETE FROM durable_counts") }
    #expect(try await queue.counts()["count"]?.states == [.held: 1, .waiting: 4])
  }

  @Test func jobsChangedByAnotherProgram_areCountedWhenTheFileIsCompacted() async throws {
    try await withDatabaseFile { file in
      let queue = try DurableQueue.patient(file)
      try await queue.enqueue(contentsOf: (0..<5).map { Count(number: $0) })
      let other = try Connection(path: file.path, busyTimeout: .seconds(60), mustExist: true)
      try other.execute("DELETE FROM durable_jobs WHERE id < 3")
      try await queue.compact()
      #expect(try await queue.counts()["count"]?.states == [.waiting: 3])
    }
  }

  // MARK: - Transactions of the user's

  /// A kind that was new in what was taken back is new again, too.
  @Test func savepointRolledBack_countsWhatIsLeft() async throws {
    let queue = try DurableQueue(location: .memory)
    try await queue.transaction { db in
      try db.enqueue(Count(number: 1))
      try db.execute("SAVEPOINT a")
      try db.enqueue(Count(number: 2))
      try db.execute("SAVEPOINT b")
      try db.enqueue(Send(text: "3"))
      try db.execute("ROLLBACK TO b; RELEASE b")
      try db.enqueue(Count(number: 4))
      try db.execute("ROLLBACK TO a; RELEASE a")
      try db.enqueue(Send(text: "5"))
    }
    let counts = try await queue.counts()
    #expect(counts["count"]?.states == [.waiting: 1] && counts["send"]?.states == [.waiting: 1])
  }

  @Test func transactionThatEndsOtherwise_countsNothing() async throws {
    let queue = try DurableQueue(location: .memory)
    try await queue.transaction { db in
      try db.execute("CREATE TABLE mine (a UNIQUE)")
      try db.execute("INSERT INTO mine VALUES (1)")
    }
    await #expect(throws: DatabaseError.self) {
      try await queue.transaction { db in
        try db.enqueue(Count(number: 1))
        _ = try? db.execute("INSERT OR ROLLBACK INTO mine VALUES (1)")
      }
    }
    await #expect(throws: TestFailure.self) {
      try await queue.transaction { db in
        try db.enqueue(Count(number: 1))
        throw TestFailure()
      }
    }
    try await queue.enqueue(Send(text: "x"))
    #expect(try await queue.counts().total == 1)
    #expect(try queue.bothCounts().kept == queue.bothCounts().counted)
  }
}
