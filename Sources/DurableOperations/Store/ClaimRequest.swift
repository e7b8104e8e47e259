/// What may be claimed.
struct ClaimRequest {
  /// The kinds, each with how many of it may run more.
  var kinds: [(kind: Int64, limit: Int)]
  /// How many jobs may run more at all.
  var limit: Int
  var isOnline: Bool
  /// Whether a job that must run alone may be claimed: nothing else runs.
  var mayRunAlone: Bool
  /// Who claims; the store knows it when it claims.
  var worker: Int64 = 0
  /// How many more are of interest: so many places more there may be.
  var furtherLimit = 0

  /// What could still be claimed, if there were places, when some jobs have been.
  func further(after claim: Claim) -> ClaimRequest {
    var further = self
    further.limit = claim.waitsToRunAlone || claim.jobs.first?.isAlone == true ? 0 : furtherLimit
    further.mayRunAlone = mayRunAlone && claim.jobs.isEmpty
    var claimed: [Int64: Int] = [:]
    for job in claim.jobs { claimed[job.kind, default: 0] += 1 }
    further.kinds = kinds.map { ($0.kind, $0.limit - claimed[$0.kind, default: 0]) }
    return further
  }
}
