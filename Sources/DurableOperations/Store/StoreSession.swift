import Foundation

/// The operations of a queue on its store: whole operations, not statements.
///
/// A call that changes something is a transaction, unless its comment says otherwise: all of it is
/// stored when the call returns, or nothing if it throws. Events, such as that of a dead job, are
/// reported when the transaction has succeeded. Dates are by the store's clock. A queue gives
/// future times as a duration from the moment of writing.
protocol StoreSession: AnyObject {
  /// The facts about the place that a queue needs before it begins.
  func facts() throws -> StoreFacts

  // MARK: - Storing

  /// Stores jobs: those of one batch all or none. If one batch is wrong, or waits in vain for the
  /// lock of a key on a server, each is stored by a transaction of its own. A file has a single
  /// lock, for which all of them wait together.
  func enqueue(_ batches: [[JobRequest]]) throws -> [Result<[JobID], any Error>]

  /// Runs the user's closure in a transaction, once, on the thread of the caller.
  func transact<R>(_ body: (any StoreTransaction) throws -> R) throws -> R

  /// Does the same, in one transaction with the end of an attempt. Nil, with nothing written, if
  /// the caller no longer has the job.
  func complete<R>(_ done: Acknowledgement, keepsDone: Bool, _ body: (any StoreTransaction) throws -> R) throws -> R?

  // MARK: - Running

  /// Prepares for running jobs. Watches again what a worker still runs from before.
  func begin(resuming worker: Int64?) throws

  /// Writes the ends of attempts, and claims jobs.
  func round(_ round: StoreRound) throws -> StoreRoundAnswer

  /// Writes the ends of attempts outside a round, and which attempts are abandoned.
  func write(_ ends: [Acknowledgement], keepsDone: Bool, abandoned: [ClaimedJob]) throws

  /// Writes the ends of attempts, then returns all jobs of a worker of this process to waiting, as
  /// if they had never been claimed.
  ///
  /// - Parameters:
  ///   - worker: nil if the queue knows of none; the store may.
  ///   - patience: how long to wait for other processes; nil for the usual time.
  func giveBackJobs(
    of worker: Int64?, after ends: [Acknowledgement], keepsDone: Bool, within patience: Duration?
  ) throws

  /// Stores a checkpoint of an attempt; nil deletes it. False if the caller no longer has the job.
  func setCheckpoint(_ data: Data?, of id: JobID, claim: Int64) throws -> Bool

  /// Renews the lease of a worker for the sake of a job. False if the caller no longer has the job.
  func heartbeat(of id: JobID, claim: Int64, worker: Int64, lease: Duration) throws -> Bool

  // MARK: - Looking around

  /// Reads what other processes did, and what has become due. Writes nothing, except that the clock
  /// was set.
  func look(_ question: StoreLook) throws -> StoreLookAnswer

  /// Ends a look: everything due is written.
  func lookIsOver()

  /// What becomes due next.
  func ahead(_ question: StoreAhead.Question) throws -> StoreAhead

  /// Whether a job of one of these kinds waits, even if something keeps it from running. Only
  /// reads.
  func isAnythingDue(of kinds: [Int64]) throws -> Bool

  /// Tells the other processes that this one runs, and knows these kinds. False if they have
  /// removed its worker.
  func prolongLease(of worker: Int64?, by lease: Duration, knowing kinds: [Int64]) throws -> Bool

  /// Removes an idle worker. False if it still has a job.
  func leave(_ worker: Int64) throws -> Bool

  /// Returns the jobs of lost workers to waiting, unless another process was faster, or the lost
  /// one has come back. Returns whether there were any.
  func rescue(_ lost: LostWorkers) throws -> Bool

  /// Kinds that have due jobs and are not among these. Only reads.
  func unknownKinds(besides known: Set<Int64>) throws -> [UnknownKind]

  /// Enqueues the due periodic jobs. If the clock was set back, another transaction brings back
  /// those that would stay away for long. `unreadable`: why one of them could not be read, or, on a
  /// server, could not be stored, such as since another transaction has locked its key: the next
  /// look tries that one again. `isMoreDue`: whether there are more due times than one call
  /// enqueues.
  func enqueueOccurrences() throws -> DueOccurrences

  /// Computes the next times of periodic jobs anew whose time zones have other rules by now.
  func updateNextOccurrences() throws

  /// Makes a batch of scheduled jobs that are due wait. Returns whether there were any.
  func promote() throws -> Bool

  /// Deletes a batch of jobs that were done or cancelled longer ago. Returns whether there may be
  /// more.
  func prune(keeping time: Duration) throws -> Bool

  /// Makes a batch of jobs dead that have been due for longer, and whose kind no process knows.
  /// Returns whether there were any.
  func giveUp(_ kind: UnknownKind, dueFor time: Duration) throws -> Bool

  /// Jobs that a worker executes and that have a cancel request. Only reads.
  func cancelRequests(worker: Int64) throws -> [JobID]

  // MARK: - Managing one job

  /// Returns the state before. An executing job is asked to end.
  func cancel(_ id: JobID) throws -> JobState
  func retry(_ id: JobID) throws
  func hold(_ id: JobID) throws
  func setPriority(_ priority: JobPriority, of id: JobID) throws
  func delete(_ id: JobID) throws

  // MARK: - Managing many

  /// The jobs that match the filter, the last one first. Only reads.
  func ids(_ filter: JobFilter) throws -> [JobID]
  /// The jobs in a state that can be retried, the last one first. Only reads.
  func retriable(_ state: JobState, kind: String?) throws -> [JobID]
  /// Each returns the number of changed jobs: jobs that were changed in between are left as they
  /// are.
  func cancel(_ ids: ArraySlice<JobID>) throws -> (count: Int, isAnyExecuting: Bool)
  func retry(_ ids: ArraySlice<JobID>, in state: JobState) throws -> Int
  func setPriority(_ change: PriorityChange, of ids: ArraySlice<JobID>) throws -> Int
  /// - Parameter failed: the jobs that were cancelled, or dead, because others were deleted: they
  ///   are deleted, too, if they match.
  func delete(_ ids: ArraySlice<JobID>, in states: Set<JobState>, failed: inout Set<JobID>) throws -> Int

  // MARK: - Kinds and periodic jobs

  /// The number of a kind. Assigns one if it has none.
  func number(ofKind name: String) throws -> Int64
  func setPaused(_ isPaused: Bool, kind: String) throws
  /// - Parameter limit: how many of its jobs execute at once in all processes; nil for no limit.
  func setLimit(_ limit: Int?, kind: String) throws
  func kindRules() throws -> KindRules
  func schedule(_ job: JobRequest, named name: String, _ schedule: JobSchedule, _ catchUp: JobCatchUp) throws
  /// False if there is none.
  func unschedule(_ name: String) throws -> Bool

  /// Returns space to the system, and the number of bytes. Before, a transaction renews the lease
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
  /// The size of the stored data in bytes.
  func size() throws -> Int
}

/// A transaction of the user under way.
protocol StoreTransaction: AnyObject {
  /// Throws if the transaction is over.
  func requireOpen() throws
  func execute(_ sql: String, _ values: [SQLValue]) throws -> [SQLRow]
  /// Stores jobs. If it throws, nothing of them is stored, and the transaction can go on.
  func enqueue(_ jobs: [JobRequest]) throws -> [JobID]
  var changeCount: Int { get }
  var lastInsertedRowID: Int64 { get }
}

/// What became of the due periodic jobs.
struct DueOccurrences {
  var enqueued: [JobRequest] = []
  var unreadable: (any Error)?
  var isMoreDue = false
}

/// The facts about a place that a queue needs before it begins.
struct StoreFacts: Sendable {
  /// Distinguishes it from all others, even a later one of the same name.
  let identity: String
  let kindRules: KindRules
  /// What was lost before, if that can be seen.
  let loss: DatabaseError?
}
