import CompositeOperations
import Foundation

/// The database of a queue inside a transaction. Usable until the closure that received it returns.
public final class DatabaseTransaction {
  private var transaction: (any StoreTransaction)?
  private let core: QueueCore
  /// The jobs that were stored in it.
  private(set) var jobs: [JobRequest] = []

  init(_ transaction: any StoreTransaction, _ core: QueueCore) {
    self.transaction = transaction
    self.core = core
  }

  func end() { transaction = nil }

  private func open() throws -> any StoreTransaction {
    guard let transaction else {
      let place = core.database.place
      throw DatabaseError(
        .transactionEnded, message: "A transaction of \(place) was used when it was over", path: place)
    }
    try transaction.requireOpen()
    return transaction
  }

  /// Runs a statement; in a file also several, if there are no values.
  ///
  /// On a server, the statement may have `$1`, `$2` and so on in place of `?`. A statement that
  /// fails ends the transaction, as PostgreSQL defines it, unless you go back to a savepoint:
  /// nothing is stored, even if the closure handles the error.
  ///
  /// - Parameters:
  ///   - sql: the statement, with a `?` for each value.
  ///   - values: the values, in the order of the parameters.
  /// - Returns: the rows of the result; of the last statement if there are several.
  /// - Throws: ``DatabaseError``.
  @discardableResult
  public func execute(_ sql: String, _ values: SQLValue...) throws -> [SQLRow] {
    try execute(sql, values)
  }

  /// Does the same with the values in an array.
  @discardableResult
  public func execute(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow] {
    try open().execute(sql, values)
  }

  /// How many rows the last `INSERT`, `UPDATE`, `DELETE` or `MERGE` of this transaction changed.
  /// Other statements, such as `SELECT`, leave it as it is, and so does `enqueue`.
  public var changeCount: Int { transaction?.changeCount ?? 0 }

  /// The number of the last row that your statements inserted in this transaction; 0 if there is
  /// none. 0 on a server: use `RETURNING`.
  public var lastInsertedRowID: Int64 { transaction?.lastInsertedRowID ?? 0 }

  /// Stores a job in this transaction. If it throws, nothing of the job is stored, and the
  /// transaction can go on.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) throws -> JobID {
    try enqueue(contentsOf: [JobRequest(job, options: options)])[0]
  }

  /// Stores jobs of any types in this transaction, all of them or none.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) throws -> [JobID] {
    let requests = try core.checked(requests)
    let ids = try open().enqueue(requests)
    jobs += requests
    return ids
  }
}
