public import Foundation

/// What happened to jobs in this process. Of other processes' jobs it tells nothing but their rescue.
public enum JobEvent: Sendable {
  /// A job was stored by this process.
  case enqueued(JobID, kind: String)
  /// An attempt starts, numbered from 1.
  case started(JobID, kind: String, attempt: Int)
  /// The share of the work that is done, from 0 to 1.
  case progress(JobID, fraction: Double)
  /// A job was done.
  case done(JobID, kind: String)
  /// An attempt failed; the next starts at a time.
  case failed(JobID, kind: String, attempt: Int, error: any Error, nextAttempt: Date)
  /// A job put itself off.
  case snoozed(JobID, kind: String, until: Date)
  /// A job is dead.
  case dead(JobID, kind: String, error: any Error)
  /// A job is held after its last attempt.
  case held(JobID, kind: String, error: any Error)
  /// A job was cancelled while it ran here.
  case cancelled(JobID, kind: String)
  /// A job waits again, for the queue was stopped; it costs no attempt.
  case returned(JobID, kind: String)
  /// Jobs whose process has ended wait again, or are dead.
  case rescued([JobID])
  /// What this process did of a job is not acknowledged: another was given it.
  case leaseLost(JobID, kind: String)
  /// There are jobs that are due, of kinds that are not registered here. Told once for each kind.
  case unknownKind(String)
  /// The database did not do what the queue needs; it tries again.
  case databaseFailed(DatabaseError)
}
