public import Foundation

/// What happened to jobs in this process, in the order in which it was stored. Of what other processes did it tells nothing
/// but that their jobs were taken over.
public enum JobEvent: Sendable {
  /// A job was stored by this process.
  case enqueued(JobID, kind: String)
  /// An attempt starts, numbered from 1.
  case started(JobID, kind: String, attempt: Int)
  /// The share of the work that is done, from 0 to 1: what the progress of its operation says, or
  /// ``JobContext/reportProgress(_:)``.
  case progress(JobID, fraction: Double)
  /// A job was done.
  case done(JobID, kind: String)
  /// An attempt failed; the next starts at a time.
  case failed(JobID, kind: String, attempt: Int, error: any Error, nextAttempt: Date)
  /// A job put itself off.
  case snoozed(JobID, kind: String, until: Date)
  /// A job is dead: after its last attempt or too many crashes, with its prerequisite, or for want of a process that knows
  /// its kind.
  case dead(JobID, kind: String, error: any Error)
  /// A job is held after its last attempt.
  case held(JobID, kind: String, error: any Error)
  /// A job was cancelled: by this process, while it ran here, or with its prerequisite.
  case cancelled(JobID, kind: String)
  /// A job waits again, for the queue was stopped; it costs no attempt.
  case returned(JobID, kind: String)
  /// Jobs were taken from a process that has ended, or was not heard of for the length of its lease. They wait again, but
  /// for those of which ``dead(_:kind:error:)`` or ``cancelled(_:kind:)`` is told right after.
  case rescued([JobID])
  /// What this process did of a job is not acknowledged: another was given it.
  case leaseLost(JobID, kind: String)
  /// There are jobs that are due, of kinds that are not registered here. Told once for each kind.
  case unknownKind(String)
  /// The database did not do what the queue needs; it tries again.
  case databaseFailed(DatabaseError)
}
