/// What may be claimed.
struct ClaimRequest {
  /// The kinds, each with how many more of it may run.
  var kinds: [(kind: Int64, limit: Int)]
  /// How many more jobs may run at all.
  var limit: Int
  var isOnline: Bool
  /// Whether a job that must run alone may be claimed: nothing else runs.
  var mayRunAlone: Bool
  /// The claiming worker; the store sets it when it claims.
  var worker: Int64 = 0
  /// How many more jobs are of interest: that many more places are useful.
  var furtherLimit = 0

  /// The request for what could still be claimed, with more places, after a claim.
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
