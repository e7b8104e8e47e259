import Foundation

extension SQLiteSession {
  func look(_ question: StoreLook) throws -> StoreLookAnswer {
    var answer = StoreLookAnswer()
    /// Tries each part even if another fails.
    func attempt(_ part: () throws -> Void) throws {
      do {
        try part()
      } catch {
        answer.failure = answer.failure ?? error
        // Each further part would wait as long.
        if (error as? DatabaseError)?.code == .busy { throw error }
      }
    }
    try attempt { try store.connection.requireInPlace() }
    try attempt { try watchClock() }
    // Before it asks whether the clock is known: leases must not be compared with a date after the
    // clock was set.
    answer.now = store.now
    answer.areLeasesComparable = isClockKnown
    try attempt {
      answer.others = try store.workers().filter { $0.id != question.worker }
      answer.orphaning = try store.orphaningWorkers()
    }
    try attempt { answer.nextDue = try store.nextDue() }
    try attempt {
      let next = try store.nextOccurrence(after: question.ahead.occurrencesAfter)
      answer.arePeriodicJobsDue = clockWatch.mayBeSetBack || next.map { $0 <= store.now } ?? false
    }
    try attempt { answer.wishes = try newWishes(worker: question.worker) }
    return answer
  }

  func lookIsOver() { store.truncateLongLog() }

  /// What other connections have requested; nil if none has written since the last call.
  private func newWishes(worker: Int64?) throws -> StoreLookAnswer.Wishes? {
    let version = try store.dataVersion()
    guard version != seenVersion else { return nil }
    let wishes = StoreLookAnswer.Wishes(
      rules: try store.kindRules(), cancelRequests: try worker.map { try store.cancelRequests(worker: $0) } ?? [])
    seenVersion = version
    return wishes
  }

  func ahead(_ question: StoreAhead.Question) throws -> StoreAhead {
    var ahead = StoreAhead(
      now: store.now, nextDue: try store.nextDue(),
      nextOccurrence: try store.nextOccurrence(after: question.occurrencesAfter))
    if question.wantsFirstFinish { ahead.firstFinish = try store.firstFinish() }
    if let known = question.knownKinds { ahead.unknownKinds = try store.unknownKinds(besides: known) }
    return ahead
  }

  func unknownKinds(besides known: Set<Int64>) throws -> [UnknownKind] { try store.unknownKinds(besides: known) }

  func isAnythingDue(of kinds: [Int64]) throws -> Bool { try store.isAnythingDue(of: kinds) }

  func cancelRequests(worker: Int64) throws -> [JobID] { try store.cancelRequests(worker: worker) }

  // MARK: - Workers

  func prolongLease(of worker: Int64?, by lease: Duration, knowing kinds: [Int64]) throws -> Bool {
    try store.transaction {
      try store.noteTime()
      try store.noteKnown(kinds)
      return try worker.map { try store.prolongLease(of: $0, by: lease.milliseconds) } ?? true
    }
  }

  func leave(_ worker: Int64) throws -> Bool {
    try store.transaction { try store.removeIdleWorker(worker) }
  }

  func rescue(_ lost: LostWorkers) throws -> Bool {
    try store.transaction {
      // Another process may have been faster, or the lost ones may have come back.
      let leases = try Dictionary(store.workers().map { ($0.id, $0.leaseUntil) }, uniquingKeysWith: { $1 })
      for worker in lost.orphaning where leases[worker] == nil {
        try store.rescue(from: worker, after: .stoodStill, maxCrashes: nil)
      }
      return try lost.workers.filter { leases[$0.row.id] == $0.row.leaseUntil }.map { worker in
        try store.rescue(
          from: worker.row.id, after: worker.loss, maxCrashes: lost.maxCrashes, maxLapses: lost.maxLapses)
      }.contains(true) || !lost.orphaning.isEmpty
    }
  }

  // MARK: - What is due

  func promote() throws -> Bool {
    try store.transaction { try store.promote() } > 0
  }

  /// Reads the clock inside the transaction: a process that waited for it, or stood still, would
  /// compare an old time with what others have stored since.
  func enqueueOccurrences() throws -> DueOccurrences {
    if clockWatch.mayBeSetBack {
      if try store.hasPeriodicJobsFarAhead() {
        try store.transaction { try store.bringBackPeriodicJobs() }
      }
      clockWatch.mayBeSetBack = false
    }
    guard let next = try store.nextOccurrence(), next <= store.now else { return DueOccurrences() }
    let due = try store.hasOccurrences()
    guard due.isAnyReadable else { return DueOccurrences(unreadable: due.unreadable) }
    return try store.transaction { try store.enqueueOccurrences() }
  }

  func updateNextOccurrences() throws {
    guard try !store.outdatedPeriodicJobs().isEmpty else { return }
    try store.transaction { try store.updateNextOccurrences() }
  }

  func prune(keeping time: Duration) throws -> Bool {
    try store.transaction { try store.prune(finishedBefore: store.now.clampedDifference(to: time.milliseconds)) }
  }

  func giveUp(_ kind: UnknownKind, dueFor time: Duration) throws -> Bool {
    let ids = try store.jobs(ofKind: kind.id, dueBefore: store.now.clampedDifference(to: time.milliseconds))
    guard !ids.isEmpty else { return false }
    try store.transaction { try store.giveUp(ids, kind: kind.name) }
    return true
  }
}
