import Foundation

/// What becomes of a job after an attempt.
struct Acknowledgement {
  enum Result {
    case done
    /// It runs again, after a time from when this is written or at once.
    case again(after: Duration, isCharged: Bool, error: String?)
    /// It runs again as if this attempt had not been.
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
  /// What is told when it is written.
  let event: JobEvent.Content
  /// Whether the queue has given the job back itself, so that it is no loss if it is somebody else's.
  var isGivenBack = false
}
