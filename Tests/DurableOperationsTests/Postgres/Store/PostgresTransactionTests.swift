#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Rows of the user's in one transaction with jobs, on a server.
@Suite(.needsPostgres, .timeLimit(.minutes(30))) struct PostgresTransactionTests {
  private func queue(at location: DurableQueue.Location? = nil) throws -> DurableQueue {
    var configuration = DurableQueue.Configuration()
    configuration.busyTimeout = .seconds(600)
    let queue = try DurableQueue(location: location ?? Engine.postgres.location(), configuration: configuration)
    try queue.transaction {
      try $0.execute("CREATE TABLE IF NOT EXISTS orders (id bigint PRIMARY KEY, note text, data jsonb, paid boolean)")
    }
    return queue
  }

  private func orders(_ queue: DurableQueue) throws -> [Int64?] {
    try queue.transaction { try $0.execute("SELECT id FROM orders ORDER BY id") }.map { $0[0].integerValue }
  }

  // MARK: - Statements

  @Test func values_byQuestionMarkAndByNumber_andReturning() throws {
    let queue = try queue()
    try queue.transaction { db in
      let inserted = try db.execute(
        "INSERT INTO orders VALUES (?, ?, ?, ?) RETURNING id, note", 7, "it's ?", "{\"a\": 1}", SQLValue(true))
      #expect(inserted[0][0] == 7 && inserted[0]["note"] == "it's ?")
      #expect(db.changeCount == 1 && db.lastInsertedRowID == 0)
      try db.execute("INSERT INTO orders VALUES ($2, $1, NULL, NULL), ($2 + 1, $1, NULL, NULL)", "twice", 8)
      #expect(db.changeCount == 2)
      // Operators and texts with question marks.
      let found = try db.execute("SELECT count(*) FROM orders WHERE data ?? 'a' AND note = 'it''s ?' AND id = ?", 7)
      #expect(found[0][0] == 1)
      #expect(try db.execute("SELECT count(*) FROM orders WHERE data ? 'a' AND id = $1", 7)[0][0] == 1)
    }
    #expect(try orders(queue) == [7, 8, 9])
  }

  @Test(arguments: [
    "BEGIN", "COMMIT", "END", "ROLLBACK", "ABORT", "START TRANSACTION", "PREPARE TRANSACTION 'a'", "COMMIT AND CHAIN",
    "/* not seen? */ COMMIT", "-- a comment\n commit",
  ])
  func whatWouldEndTheTransaction_isRefused_andItGoesOn(_ sql: String) throws {
    let queue = try queue()
    try queue.transaction { db in
      try db.execute("INSERT INTO orders (id) VALUES (1)")
      #expect(databaseErrorCode { try db.execute(sql) } == .transactionEnded)
      // It was not sent.
      try db.execute("INSERT INTO orders (id) VALUES (2)")
      try db.enqueue(Count(number: 1))
    }
    #expect(try orders(queue) == [1, 2])
    #expect(try queue.counts().total == 1)
  }

  @Test(arguments: [
    "SET enable_seqscan = off", "SET SESSION lock_timeout = 1", "RESET ALL", "LISTEN x", "UNLISTEN x", "DISCARD ALL",
    "DEALLOCATE ALL", "PREPARE a AS SELECT 1",
  ])
  func whatWouldChangeTheSession_isRefused(_ sql: String) throws {
    let queue = try queue()
    try queue.transaction { db in
      #expect(databaseErrorCode { try db.execute(sql) } == .settingOfTheQueue)
      try db.execute("SET LOCAL lock_timeout = '7s'")
      #expect(try db.execute("SHOW lock_timeout")[0][0] == "7s")
    }
    #expect(try queue.transaction { try $0.execute("SHOW lock_timeout")[0][0] } == "10min")
  }

  @Test(arguments: ["COPY orders TO STDOUT", "SELECT 1; SELECT 2", "", "SELECT ?", "SELECT 'a\0b'"])
  func whatIsNoStatement_isRefused(_ sql: String) throws {
    let queue = try queue()
    #expect(databaseErrorCode { try queue.transaction { _ = try $0.execute(sql) } } == .statement)
    #expect(databaseErrorCode { try queue.transaction { _ = try $0.execute("SELECT 1", 2) } } == .statement)
  }

  /// It locks what it works on, and what others have stored by then is to be seen.
  @Test func savepoint_takesNoSnapshot() throws {
    let location = try Engine.postgres.location()
    let queue = try queue(at: location), other = try self.queue(at: location)
    try queue.transaction { db in
      try db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
      try db.execute("SAVEPOINT a")
      try other.transaction { _ = try $0.execute("INSERT INTO orders (id) VALUES (1)") }
      try db.execute("ROLLBACK TO SAVEPOINT a")
      try db.execute("LOCK TABLE orders")
      #expect(try db.execute("SELECT count(*) FROM orders")[0][0] == 1)
    }
  }

  /// By a function, which no check of statements sees.
  @Test func endedInside_isAnError_andTheQueueGoesOn() throws {
    let queue = try queue()
    try queue.transaction {
      try $0.execute("CREATE PROCEDURE sly() LANGUAGE plpgsql AS $$ BEGIN COMMIT; END $$")
    }
    let code = databaseErrorCode {
      try queue.transaction { db in
        try db.execute("INSERT INTO orders (id) VALUES (1)")
        try db.execute("CALL sly()")
      }
    }
    #expect(code == .statement || code == .transactionEnded)
    #expect(try orders(queue) == [])
    try queue.enqueue(Count(number: 1))
  }

  // MARK: - Errors

  @Test func constraint_isAnErrorOfItsOwn_andNothingIsStored() throws {
    let queue = try queue()
    try queue.transaction { try $0.execute("INSERT INTO orders (id) VALUES (1)") }
    do {
      try queue.transaction { db in
        try db.enqueue(Count(number: 1))
        try db.execute("INSERT INTO orders (id) VALUES (?)", 1)
      }
      Issue.record("there is such an order")
    } catch let error as DatabaseError {
      #expect(error.code == .constraint && error.sqlState == "23505" && error.engine == .postgres)
      #expect(error.message.contains("orders_pkey"))
    }
    #expect(try queue.counts().total == 0)
  }

  /// PostgreSQL does nothing more in a transaction in which a statement has failed.
  @Test func statementFails_andTheErrorIsCaught_nothingIsStored() throws {
    let queue = try queue()
    let events = queue.events()
    let code = databaseErrorCode {
      try queue.transaction { db in
        try db.execute("INSERT INTO orders (id) VALUES (1)")
        try db.enqueue(Count(number: 1))
        #expect(databaseErrorCode { try db.execute("SELECT 1 / 0") } == .statement)
        #expect(databaseErrorCode { try db.execute("SELECT 1") } == .statement)
        #expect(databaseErrorCode { try db.enqueue(Count(number: 2)) } == .statement)
      }
    }
    // The closure has returned, and was not told.
    #expect(code == .transactionEnded)
    #expect(try orders(queue) == [])
    #expect(try queue.counts().total == 0)
    withExtendedLifetime(events) {}
  }

  /// It is sent together with BEGIN, which a later statement must not repeat.
  @Test(arguments: [false, true])
  func firstStatementFails_andTheErrorIsCaught_nothingIsStored(_ goesOn: Bool) throws {
    let queue = try queue()
    let code = databaseErrorCode {
      try queue.transaction { db in
        #expect(databaseErrorCode { try db.execute("SELECT 1 / 0") } == .statement)
        guard goesOn else { return }
        #expect(databaseErrorCode { try db.execute("INSERT INTO orders (id) VALUES (1)") } == .transactionEnded)
        #expect(databaseErrorCode { try db.enqueue(Count(number: 1)) } == .transactionEnded)
      }
    }
    #expect(code == .transactionEnded)
    #expect(try orders(queue) == [])
    #expect(try queue.counts().total == 0)
    // The connection is as good as before.
    try queue.transaction { try $0.execute("INSERT INTO orders (id) VALUES (2)") }
    #expect(try orders(queue) == [2])
  }

  @Test func statementFails_behindASavepoint_whatCameBeforeIsStored() async throws {
    let queue = try queue()
    let events = queue.events()
    try await queue.transaction { db in
      try db.execute("INSERT INTO orders (id) VALUES (1)")
      try db.enqueue(Count(number: 1))
      try db.execute("SAVEPOINT here")
      try db.enqueue(Count(number: 2))
      #expect(databaseErrorCode { try db.execute("INSERT INTO orders (id) VALUES (1)") } == .constraint)
      try db.execute("ROLLBACK TO SAVEPOINT here")
      try db.enqueue(Count(number: 3))
    }
    #expect(try await queue.jobs().map { try $0.decoded(as: Count.self).number } == [1, 3])
    let last = try await queue.enqueue(Count(number: 4))
    #expect(await texts(of: events, through: "enqueued \(last)").count == 3, "one of them was taken back")
  }

  /// The kind is new, and nobody else sees it yet.
  @Test(arguments: [false, true]) func triggerHasStoredTheKind_theJobIsStored(isTakenBack: Bool) throws {
    // With the usual patience: the queue would wait for its own transaction.
    let queue = try DurableQueue(location: Engine.postgres.location())
    try queue.transaction { db in
      try db.execute("CREATE TABLE orders (id bigint PRIMARY KEY)")
      try db.execute(
        """
        CREATE FUNCTION order_was_stored() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          PERFORM enqueue('send', json_build_object('text', 'by the trigger'));
          RETURN NULL;
        END $$
        """)
      try db.execute(
        "CREATE TRIGGER order_was_stored AFTER INSERT ON orders FOR EACH ROW EXECUTE FUNCTION order_was_stored()")
    }
    let store = try #require(queue.core.database as? PostgresAccess).store
    func known() -> Int64? { store.state.withLock { $0.kindNumbers[KindName("send")] } }
    func insertAndEnqueue(_ db: DatabaseTransaction, _ id: Int64) throws {
      try db.execute("INSERT INTO orders (id) VALUES (?)", .integer(id))
      try db.enqueue(Send(text: "\(id)"))
    }
    if isTakenBack {
      try queue.transaction { db in
        try db.execute("SAVEPOINT here")
        try insertAndEnqueue(db, 5)
        try db.execute("ROLLBACK TO SAVEPOINT here")
        try insertAndEnqueue(db, 6)
        try db.execute("ROLLBACK TO SAVEPOINT here")
      }
      // The kind has gone as well.
      #expect(known() == nil)
    }
    try queue.transaction { try insertAndEnqueue($0, 7) }
    let stored = try queue.transaction { try $0.execute("SELECT id FROM kinds WHERE name = 'send'")[0][0].integerValue }
    #expect(known() == stored)
    #expect(
      try queue.jobs(kind: "send").map { try $0.decoded(as: Send.self).text }.sorted() == ["7", "by the trigger"])
  }

  @Test func refusedJob_caught_isNotStored_andTheTransactionGoesOn() throws {
    let queue = try queue()
    let taken = try queue.enqueue(Count(number: 0), options: JobOptions(uniqueKey: UniqueKey("taken")))
    try queue.transaction { db in
      try db.execute("INSERT INTO orders (id) VALUES (1)")
      let reasons = [
        jobErrorReason { try db.enqueue(Count(number: 1), options: JobOptions(dependsOn: [JobID(rawValue: 999)])) },
        jobErrorReason { try db.enqueue(Count(number: 2), options: JobOptions(uniqueKey: UniqueKey("taken"))) },
      ]
      #expect(reasons == [.unknownPrerequisite(JobID(rawValue: 999)), .duplicate(taken)])
      #expect(
        jobErrorReason {
          try db.enqueue(contentsOf: [
            JobRequest(Send(text: "x")), JobRequest(Send(text: "y"), options: JobOptions(dependsOn: [.inSameCall(5)])),
          ])
        } != nil)
      try db.enqueue(Count(number: 3), options: JobOptions(dependsOn: [taken]))
      try db.execute("INSERT INTO orders (id) VALUES (2)")
    }
    #expect(try orders(queue) == [1, 2])
    #expect(try queue.jobs().map { try $0.decoded(as: Count.self).number } == [0, 3])
  }

  @Test func closureThrows_nothingIsStored() throws {
    let queue = try queue()
    #expect(throws: TestFailure()) {
      try queue.transaction { db in
        try db.execute("INSERT INTO orders (id) VALUES (1)")
        try db.enqueue(Count(number: 1))
        throw TestFailure()
      }
    }
    #expect(try orders(queue) == [])
    #expect(try queue.counts().total == 0)
  }

  @Test func usedAfterItsEnd_isAnError() throws {
    let queue = try queue()
    var kept: DatabaseTransaction?
    try queue.transaction { kept = $0 }
    #expect(databaseErrorCode { _ = try kept?.execute("SELECT 1") } == .transactionEnded)
    #expect(databaseErrorCode { _ = try kept?.enqueue(Count(number: 1)) } == .transactionEnded)
  }

  // MARK: - Beside the queue's own work

  @Test func queueCalledInside_isAnError() throws {
    let queue = try queue()
    let id = try queue.enqueue(Count(number: 1))
    try queue.transaction { _ in
      let calls: [() throws -> Void] = [
        { _ = try queue.enqueue(Count(number: 2)) }, { _ = try queue.job(id) }, { _ = try queue.counts() },
        { try queue.cancel(id) }, { try queue.transaction { _ in } }, { try queue.pause(kind: "count") },
        { _ = try queue.jobs() },
      ]
      for call in calls { #expect(jobErrorReason(call) == .insideTransaction) }
    }
    #expect(try queue.counts().total == 1)
  }

  /// They would ruin the plans of the user's statements.
  @Test func settingsOfTheQueue_doNotHoldInside() throws {
    let queue = try queue()
    let names = PostgresStore.plans + ["idle_in_transaction_session_timeout"]
    func settings(_ db: DatabaseTransaction) throws -> [SQLValue] {
      try names.map { try db.execute("SELECT current_setting($1), $2::int", .text($0), 0)[0][0] }
    }
    let before = try queue.transaction { db in
      let before = try settings(db)
      // With functions, which have settings of their own.
      let first = try db.enqueue(Count(number: 1), options: JobOptions(uniqueKey: UniqueKey("k")))
      try db.enqueue(Count(number: 2), options: JobOptions(dependsOn: [first]))
      #expect(try settings(db) == before)
      return before
    }
    #expect(before.prefix(4) == ["on", "on", "on", "on"])
    for _ in 0..<3 {
      _ = try queue.counts()
      try queue.enqueue(Count(number: 3))
      #expect(try queue.transaction(settings) == before)
    }
  }

  /// The number of a kind is not given in the user's transaction.
  @Test func newKindInside_doesNotBlockOthers() throws {
    struct New: Job {
      static let kind = "new"
    }
    let location = try Engine.postgres.location()
    let (queue, other) = (try queue(at: location), try queue(at: location))
    try queue.transaction { db in
      try db.enqueue(New())
      // It would wait for this transaction.
      try other.enqueue(New())
      #expect(try other.counts().total == 1)
    }
    #expect(try other.counts().total == 2)
  }

  @Test func twoTransactions_runBesideEachOther() throws {
    let location = try Engine.postgres.location()
    let (queue, other) = (try queue(at: location), try queue(at: location))
    try queue.transaction { db in
      try db.execute("INSERT INTO orders (id) VALUES (1)")
      try db.enqueue(Count(number: 1))
      try other.transaction { db in
        try db.execute("INSERT INTO orders (id) VALUES (2)")
        try db.enqueue(Count(number: 2))
        #expect(try db.execute("SELECT id FROM orders").count == 1)
      }
      #expect(try db.execute("SELECT id FROM orders").count == 2)
    }
    #expect(try orders(queue) == [1, 2])
  }

  /// Stores jobs of other keys together, as the calls of a moment are, while a transaction has
  /// locked some.
  private func store(keys: [String], whileLocked locked: [String]) throws -> (
    codes: [DatabaseError.Code?], stored: Set<String>
  ) {
    let location = try Engine.postgres.location()
    let queue = try queue(at: location)
    var configuration = DurableQueue.Configuration()
    configuration.busyTimeout = .milliseconds(300)
    let other = try DurableQueue(location: location, configuration: configuration)
    func request(_ key: String) -> JobRequest {
      JobRequest(Count(number: 1), options: JobOptions(uniqueKey: UniqueKey(key)))
    }
    let codes = try queue.transaction { db in
      try db.enqueue(contentsOf: locked.map(request))
      let answers = try other.core.database.sync { try $0.enqueue(keys.map { [request($0)] }) }
      return answers.map { answer in databaseErrorCode { _ = try answer.get() } }
    }
    let stored = try keys.filter { try !queue.jobs(Count.self, uniqueKey: $0).isEmpty }
    return (codes, Set(stored).subtracting(locked))
  }

  @Test func keyIsLocked_whatIsStoredTogetherWithItIsStored() throws {
    let (codes, stored) = try store(keys: ["a", "b", "c"], whileLocked: ["b"])
    #expect(codes == [nil, .busy, nil])
    #expect(stored == ["a", "c"])
  }

  /// As if all were: each of them would wait, and the rounds with it.
  @Test func twoKeysAreLocked_whatIsBehindThemFailsUntried() throws {
    let (codes, stored) = try store(keys: ["a", "b", "c", "d"], whileLocked: ["b", "c"])
    #expect(codes == [nil, .busy, .busy, .busy])
    #expect(stored == ["a"])
  }

  // MARK: - Suspending

  @Test(arguments: [false, true]) func suspendedWhileOneIsOpen_returnsAfterItsEnd_andNothingOfItIsStored(
    catchesTheError: Bool
  ) async throws {
    let location = try Engine.postgres.location()
    let (queue, other) = (try queue(at: location), try queue(at: location))
    let begun = Gate(), released = Gate()
    let transaction = Task {
      try await queue.transaction { db in
        try db.enqueue(Count(number: 1))
        begun.open()
        released.waitBlocking()
        if catchesTheError {
          #expect(databaseErrorCode { try db.enqueue(Count(number: 2)) } == .suspended)
        }
      }
    }
    await begun.wait()
    let stored = Task {
      await queue.suspend()
      return try await other.counts().total
    }
    await until(queue.core.database.isSuspended)
    released.open()
    #expect(try await stored.value == 0)
    let error = await #expect(throws: DatabaseError.self) { try await transaction.value }
    #expect(error?.code == .suspended)
    #expect(try await other.counts().total == 0)
    queue.resume()
    try await queue.enqueue(Count(number: 3))
    #expect(try await other.counts().total == 1)
  }

  /// The call has begun before, and waits for a connection.
  @Test func suspendedWhileAnotherCallWaitsForItsConnection_thatIsRefused() async throws {
    guard case .postgres(let url, var options) = try Engine.postgres.location() else { return }
    // One for the rounds, one for calls.
    options.maxConnections = 2
    let queue = try queue(at: .postgres(url, options)), other = try self.queue(at: .postgres(url, options))
    let callers = try #require(queue.core.database as? PostgresAccess).store.callers
    let begun = Gate(), released = Gate(), ended = EventRecorder<DatabaseError.Code?>()
    // Their threads: they are blocked.
    Thread.detachNewThread {
      ended.record(
        databaseErrorCode {
          try queue.transaction { _ in
            begun.open()
            released.waitBlocking()
          }
        })
    }
    await begun.wait()
    Thread.detachNewThread {
      ended.record(databaseErrorCode { try queue.enqueue(Count(number: 1)) })
    }
    await until(!callers.state.withLock { $0.waiting.isEmpty })
    let suspended = Task { await queue.suspend() }
    await until(queue.core.database.isSuspended)
    released.open()
    await suspended.value
    await ended.wait(forCount: 2)
    #expect(ended.events == [.suspended, .suspended])
    #expect(try await other.counts().total == 0)
  }

  // MARK: - The end of a job

  @Test func complete_writesBoth_orNone() async throws {
    let queue = try queue()
    try await queue.register(Count.self) { job, context async throws in
      try await context.complete { db in
        try db.execute("INSERT INTO orders (id) VALUES (?)", SQLValue(job.number))
        try db.enqueue(Send(text: "\(job.number)"))
        if job.number == 2 { throw TestFailure() }
      }
    }
    queue.start()
    let good = try await queue.enqueue(Count(number: 1))
    let bad = try await queue.enqueue(Count(number: 2), options: JobOptions(maxAttempts: 1))
    #expect(try await queue.waitUntilSettled(good)?.state == .done)
    #expect(try await queue.waitUntilSettled(bad)?.state == .dead)
    await queue.stop()
    #expect(try await queue.transaction { try $0.execute("SELECT id FROM orders")[0][0] } == 1)
    #expect(try await queue.counts()["send"]?.total == 1)
  }
}
#endif
