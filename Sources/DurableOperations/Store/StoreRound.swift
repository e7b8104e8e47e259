/// A round of a queue: it writes the ends of attempts, and claims jobs.
struct StoreRound {
  var acknowledgements: [Acknowledgement]
  /// Whether done jobs are kept.
  var keepsDone: Bool
  /// What the round may claim; nil for nothing. Called as late as possible: kinds may be paused,
  /// and the queue stopped, while the round waits for other processes.
  var request: () -> ClaimRequest?
  /// The number by which other processes know this one; nil if it has not joined. It joins with the
  /// first job that it claims.
  var worker: Int64?
  var lease: Duration
  /// Whether the process leaves.
  var isLast: Bool
  /// The questions about what becomes due next; nil for none.
  var ahead: StoreAhead.Question?
}

/// The result of a round.
struct StoreRoundAnswer {
  var claim = Claim()
  var worker: Int64?
  /// Whether other processes had removed this one: its jobs are theirs.
  var hasLostWorker = false
  /// The rules of kinds; nil if they were not read.
  var rules: KindRules?
  /// Whether its writes made other jobs due.
  var hasFreed = false
  /// Whether there was nothing to write, so that it is unknown whether the store accepts changes.
  var hasOnlyRead = false
  /// Whether other processes have locked all claimable jobs: ask again after a while.
  var isHeldUp = false
  var ahead: Result<StoreAhead, any Error>?
}
