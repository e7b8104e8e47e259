import Foundation

/// A job that this process has claimed.
struct ClaimedJob: Sendable {
  let id: JobID
  let kind: Int64
  /// Distinguishes this attempt from any other of the job: the store refuses the end of an older
  /// one.
  let claim: Int64
  let enqueuedAt: Int64
  /// How many jobs in a row have replaced the one before them.
  let revision: Int64
  let attempts: Int
  let crashes: Int
  let maxAttempts: Int?
  let timeout: Duration?
  let backoff: String?
  let holdsAfterLastAttempt: Bool
  let requiresNetwork: Bool
  let isAlone: Bool
  let version: Int
  let payload: Data
  let occurrence: Date?
  var checkpoint: Data?
}

/// The result of a claim.
struct Claim {
  var jobs: [ClaimedJob] = []
  /// Whether a job that must run alone waits until nothing else runs.
  var waitsToRunAlone = false
  /// How many more could be claimed with more places.
  var furtherJobs = 0
}
