import CompositeOperationsSQLite
import Foundation

/// The statements of the queue through SQLite's C functions in a bare loop: the minimum for a
/// queue. Each transaction updates the number of jobs in each state, like those of the queue.
final class SQLitePeer: DurablePeer, @unchecked Sendable {  // one row uses it at a time
  private let database: OpaquePointer
  private let begin: OpaquePointer
  private let commit: OpaquePointer
  private let insert: OpaquePointer
  private let claim: OpaquePointer
  private let acknowledge: OpaquePointer
  private let count: OpaquePointer

  /// Opens a file whose tables a queue has made.
  init(file: URL, isFull: Bool) {
    var database: OpaquePointer?
    precondition(sqlite3_open_v2(file.path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK)
    self.database = database!
    precondition(
      sqlite3_exec(
        database, "PRAGMA synchronous = \(isFull ? "FULL" : "NORMAL"); PRAGMA temp_store = MEMORY", nil, nil, nil)
        == SQLITE_OK)
    func prepare(_ sql: String) -> OpaquePointer {
      var statement: OpaquePointer?
      precondition(
        sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil) == SQLITE_OK,
        String(cString: sqlite3_errmsg(database)))
      return statement!
    }
    begin = prepare("BEGIN IMMEDIATE")
    commit = prepare("COMMIT")
    insert = prepare(
      """
      INSERT INTO durable_jobs (lane, state, major, minor, flags, blockers, max_attempts, timeout, run_at, enqueued_at,
        version, backoff, unique_key, payload, occurrence)
      VALUES (4, 0, 10, 10, 0, 0, 20, NULL, NULL, ?1, 1, NULL, NULL, ?2, NULL)
      """)
    claim = prepare(
      """
      UPDATE durable_jobs SET state = 3, worker = 1, claim = claim + 1, started_at = ?1
      WHERE id IN (SELECT id FROM durable_jobs WHERE state = 0 AND lane = 4
        ORDER BY major DESC, minor DESC, attempts, id LIMIT ?2)
      RETURNING id, claim, payload
      """)
    acknowledge = prepare(
      """
      UPDATE durable_jobs SET state = 7, worker = NULL, attempts = attempts + 1, finished_at = ?3, error = NULL
      WHERE id = ?1 AND claim = ?2 AND state = 3 RETURNING flags
      """)
    count = prepare(
      """
      INSERT INTO durable_counts (kind, state, jobs) VALUES (1, ?1, ?2)
      ON CONFLICT (kind, state) DO UPDATE SET jobs = jobs + excluded.jobs
      """)
  }

  deinit {
    for statement in [begin, commit, insert, claim, acknowledge, count] { sqlite3_finalize(statement) }
    sqlite3_close_v2(database)
  }

  private func run(_ statement: OpaquePointer) {
    while sqlite3_step(statement) == SQLITE_ROW {}
    precondition(sqlite3_reset(statement) == SQLITE_OK)
  }

  private func transaction(_ body: () -> Void) {
    run(begin)
    body()
    run(commit)
  }

  /// Adds to the number of jobs in a state.
  private func add(_ jobs: Int, inState state: Int64) {
    sqlite3_bind_int64(count, 1, state)
    sqlite3_bind_int64(count, 2, Int64(jobs))
    run(count)
  }

  /// Inserts jobs, this many in each transaction.
  func enqueue(_ count: Int, payload: [UInt8], inBatchesOf size: Int) {
    for first in stride(from: 0, to: count, by: size) {
      transaction {
        let last = min(first + size, count)
        for _ in first..<last {
          sqlite3_bind_int64(insert, 1, 1_800_000_000_000)
          sqlite3_bind_blob64(insert, 2, payload, UInt64(payload.count), composite_operations_sqlite_transient())
          run(insert)
        }
        add(last - first, inState: 0)
      }
    }
  }

  /// Claims `size` jobs in one transaction, and acknowledges them in another.
  func claimAndAcknowledge(_ size: Int) {
    var claimed: [(id: Int64, claim: Int64)] = []
    transaction {
      sqlite3_bind_int64(claim, 1, 1_800_000_000_000)
      sqlite3_bind_int64(claim, 2, Int64(size))
      while sqlite3_step(claim) == SQLITE_ROW {
        claimed.append((sqlite3_column_int64(claim, 0), sqlite3_column_int64(claim, 1)))
      }
      sqlite3_reset(claim)
      add(-claimed.count, inState: 0)
      add(claimed.count, inState: 3)
    }
    transaction {
      for (id, number) in claimed {
        sqlite3_bind_int64(acknowledge, 1, id)
        sqlite3_bind_int64(acknowledge, 2, number)
        sqlite3_bind_int64(acknowledge, 3, 1_800_000_000_000)
        run(acknowledge)
      }
      add(-claimed.count, inState: 3)
      add(claimed.count, inState: 7)
    }
  }
}
