/// What a queue does at once: what has ended is written, and jobs are claimed.
struct StoreRound {
  var acknowledgements: [Acknowledgement]
  /// Whether jobs that are done are kept.
  var keepsDone: Bool
  /// What may be claimed; nil for nothing. Asked as late as possible: kinds may be paused, and the queue stopped, while the
  /// round waits for other processes.
  var request: () -> ClaimRequest?
  /// What other processes know this one by; nil if it was not taken in. It is taken in with the first job that it claims.
  var worker: Int64?
  var lease: Duration
  /// Whether the process is to be taken out.
  var isLast: Bool
  /// What to ask of what becomes due next; nil for nothing.
  var ahead: StoreAhead.Question?
}

/// What has become of a round.
struct StoreRoundAnswer {
  var claim = Claim()
  var worker: Int64?
  /// Whether the other processes had taken this one out: what it runs is theirs.
  var hasLostWorker = false
  /// Those of kinds; nil if that was not asked.
  var rules: KindRules?
  /// Whether something that was written made other jobs due.
  var hasFreed = false
  /// Whether there was nothing to write, so that it is not known whether the store takes changes.
  var hasOnlyRead = false
  /// Whether all that could have been claimed was locked by others: it is to be asked for again after a while.
  var isHeldUp = false
  var ahead: Result<StoreAhead, any Error>?
}
