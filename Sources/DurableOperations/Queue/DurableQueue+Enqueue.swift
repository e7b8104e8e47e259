import Foundation

extension DurableQueue {
  /// Stores a job. When this returns the job is on the disk, that of the machine or of the server, as far as
  /// ``Configuration/durability`` says.
  ///
  /// Its kind need not be registered here.
  ///
  /// - Returns: the job's number.
  /// - Throws: ``JobError`` if the job cannot be stored as it is, ``DatabaseError`` if the database cannot. Nothing is
  ///   stored then, but for a server's ``DatabaseError/Code/outcomeUnknown``: it may be.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) throws -> JobID {
    try enqueue(contentsOf: [job], options: options)[0]
  }

  /// Stores a job, without using the database on the thread of the caller: the form that `async` functions get. Jobs that are
  /// stored so at the same time share a transaction.
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

  /// Stores jobs of one type, all of them or none, without using the database on the thread of the caller.
  @discardableResult
  public func enqueue<J: Job>(contentsOf jobs: [J], options: JobOptions = JobOptions()) async throws -> [JobID] {
    try await core.enqueueLater(core.requests(for: jobs, options))
  }

  /// Stores jobs of any types, all of them or none. They may depend on each other: see ``JobID/inSameCall(_:)``.
  ///
  /// - Returns: their numbers, in the same order.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) throws -> [JobID] {
    try core.enqueue(core.checked(requests))
  }

  /// Stores jobs of any types, all of them or none, without using the database on the thread of the caller.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) async throws -> [JobID] {
    try await core.enqueueLater(core.checked(requests))
  }

  // MARK: - Transactions

  /// Does something in one transaction of the queue's database, together with jobs that are stored in it.
  ///
  /// ```swift
  /// try queue.transaction { db in
  ///   try db.execute("INSERT INTO orders (id, total) VALUES (?, ?)", 7, 12.5)
  ///   try db.enqueue(SendReceipt(order: 7))
  /// }
  /// ```
  ///
  /// Nothing of it is there if the closure throws. It must leave the queue's tables alone: in a file those whose names begin
  /// with `durable_`, on a server those of its schema. Savepoints are allowed; what would end the transaction, or change the
  /// connection for good, is refused.
  ///
  /// Keep it short. In a file the closure has the database for itself, and the queue waits for it. On a server it has one of the
  /// connections, and others run beside it: the transaction is READ COMMITTED, and rows that it has locked are waited for.
  ///
  /// - Parameter body: what to do. Called once, on a thread of the database's. It must not keep what it is given.
  /// - Throws: what the closure throws, or ``DatabaseError``. Nothing is stored then, but for a server's
  ///   ``DatabaseError/Code/outcomeUnknown``: it may be. ``DatabaseError/Code/conflict``: call it again.
  @discardableResult
  public func transaction<R>(_ body: (DatabaseTransaction) throws -> R) throws -> R {
    let result = try core.database.sync { try core.transact(in: $0, body) }
    core.pump()
    return result
  }

  /// The same, without using the database on the thread of the caller.
  @discardableResult
  public func transaction<R: Sendable>(
    _ body: @escaping @Sendable (DatabaseTransaction) throws -> R
  ) async throws -> R {
    let result = try await core.database.run { [core] in try core.transact(in: $0, body) }
    core.pump()
    return result
  }
}
