extension SQLiteSession {
  func enqueue(_ batches: [[JobRequest]]) throws -> [Result<[JobID], any Error>] {
    do {
      try watchClock()
      return try store.transaction { try batches.map { .success(try store.enqueue($0)) } }
    } catch let error as DatabaseError where error.code == .busy {
      // Each of them alone would wait as long.
      throw error
    } catch  where batches.count > 1 {
      // One batch may be wrong; it must not fail the others.
      return batches.map { batch in
        Result {
          try watchClock()
          return try store.transaction { try store.enqueue(batch) }
        }
      }
    }
  }

  func transact<R>(_ body: (any StoreTransaction) throws -> R) throws -> R {
    try watchClock()
    let transaction = SQLiteTransaction(store)
    return try store.transaction {
      let result = try body(transaction)
      try transaction.end()
      return result
    }
  }

  func complete<R>(_ done: Acknowledgement, keepsDone: Bool, _ body: (any StoreTransaction) throws -> R) throws -> R? {
    do {
      return try transact { transaction in
        guard try store.acknowledge(done, keepsDone: keepsDone) else { throw NoLongerOurs() }
        return try body(transaction)
      }
    } catch is NoLongerOurs {
      return nil
    }
  }
}

/// Rolls a transaction back.
private struct NoLongerOurs: Error {}

/// A transaction of the user in a file.
final class SQLiteTransaction: StoreTransaction {
  private let store: SQLiteStore
  /// Whether a text of the user may have made a savepoint.
  private var mayHaveSavepoints = false
  /// The number of events that the file remembers, which is 0 where it has none; nil if that is not
  /// known.
  private var notedEventCount: Int? = 0
  // What statements of the user did, whatever the queue has written since.
  private(set) var changeCount = 0
  private(set) var lastInsertedRowID: Int64 = 0

  init(_ store: SQLiteStore) {
    self.store = store
  }

  func requireOpen() throws {
    guard store.connection.isInTransaction else { throw store.connection.transactionEnded() }
  }

  func execute(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
    // It may undo what was done since a savepoint, with its counts.
    try store.writeCounts()
    let words = sql.lowercased()
    let mayMakeSavepoint = words.contains("savepoint")
    if mayMakeSavepoint { mayHaveSavepoints = true }
    let mayTakeBack = mayHaveSavepoints && words.contains("rollback")
    // Also if it takes something back: the word alone, as in a value, takes back nothing.
    if mayMakeSavepoint || mayTakeBack { try noteEventCount() }
    let connection = store.connection
    connection.lastInsertedRowID = lastInsertedRowID
    defer {
      lastInsertedRowID = connection.lastInsertedRowID
      store.forgetKinds()
    }
    do {
      let rows = try connection.execute(sql, values, isGuest: true) { changeCount = $0 }
      if mayTakeBack { try forgetEventsTakenBack() }
      return rows
    } catch {
      // A statement before the one that failed may have done so.
      if mayTakeBack, connection.isInTransaction { try connection.requireSuccess { try forgetEventsTakenBack() } }
      throw error
    }
  }

  /// Writes only what the file does not know: `changes()` stays that of the user's statement,
  /// unless jobs were stored since the last savepoint.
  private func noteEventCount() throws {
    guard notedEventCount != store.pendingEvents.count else { return }
    try store.noteEventCount()
    notedEventCount = store.pendingEvents.count
  }

  private func forgetEventsTakenBack() throws {
    notedEventCount = nil
    notedEventCount = try store.forgetEventsTakenBack()
  }

  /// Leaves nothing behind that only the transaction needs.
  func end() throws {
    if mayHaveSavepoints, store.connection.isInTransaction { try store.forgetEventCount() }
  }

  func enqueue(_ jobs: [JobRequest]) throws -> [JobID] {
    try store.savepoint { try store.enqueue(jobs) }
  }
}
