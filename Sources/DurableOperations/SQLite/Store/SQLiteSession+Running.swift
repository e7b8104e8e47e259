import Foundation

extension SQLiteSession {
  func begin(resuming worker: Int64?) throws {
    try store.recountAfterUpgrade(in: ProcessIdentity.current.bootID)
    if let worker { try store.forgetAbandoned(by: worker) }
  }

  // MARK: - Rounds

  func round(_ round: StoreRound) throws -> StoreRoundAnswer {
    try watchClock()
    var answer = StoreRoundAnswer(worker: round.worker)
    let changesBefore = store.connection.totalChangeCount
    store.hasFreedJobs = false
    try store.transaction {
      for acknowledgement in round.acknowledgements {
        try store.acknowledge(acknowledgement, keepsDone: round.keepsDone)
      }
      if let request = round.request(), !request.kinds.isEmpty { try claim(request, in: round, &answer) }
      if round.isLast, let last = answer.worker {
        try store.removeWorker(last)
        answer.worker = nil
      }
    }
    if round.isLast { store.truncateLog() }
    answer.hasOnlyRead = store.connection.totalChangeCount == changesBefore
    answer.hasFreed = store.hasFreedJobs
    answer.ahead = round.ahead.map { question in Result { try ahead(question) } }
    return answer
  }

  private func claim(_ request: ClaimRequest, in round: StoreRound, _ answer: inout StoreRoundAnswer) throws {
    // No process would take over jobs that are claimed for a removed one.
    if let number = answer.worker, try !store.hasWorker(number) { (answer.worker, answer.hasLostWorker) = (nil, true) }
    // Another process may have paused a kind since the last look.
    let rules = try store.kindRules()
    answer.rules = rules
    var request = request
    request.kinds.removeAll { rules.paused.contains($0.kind) }
    if !rules.limits.isEmpty { request = try store.limited(request, by: rules.limits) }
    // A process without work is not added: an idle queue does not write.
    if answer.worker == nil, try store.countClaimable(request) > 0 {
      answer.worker = try store.addWorker(configuration.processIdentity, lease: round.lease.milliseconds)
    }
    if let worker = answer.worker {
      request.worker = worker
      answer.claim = try store.claim(request)
    } else if !request.mayRunAlone {
      answer.claim.waitsToRunAlone = try store.hasAloneJobs(for: request)
    }
    answer.claim.furtherJobs = try store.countClaimable(request.further(after: answer.claim))
  }

  func write(_ ends: [Acknowledgement], keepsDone: Bool, abandoned: [ClaimedJob]) throws {
    try watchClock()
    try store.transaction {
      for job in abandoned { try store.noteAbandoned(job.id, claim: job.claim) }
      for end in ends { try store.acknowledge(end, keepsDone: keepsDone) }
    }
  }

  func giveBackJobs(
    of worker: Int64?, after ends: [Acknowledgement], keepsDone: Bool, within patience: Duration?
  ) throws {
    // A file knows no worker that its queue does not.
    guard worker != nil || !ends.isEmpty else { return }
    try store.connection.withTimeout(patience ?? configuration.busyTimeout) { _ in
      try watchClock()
      try store.transaction {
        for end in ends { try store.acknowledge(end, keepsDone: keepsDone) }
        if let worker { try store.giveBackJobs(of: worker) }
      }
    }
  }

  // MARK: - Attempts

  func setCheckpoint(_ data: Data?, of id: JobID, claim: Int64) throws -> Bool {
    try store.transaction { try store.setCheckpoint(data, of: id, claim: claim) }
  }

  func heartbeat(of id: JobID, claim: Int64, worker: Int64, lease: Duration) throws -> Bool {
    try watchClock()
    return try store.transaction {
      guard try store.isCurrent(id, claim: claim) else { return false }
      return try store.prolongLease(of: worker, by: lease.milliseconds)
    }
  }
}
