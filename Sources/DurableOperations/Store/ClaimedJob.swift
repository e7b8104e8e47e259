import Foundation

/// A job that this process was given.
struct ClaimedJob: Sendable {
  let id: JobID
  let kind: Int64
  /// Tells this attempt from any other one of the job: what is acknowledged with an older one is refused.
  let claim: Int64
  let enqueuedAt: Int64
  /// How many jobs have taken the place of the one before them.
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

/// What was claimed.
struct Claim {
  var jobs: [ClaimedJob] = []
  /// A job that must run alone waits until nothing else runs.
  var waitsToRunAlone = false
  /// How many more could be claimed, if there were places for them.
  var furtherJobs = 0
}
