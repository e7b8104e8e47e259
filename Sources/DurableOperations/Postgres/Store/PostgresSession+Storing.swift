#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension PostgresSession {
  func enqueue(_ batches: [[JobRequest]]) throws -> [Result<[JobID], any Error>] {
    do {
      try giveNumbers(toKindsOf: batches.joined())
      let jobs = batches.flatMap(\.self)
      if !jobs.isEmpty, jobs.allSatisfy(\.standsAlone) {
        let isOnePart = try PostgresStore.parts(of: jobs).count == 1
        var ids = try transaction { isOnePart ? try $0.enqueueAtOnce(jobs) : try $0.enqueue(jobs) }[...]
        return batches.map { batch in
          defer { ids.removeFirst(batch.count) }
          return .success(Array(ids.prefix(batch.count)))
        }
      }
      return try transaction { work in try batches.map { .success(try work.enqueue($0)) } }
    } catch let error as DatabaseError where ![.statement, .constraint, .busy].contains(error.code) {
      // Each of them alone would meet the same error.
      throw error
    } catch  where batches.count > 1 {
      // One batch may be wrong, or have a unique key that others have locked; it must not fail the
      // others.
      return enqueueEach(batches)
    }
  }

  /// Stores each batch by a transaction of its own. If two of them have waited in vain, more than a
  /// key may be locked, such as a table. Those behind fail at once: the rounds wait meanwhile.
  private func enqueueEach(_ batches: [[JobRequest]]) -> [Result<[JobID], any Error>] {
    var busy: [DatabaseError] = []
    return batches.map { batch in
      if busy.count == 2 { return .failure(busy[1]) }
      return Result {
        do {
          // The error may be that of an earlier kind.
          try giveNumbers(toKindsOf: batch)
          return try transaction { try $0.enqueue(batch) }
        } catch let error as DatabaseError where error.code == .busy {
          busy.append(error)
          throw error
        }
      }
    }
  }

  /// Gives new kinds their numbers. Before the transaction that stores the jobs: each number has a
  /// transaction of its own.
  private func giveNumbers(toKindsOf jobs: some Sequence<JobRequest>) throws {
    for job in jobs { _ = try kindNumber(job.kind) }
  }

  func transact<R>(_ body: (any StoreTransaction) throws -> R) throws -> R {
    try transact(beginningWith: nil, keepsDone: false, body).result
  }

  func complete<R>(_ done: Acknowledgement, keepsDone: Bool, _ body: (any StoreTransaction) throws -> R) throws -> R? {
    var result: R?
    do {
      let value = try transact(beginningWith: done, keepsDone: keepsDone) { transaction in
        let value = try body(transaction)
        result = value
        return value
      }.result
      store.numbers.withLock { $0.acknowledged([done]) }
      return value
    } catch is NoLongerOurs {
      return nil
    } catch let error as DatabaseError where error.code == .outcomeUnknown {
      // The job's own row tells.
      switch try? outcome(of: done, keepsDone: keepsDone) {
      case .written:
        store.numbers.withLock { $0.acknowledged([done]) }
        store.events.tell(all: [done.event])
        return result
      case .unwritten:
        throw DatabaseError(
          .connectionLost, engine: .postgres, sqlState: error.sqlState, message: error.message, path: error.path)
      case .somebodyElses: return nil
      case .unknown, nil: throw error
      }
    }
  }

  private enum Outcome { case written, unwritten, somebodyElses, unknown }

  /// Whether an attempt was ended. Waits for a transaction that may be about to end it.
  private func outcome(of end: Acknowledgement, keepsDone: Bool) throws -> Outcome {
    let (worker, isHeld) = store.numbers.withLock { ($0.counter?.worker, $0.held[end.id] == end.claim) }
    return try transaction { work in
      let job = try work.run("state_and_claim", "SELECT state, claim FROM \(schema).jobs WHERE id = $1 FOR UPDATE") {
        $0.bind(end.id.rawValue)
      }.first { (state: JobState(rawValue: Int(clamping: $0.integer(0))), claim: $0.integer(1)) }
      if let job {
        guard job.claim == end.claim else { return .somebodyElses }
        return job.state == .executing ? .unwritten : keepsDone && job.state == .done ? .written : .somebodyElses
      }
      // Only a process that has lost its worker has lost the job, so that another process may have
      // deleted it.
      guard !keepsDone, isHeld, let worker else { return .unknown }
      let isThere = try work.run("is_worker", "SELECT 1 FROM \(schema).rounds WHERE worker = $1") { $0.bind(worker) }
      return isThere.count == 1 ? .written : .unknown
    }
  }

  /// Runs the closure once, whatever happens.
  private func transact<R>(
    beginningWith end: Acknowledgement?, keepsDone: Bool, _ body: (any StoreTransaction) throws -> R
  ) throws -> (result: R, work: PostgresWork) {
    let ended = try use { connection in
      let work = PostgresWork(store, connection, isGuest: true)
      do {
        if let end, try work.acknowledge([end], keepsDone: keepsDone).isEmpty { throw NoLongerOurs() }
        let transaction = PostgresTransaction(work, pool: store.callers)
        let result = try store.asTransaction { try body(transaction) }
        try work.commit()
        return (result: result, work: work)
      } catch {
        connection.rollBack()
        throw error
      }
    }
    ended.work.tellAll()
    return ended
  }
}

/// Rolls a transaction back.
private struct NoLongerOurs: Error {}

/// A transaction of the user on a server.
final class PostgresTransaction: StoreTransaction {
  private let work: PostgresWork
  private let pool: PostgresConnectionPool
  private(set) var changeCount = 0

  // Where the user goes back to a savepoint, the events since then are not told. The server
  // remembers how many there were: a setting of the transaction goes back with the savepoint.
  // Neither takes a snapshot, which SAVEPOINT does not either: what the user locks next has to be
  // seen as it is then.
  private var noteOfEvents: PostgresStatement {
    PostgresStatement("SET LOCAL composite_operations.events = '\(work.eventCount)'")
  }
  private static let notedEvents = PostgresStatement("SHOW composite_operations.events")

  init(_ work: PostgresWork, pool: PostgresConnectionPool) {
    self.work = work
    self.pool = pool
  }

  /// Rows have no numbers from the server: use `RETURNING`.
  var lastInsertedRowID: Int64 { 0 }

  func requireOpen() throws {
    guard !work.connection.isBroken else {
      throw DatabaseError(
        .connectionLost, engine: .postgres, message: "it was lost in this transaction", path: work.store.place)
    }
  }

  func execute(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
    try asDatabaseError {
      let check = try PostgresStatementCheck(sql)
      try check.require(values.count)
      // After an error the server refuses both, and says so of the user's statement.
      let makesSavepoint = check.command == "SAVEPOINT" && work.connection.transactionState != .failed
      let goesBack = check.command == "ROLLBACK"
      // They may go as well.
      if goesBack { work.uncommittedKindNumbers = [:] }
      var position = 0
      let results = try work.run { pipeline in
        if makesSavepoint { pipeline.add(noteOfEvents) }
        position = try pipeline.add(PostgresStatement(check.sql, form: .text)) { parameters in
          for value in values { try parameters.bind(value) }
        }
        if goesBack { pipeline.add(Self.notedEvents) }
      }
      let result = results[position]
      // Functions and statements that no check sees may have ended it.
      guard work.connection.transactionState == .inTransaction else {
        work.connection.markBroken()
        throw PostgresError(
          .transactionEnded, message: "it was ended by a statement", sql: sql, place: work.store.place)
      }
      if goesBack { forgetEventsTakenBack(results[position + 1]) }
      if result.isOfChange { changeCount = result.changes }
      return PostgresValueMapping.rows(result)
    }
  }

  func enqueue(_ jobs: [JobRequest]) throws -> [JobID] {
    try asDatabaseError {
      for kind in Set(jobs.map { KindName($0.kind) }) { try requireNumber(of: kind.text) }
      let eventCount = work.eventCount
      try work.run("savepoint", "SAVEPOINT composite_operations")
      do {
        let ids = try work.enqueue(jobs)
        try work.run("release", "RELEASE SAVEPOINT composite_operations")
        return ids
      } catch {
        work.forgetEvents(after: eventCount)
        if !work.connection.isBroken {
          try work.run("rollback_to", "ROLLBACK TO SAVEPOINT composite_operations")
          try work.run("release", "RELEASE SAVEPOINT composite_operations")
        }
        throw error
      }
    }
  }

  /// Forgets the events behind the number that the server remembers.
  private func forgetEventsTakenBack(_ noted: PostgresResult) {
    // Statements of the user could set it, too.
    guard let count = Int(noted.first { $0.text(0) ?? "" } ?? ""), (0...work.eventCount).contains(count)
    else { return }
    work.forgetEvents(after: count)
  }

  /// Stores a new kind on a connection of its own: others would wait until this transaction is
  /// over, and this one cannot wait for a connection of the pool. Unless it has stored the kind
  /// itself, by a trigger for example: the other connection would wait for it.
  private func requireNumber(of kind: String) throws {
    let store = work.store
    if store.state.withLock({ $0.kindNumbers[KindName(kind)] }) != nil { return }
    func number(in work: PostgresWork) throws -> Int64? {
      try work.run("kind_number", "SELECT id FROM \(work.schema).kinds WHERE name OPERATOR(pg_catalog.=) $1") {
        try $0.bind(kind)
      }
      .first { $0.integer(0) }
    }
    if let known = try number(in: work) {
      work.uncommittedKindNumbers[KindName(kind)] = known
      return
    }
    let connection = try PostgresConnection.connect(pool.configuration)
    defer { connection.close() }
    let single = PostgresWork(store, connection)
    try single.run("new_kind", "INSERT INTO \(work.schema).kinds (name) VALUES ($1) ON CONFLICT (name) DO NOTHING") {
      try $0.bind(kind)
    }
    let stored = try number(in: single)
    try single.commit()
    if let stored { store.remember(kind: kind, stored) }
  }

  private func asDatabaseError<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as PostgresError { throw DatabaseError(error, place: work.store.place) }
  }
}
#endif
