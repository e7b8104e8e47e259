import Foundation

/// The end of an attempt, for the store.
struct Acknowledgement {
  enum Result {
    case done
    /// The job runs again, at once or after a delay from the moment of writing.
    case again(after: Duration, isCharged: Bool, error: String?)
    /// The job runs again after a delay, as if this attempt had not happened. The error says why.
    case postponed(after: Duration, error: String)
    /// The job runs again as if this attempt had not happened.
    case returned
    case dead(String)
    case held(String)
    case cancelled(String?)
  }

  let id: JobID
  let kind: String
  let claim: Int64
  /// The number of the attempt, from 1.
  let attempt: Int
  let result: Result
  /// The event to report once it is written.
  let event: JobEvent.Content
  /// Whether the queue itself has returned the job, so that it is no loss if another process has
  /// it.
  var isGivenBack = false
}
