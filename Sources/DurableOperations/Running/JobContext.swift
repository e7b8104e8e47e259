import CompositeOperations
public import Foundation

/// What an attempt of a job knows about itself and can do besides its work.
///
/// It may be used from any thread while the attempt runs. Methods that use the database do so on
/// the thread of the caller.
public struct JobContext: Sendable {
  private let execution: Execution
  private let core: QueueCore
  private let box = LockBox<Data?>(nil)

  init(_ execution: Execution, of core: QueueCore) {
    self.execution = execution
    self.core = core
    let checkpoint = execution.job.checkpoint
    box.withLock { $0 = checkpoint }
  }

  /// The job's number.
  public var id: JobID { execution.job.id }
  /// The job's kind.
  public var kind: String { execution.kindName }
  /// A key that identifies this job among all jobs of this and any other database, the same in each
  /// attempt: send it to servers, so that they recognize repeated requests. A job that replaces
  /// another by its ``UniqueKey`` has the same number, but another key.
  public var idempotencyKey: String {
    // The key contains the time: a database that is restored from an old copy gives the same
    // numbers again.
    "\(core.identity)-\(String(execution.job.enqueuedAt, radix: 36))-\(id.rawValue)-\(execution.job.revision)"
  }
  /// The number of this attempt, from 1. Attempts that a crash, a stop or a snooze cut short do not
  /// count.
  public var attempt: Int { execution.attempt }
  /// How many processes in a row ended while they ran the job. An attempt that ends resets the
  /// count.
  public var crashes: Int { execution.job.crashes }
  /// For a periodic job, the time of its schedule; nil for other jobs.
  public var occurrence: Date? { execution.job.occurrence }
  /// Whether the job is dead, or held, if this attempt fails.
  public var isLastAttempt: Bool { execution.job.maxAttempts.map { attempt >= $0 } ?? false }

  /// Whether the attempt was asked to end: the job was cancelled, its timeout is over, the queue
  /// stops, or another process has taken the job over. Its operation, or task, is then cancelled,
  /// too.
  public var isCancelled: Bool { core.withLock { _ in execution.interruption != nil } }

  /// The checkpoint that this attempt, or an earlier one, has stored; nil if there is none.
  public var checkpoint: Data? { box.withLock { $0 } }

  /// Stores a checkpoint for the next attempt, in this process or another. The queue deletes it
  /// when the job is done.
  ///
  /// - Parameter data: any data; nil to delete the checkpoint.
  /// - Throws: ``JobError/Code/leaseLost`` if another process has taken the job,
  ///   ``JobError/Code/attemptEnded`` after the end of this attempt, ``DatabaseError``.
  public func checkpoint(_ data: Data?) throws {
    try core.database.sync { try storeCheckpoint(data, in: $0) }
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func checkpoint(_ data: Data?) async throws {
    try await core.database.run { try storeCheckpoint(data, in: $0) }
  }

  private func storeCheckpoint(_ data: Data?, in store: any StoreSession) throws {
    let isCurrent = try store.setCheckpoint(data, of: id, claim: execution.job.claim)
    guard isCurrent else { throw noLongerOurs() }
    var replaced = data
    box.withLock { swap(&$0, &replaced) }
    // Released under no lock: its deallocator may be the user's.
    withExtendedLifetime(replaced) {}
  }

  /// Ensures that the job still belongs to this process, and will for a whole lease. The queue
  /// renews leases by itself; call this before work that must not be done twice.
  ///
  /// - Throws: ``JobError/Code/leaseLost`` if another process has taken the job,
  ///   ``JobError/Code/attemptEnded`` after the end of this attempt, ``DatabaseError``.
  public func heartbeat() throws {
    try core.database.sync { try prolongLease(in: $0) }
  }

  /// Does the same without blocking the thread of the caller.
  public func heartbeat() async throws {
    try await core.database.run { try prolongLease(in: $0) }
  }

  private func prolongLease(in store: any StoreSession) throws {
    let worker = core.withLock { $0.state.worker }
    let isCurrent = try worker.map { worker in
      try store.heartbeat(
        of: id, claim: execution.job.claim, worker: worker, lease: core.configuration.leaseDuration)
    }
    guard isCurrent == true else { throw noLongerOurs() }
  }

  // MARK: - Further jobs

  /// Stores a job in the same queue, as `enqueue` of ``DurableQueue`` does. Use it in registered
  /// closures: a closure that captures the queue keeps it alive.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) throws -> JobID {
    try enqueue(contentsOf: [JobRequest(job, options: options)])[0]
  }

  /// Does the same without blocking the thread of the caller.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID {
    try await enqueue(contentsOf: [JobRequest(job, options: options)])[0]
  }

  /// Stores jobs of any types in the same queue, all of them or none.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) throws -> [JobID] {
    try core.enqueue(core.checked(requests))
  }

  /// Does the same without blocking the thread of the caller.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) async throws -> [JobID] {
    try await core.enqueueLater(core.checked(requests))
  }

  // MARK: - Progress

  /// Reports the progress of the work to the readers of the queue's events. The queue reports the
  /// progress of an operation by itself.
  ///
  /// - Parameter fraction: the completed share, clamped to 0 to 1.
  public func reportProgress(_ fraction: Double) {
    let fraction = fraction.isNaN ? 0 : min(max(fraction, 0), 1)
    core.events.tell(.progress(id, fraction: fraction))
  }

  // MARK: - Finishing

  /// Acknowledges the job together with your writes, in one transaction: after a crash, either both
  /// are stored or neither. The job is then done, however its operation ends.
  ///
  /// ```swift
  /// try context.complete { db in
  ///   try db.execute("UPDATE accounts SET balance = balance - ? WHERE id = ?", 5, 7)
  /// }
  /// ```
  ///
  /// The rules of `transaction` of ``DurableQueue`` hold. If the server's answer to the commit is
  /// lost, this call asks the server whether the job has ended. If the server cannot tell, the call
  /// throws ``DatabaseError/Code/outcomeUnknown``: the job may be done, with all writes, or not.
  ///
  /// - Parameter body: the writes, and jobs to store with them. Called once, on a thread of the
  ///   database.
  /// - Throws: the error of the closure, ``JobError/Code/leaseLost`` if another process has taken
  ///   the job, ``JobError/Code/attemptEnded``, and ``DatabaseError``. The job is then not done,
  ///   except perhaps after ``DatabaseError/Code/outcomeUnknown``.
  @discardableResult
  public func complete<R>(_ body: (DatabaseTransaction) throws -> R) throws -> R {
    let context = OperationContext.capture()
    let result = try core.database.sync { store in
      try OperationContext.bind(context) { try complete(in: store, body) }
    }
    core.pump()
    return result
  }

  /// Does the same without blocking the thread of the caller.
  @discardableResult
  public func complete<R: Sendable>(
    _ body: @escaping @Sendable (DatabaseTransaction) throws -> R
  ) async throws -> R {
    let context = OperationContext.capture()
    let result = try await core.database.run { store in
      try OperationContext.bind(context) { try complete(in: store, body) }
    }
    core.pump()
    return result
  }

  private func complete<R>(in store: any StoreSession, _ body: (DatabaseTransaction) throws -> R) throws -> R {
    let done = Acknowledgement(
      id: id, kind: kind, claim: execution.job.claim, attempt: execution.attempt, result: .done,
      event: .done(id, kind: kind))
    let completed = try store.complete(done, keepsDone: core.keepsDone) { try core.use($0, body) }
    guard let (result, jobs) = completed else { throw noLongerOurs() }
    core.didEnqueue(jobs, in: store)
    core.withLock { storage in
      execution.isComplete = true
      // Jobs that waited for this one may run.
      storage.state.workMayHaveCome()
    }
    core.lookAhead(in: store)
    return result
  }

  /// Why the job is no longer this attempt's.
  private func noLongerOurs() -> JobError {
    let reason: JobError.Reason = core.withLock { storage in
      if execution.isComplete { return .wrongState(.done) }
      let hasEnded = storage.executions[execution.number] == nil || execution.isGivenBack
      return hasEnded && execution.interruption != .lostLease ? .attemptEnded : .leaseLost
    }
    return JobError(reason, id: id, kind: kind)
  }
}
