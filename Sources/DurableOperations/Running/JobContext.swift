import CompositeOperations
public import Foundation

/// What an attempt at a job knows of itself, and can do besides its work.
///
/// It may be used from any thread, as long as the attempt runs. What uses the database does so on the thread of the caller.
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
  /// What tells this job from all others, in this database and any other, and is the same in each of its attempts: give it
  /// to servers, so that they can recognise what they got twice. A job that takes the place of another by its
  /// ``UniqueKey`` has the same number, but not this.
  public var idempotencyKey: String {
    // The time, for a database may be put back to a copy of before, and give the same numbers again.
    "\(core.identity)-\(String(execution.job.enqueuedAt, radix: 36))-\(id.rawValue)-\(execution.job.revision)"
  }
  /// Which attempt this is, from 1. Those that were cut short by a crash, a stop or a snooze are not counted.
  public var attempt: Int { execution.attempt }
  /// How many processes have ended while the job ran in them, one after the other: an attempt that ends sets it back.
  public var crashes: Int { execution.job.crashes }
  /// The time of its schedule that a periodic job is for; nil for other jobs.
  public var occurrence: Date? { execution.job.occurrence }
  /// Whether the job is dead, or held, if this attempt fails.
  public var isLastAttempt: Bool { execution.job.maxAttempts.map { attempt >= $0 } ?? false }

  /// Whether the attempt was asked to end: the job was cancelled, its time is over, the queue stops, or another process
  /// has taken it over. Its operation, or task, is cancelled then too.
  public var isCancelled: Bool { core.withLock { _ in execution.interruption != nil } }

  /// What this attempt, or one before it, has stored; nil if nothing is.
  public var checkpoint: Data? { box.withLock { $0 } }

  /// Stores how far the work has got, for the next attempt, in this process or another. It goes when the job is done.
  ///
  /// - Parameter data: anything; nil to forget what was stored.
  /// - Throws: ``JobError/Code/leaseLost`` if another process was given the job, ``DatabaseError``.
  public func checkpoint(_ data: Data?) throws {
    try core.database.sync { try storeCheckpoint(data, in: $0) }
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func checkpoint(_ data: Data?) async throws {
    try await core.database.run { try storeCheckpoint(data, in: $0) }
  }

  private func storeCheckpoint(_ data: Data?, in store: any StoreSession) throws {
    let isCurrent = try store.setCheckpoint(data, of: id, claim: execution.job.claim)
    guard isCurrent else { throw leaseLost() }
    box.withLock { $0 = data }
  }

  /// Makes sure that the job still belongs to this process, and will for a whole lease. Leases are prolonged by
  /// themselves; call this before something that must not be done twice.
  ///
  /// - Throws: ``JobError/Code/leaseLost`` if another process was given the job, ``DatabaseError``.
  public func heartbeat() throws {
    try core.database.sync { try prolongLease(in: $0) }
  }

  /// The same, without using the database on the thread of the caller.
  public func heartbeat() async throws {
    try await core.database.run { try prolongLease(in: $0) }
  }

  private func prolongLease(in store: any StoreSession) throws {
    let worker = core.withLock { $0.state.worker }
    let isCurrent = try worker.map { worker in
      try store.heartbeat(
        of: id, claim: execution.job.claim, worker: worker, lease: core.configuration.leaseDuration)
    }
    guard isCurrent == true else { throw leaseLost() }
  }

  // MARK: - Further jobs

  /// Stores a job in the same queue, as `enqueue` of ``DurableQueue`` does. A closure that is registered and
  /// used the queue itself would keep it.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) throws -> JobID {
    try enqueue(contentsOf: [JobRequest(job, options: options)])[0]
  }

  /// The same, without using the database on the thread of the caller.
  @discardableResult
  public func enqueue<J: Job>(_ job: J, options: JobOptions = JobOptions()) async throws -> JobID {
    try await enqueue(contentsOf: [JobRequest(job, options: options)])[0]
  }

  /// Stores jobs of any types in the same queue, all of them or none.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) throws -> [JobID] {
    try core.enqueue(core.checked(requests))
  }

  /// The same, without using the database on the thread of the caller.
  @discardableResult
  public func enqueue(contentsOf requests: [JobRequest]) async throws -> [JobID] {
    try await core.enqueueLater(core.checked(requests))
  }

  // MARK: - Progress

  /// Tells those who listen to the queue's events how far the work has got. The progress of an operation is told by itself.
  ///
  /// - Parameter fraction: the share that is done, from 0 to 1. What is outside is taken for the nearer end.
  public func reportProgress(_ fraction: Double) {
    let fraction = fraction.isNaN ? 0 : min(max(fraction, 0), 1)
    core.events.tell(.progress(id, fraction: fraction))
  }

  // MARK: - Finishing

  /// Acknowledges the job together with writes of yours, in one transaction: either both are there after a crash, or
  /// neither. Then the job is done, however its operation ends.
  ///
  /// ```swift
  /// try context.complete { db in
  ///   try db.execute("UPDATE accounts SET balance = balance - ? WHERE id = ?", 5, 7)
  /// }
  /// ```
  ///
  /// The rules of `transaction` of ``DurableQueue`` hold. If the answer of a server to the commit is lost, this looks whether
  /// the job has ended.
  ///
  /// - Parameter body: the writes, and jobs to be stored with them. Called once, on a thread of the database's.
  /// - Throws: what the closure throws, ``JobError/Code/leaseLost`` if another process was given the job, and
  ///   ``DatabaseError``. The job is not done then.
  @discardableResult
  public func complete<R>(_ body: (DatabaseTransaction) throws -> R) throws -> R {
    let result = try core.database.sync { try complete(in: $0, body) }
    core.pump()
    return result
  }

  /// The same, without using the database on the thread of the caller.
  @discardableResult
  public func complete<R: Sendable>(
    _ body: @escaping @Sendable (DatabaseTransaction) throws -> R
  ) async throws -> R {
    let result = try await core.database.run { try complete(in: $0, body) }
    core.pump()
    return result
  }

  private func complete<R>(in store: any StoreSession, _ body: (DatabaseTransaction) throws -> R) throws -> R {
    let done = Acknowledgement(
      id: id, kind: kind, claim: execution.job.claim, attempt: execution.attempt, result: .done,
      event: .done(id, kind: kind))
    let completed = try store.complete(done, keepsDone: core.keepsDone) { try core.use($0, body) }
    guard let (result, jobs) = completed else { throw leaseLost() }
    core.didEnqueue(jobs, in: store)
    core.withLock { storage in
      execution.isComplete = true
      // What waited for it may run.
      storage.state.workMayHaveCome()
    }
    core.lookAhead(in: store)
    return result
  }

  private func leaseLost() -> JobError {
    let isComplete = core.withLock { _ in execution.isComplete }
    return JobError(isComplete ? .wrongState(.done) : .leaseLost, id: id, kind: kind)
  }
}
