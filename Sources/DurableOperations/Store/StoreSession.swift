import Foundation

/// What a queue asks of the place where its jobs are stored: whole operations, not statements.
///
/// A call that changes something is a transaction, unless its comment says otherwise: all of it is
/// stored when the call returns, or nothing if it throws. Events, such as that a job is dead, are told
/// when the transaction has succeeded. Dates are by the store's clock. What a queue wants to happen
/// later it says as a duration from when the call is written.
protocol StoreSession: AnyObject {
  /// What a queue has to know of the place before it begins.
  func facts() throws -> StoreFacts

  // MARK: - Storing

  /// Stores jobs: those of one batch all or none. If one batch is wrong, each is stored by a
  /// transaction of its own.
  func enqueue(_ batches: [[JobRequest]]) throws -> [Result<[JobID], any Error>]

  /// Runs the user's closure in a transaction, once, on the thread of the caller.
  func transact<R>(_ body: (any StoreTransaction) throws -> R) throws -> R

  /// The same, in one transaction with the end of an attempt. Nil, with nothing written, if the job is
  /// no longer the caller's.
  func complete<R>(_ done: Acknowledgement, keepsDone: Bool, _ body: (any StoreTransaction) throws -> R) throws -> R?

  // MARK: - Running

  /// The queue begins to run jobs. What a worker still runs from before is waited for again.
  func begin(resuming worker: Int64?) throws

  /// Writes what has ended, and claims jobs.
  func round(_ round: StoreRound) throws -> StoreRoundAnswer

  /// Writes what has ended outside of a round, and which attempts are no longer waited for.
  func write(_ ends: [Acknowledgement], keepsDone: Bool, abandoned: [ClaimedJob]) throws

  /// Writes what has ended, then returns all jobs of a worker of this process to waiting, as if they
  /// had never been claimed.
  ///
  /// - Parameter patience: how long to wait for other processes; nil for as long as always.
  func giveBackJobs(
    of worker: Int64?, after ends: [Acknowledgement], keepsDone: Bool, within patience: Duration?
  ) throws

  /// Stores how far an attempt has got; nil forgets it. False if the job is no longer the caller's.
  func setCheckpoint(_ data: Data?, of id: JobID, claim: Int64) throws -> Bool

  /// Prolongs the lease of a worker for the sake of a job. False if the job is no longer the caller's.
  func heartbeat(of id: JobID, claim: Int64, worker: Int64, lease: Duration) throws -> Bool

  // MARK: - Looking around

  /// What other processes did, and what has become due. Writes nothing, but that the clock was set.
  func look(_ question: StoreLook) throws -> StoreLookAnswer

  /// The look is over, and what was due is written.
  func lookIsOver()

  /// What becomes due next.
  func ahead(_ question: StoreAhead.Question) throws -> StoreAhead

  /// Whether a job of one of these kinds waits, whatever keeps it from running. Only reads.
  func isAnythingDue(of kinds: [Int64]) throws -> Bool

  /// Tells the other processes that this one is there, and knows these kinds. False if they have
  /// removed its worker.
  func prolongLease(of worker: Int64?, by lease: Duration, knowing kinds: [Int64]) throws -> Bool

  /// Removes an idle worker. False if a job is still its own.
  func leave(_ worker: Int64) throws -> Bool

  /// Returns the jobs of lost workers to waiting, unless another process was faster, or theirs have
  /// come back. Returns whether there were any.
  func rescue(_ lost: LostWorkers) throws -> Bool

  /// Kinds with jobs that are due, and that are not among these. Only reads.
  func unknownKinds(besides known: Set<Int64>) throws -> [UnknownKind]

  /// Enqueues the periodic jobs that are due. If the clock was set back, another transaction brings back
  /// those that would stay away for long. `unreadable`: why one of them could not be read.
  func enqueueOccurrences() throws -> (enqueued: [JobRequest], unreadable: (any Error)?)

  /// Makes a batch of scheduled jobs that are due wait. Returns whether there were any.
  func promote() throws -> Bool

  /// Deletes a batch of jobs that were done or cancelled longer ago. Returns whether there may be more.
  func prune(keeping time: Duration) throws -> Bool

  /// Makes a batch of jobs dead that have been due for longer, and whose kind no process knows. Returns
  /// whether there were any.
  func giveUp(_ kind: UnknownKind, dueFor time: Duration) throws -> Bool

  /// Jobs that a worker executes, and that were asked to be cancelled. Only reads.
  func cancelRequests(worker: Int64) throws -> [JobID]

  // MARK: - Managing one job

  /// Returns the state before. One that executes is asked to end.
  func cancel(_ id: JobID) throws -> JobState
  func retry(_ id: JobID) throws
  func hold(_ id: JobID) throws
  func setPriority(_ priority: JobPriority, of id: JobID) throws
  func delete(_ id: JobID) throws

  // MARK: - Managing many

  /// The jobs that match the filter, the last one first. Only reads.
  func ids(_ filter: JobFilter) throws -> [JobID]
  /// Those among the jobs in a state that can be retried, the last one first. Only reads.
  func retriable(_ state: JobState, kind: String?) throws -> [JobID]
  /// Each returns how many it was done to: what was changed in between is left as it is.
  func cancel(_ ids: ArraySlice<JobID>) throws -> (count: Int, isAnyExecuting: Bool)
  func retry(_ ids: ArraySlice<JobID>, in state: JobState) throws -> Int
  func setPriority(_ change: PriorityChange, of ids: ArraySlice<JobID>) throws -> Int
  /// - Parameter failed: the jobs that were cancelled, or dead, because others were deleted: they are
  ///   deleted too if they match.
  func delete(_ ids: ArraySlice<JobID>, in states: Set<JobState>, failed: inout Set<JobID>) throws -> Int

  // MARK: - Kinds and periodic jobs

  /// The number of a kind, which is given one if it has none.
  func number(ofKind name: String) throws -> Int64
  func setPaused(_ isPaused: Bool, kind: String) throws
  /// - Parameter limit: how many of its jobs execute at once in all processes; nil for any number.
  func setLimit(_ limit: Int?, kind: String) throws
  func kindRules() throws -> KindRules
  func schedule(_ job: JobRequest, named name: String, _ schedule: JobSchedule, _ catchUp: JobCatchUp) throws
  /// False if there is none.
  func unschedule(_ name: String) throws -> Bool

  /// Gives room back to the system, and returns how many bytes. Before, a transaction prolongs the lease
  /// of a worker for as long as that takes; afterwards another one shortens it.
  func compact(worker: Int64?, lease: Duration) throws -> Int

  // MARK: - Questions, which only read

  func record(_ id: JobID) throws -> JobRecord?
  func records(_ filter: JobFilter, after: JobID?, limit: Int) throws -> [JobRecord]
  func records(uniqueKey: String, kind: String) throws -> [JobRecord]
  func counts(registered: [String]) throws -> JobCounts
  /// The error of each that cannot be read.
  func periodicJobs() throws -> [Result<PeriodicRow, JobError>]
  /// Nil if there is no such job.
  func state(of id: JobID) throws -> JobState?
  /// Whether a job of one of these kinds executes anywhere, or is due.
  func isBusy(with kinds: [Int64]) throws -> Bool
  /// The names of all kinds that have a number, in order.
  func knownKinds() throws -> [String]
  /// The processes that run jobs, and what they execute, each by number.
  func workers() throws -> [StoredWorker]
  /// How many bytes is taken by what is stored.
  func size() throws -> Int
}

/// A transaction of the user's that is under way.
protocol StoreTransaction: AnyObject {
  /// Throws if the transaction is over.
  func requireOpen() throws
  func execute(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow]
  /// Stores jobs. If it throws nothing of them is stored, and the transaction can go on.
  func enqueue(_ jobs: [JobRequest]) throws -> [JobID]
  var changeCount: Int { get }
  var lastInsertedRowID: Int64 { get }
}

/// What a queue has to know of a place before it begins.
struct StoreFacts: Sendable {
  /// Tells it from all others, also from a later one of the same name.
  let identity: String
  let kindRules: KindRules
  /// What was lost before, if that can be seen.
  let loss: DatabaseError?
}
