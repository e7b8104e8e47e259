import CompositeOperations
import Foundation

extension DurableQueue {
  /// Stores a job. When the call returns, the job is on the disk of the machine or the server, as
  /// far as ``Configuration/durability`` promises.
  ///
  /// This process need not have registered the job's kind.
  ///
  /// - Returns: the job's number.
  /// - Throws: ``JobError`` if the job cannot be stored as it is, ``DatabaseError`` if the database
  ///   fails. Then nothing is stored, except after a server's
  ///   ``DatabaseError/Code/outcomeUnknown``: then the job may be.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) throws -> JobID {
    try enqueue(contentsOf: [job], options: options)[0]
  }

  /// Stores a job without blocking the thread of the caller; `async` functions call this form. Jobs
  /// that are stored at the same time share a transaction.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID {
    try await enqueue(contentsOf: [job], options: options)[0]
  }

  /// Stores jobs of one type, all of them or none.
  ///
  /// - Returns: their numbers, in the same order.
  @discardableResult
  public func enqueue<J: Job>(contentsOf jobs: [J], options: JobOptions = JobOptions()) throws -> [JobID] {
    try core.enqueue(core.requests(for: jobs, options))
  }

  /// Stores jobs of one type, all of them or none, without blocking the thread of the caller.
  @discardableResult
  public func enqueue<J: Job>(contentsOf jobs: [J], options: JobOptions = JobOptions()) async throws -> [JobID] {
    try await core.enqueueLater(core.requests(for: jobs, options))
  }

  /// Stores jobs of any types, all of them or none. They may depend on each other: see
  /// ``JobID/inSameCall(_:)``.
  ///
  /// - Returns: their numbers, in the same order.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) throws -> [JobID] {
    try core.enqueue(core.checked(requests))
  }

  /// Stores jobs of any types, all of them or none, without blocking the thread of the caller.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) async throws -> [JobID] {
    try await core.enqueueLater(core.checked(requests))
  }

  // MARK: - Transactions

  /// Runs a closure in one transaction of the queue's database, together with the jobs that it
  /// stores.
  ///
  /// ```swift
  /// try queue.transaction { db in
  ///   try db.execute("INSERT INTO orders (id, total) VALUES (?, ?)", 7, 12.5)
  ///   try db.enqueue(SendReceipt(order: 7))
  /// }
  /// ```
  ///
  /// If the closure throws, nothing of it is stored. The closure must not touch the queue's tables:
  /// in a file those whose names begin with `durable_`, on a server those of its schema. Savepoints
  /// are allowed; statements that would end the transaction, or change the connection for good,
  /// throw. In a file, so do those that make TEMP tables, views and triggers; on a server these
  /// stay with the connection, which may be another the next time.
  ///
  /// Keep the closure short. In a file it has the database for itself, and the queue waits for it.
  /// On a server it has one of the connections, and other transactions run beside it: the
  /// transaction is READ COMMITTED, and others wait for the rows that it has locked.
  ///
  /// - Parameter body: the closure. Called once, on a thread of the database. It must not keep its
  ///   argument.
  /// - Throws: the error of the closure, or ``DatabaseError``. Then nothing is stored, except after
  ///   a server's ``DatabaseError/Code/outcomeUnknown``: then it may be. After
  ///   ``DatabaseError/Code/conflict``, call it again.
  @discardableResult
  public func transaction<R>(_ body: (DatabaseTransaction) throws -> R) throws -> R {
    let context = OperationContext.capture()
    let result = try core.database.sync { store in
      try OperationContext.bind(context) { try core.transact(in: store, body) }
    }
    core.pump()
    return result
  }

  /// Does the same without blocking the thread of the caller.
  @discardableResult
  public func transaction<R: Sendable>(
    _ body: @escaping @Sendable (DatabaseTransaction) throws -> R
  ) async throws -> R {
    let context = OperationContext.capture()
    let result = try await core.database.run { [core] store in
      try OperationContext.bind(context) { try core.transact(in: store, body) }
    }
    core.pump()
    return result
  }
}
