#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

// A round is one transaction, and mostly one round trip: its number, the ends of attempts, and the
// claim.

extension PostgresSession {
  /// Runs a round; once more on another connection if one breaks: then the second attempt finds out
  /// what became of the first.
  func round(_ round: StoreRound) throws -> StoreRoundAnswer {
    do {
      return try attempt(round)
    } catch let error as DatabaseError where error.code.isOfLostConnection {
      return try attempt(round)
    }
  }

  private func attempt(_ round: StoreRound) throws -> StoreRoundAnswer {
    try settleRounds()
    var answer = StoreRoundAnswer()
    do {
      try perform(round, &answer)
    } catch let error as DatabaseError where error.sqlState == "DQ001" {
      // Other processes have removed this one. What it has not written goes with the first round of
      // its next worker.
      store.numbers.withLock { $0.workerWasLost() }
      try perform(round, &answer)
    }
    // Nothing after this may fail: the queue would claim anew what it was given.
    let worker = store.numbers.withLock { numbers in
      numbers.delivered(round.acknowledgements)
      return numbers.counter?.worker
    }
    answer.worker = worker
    // A failed round may have added the process without the queue knowing.
    answer.hasLostWorker = round.worker != nil && round.worker != worker && !(round.isLast && worker == nil)
    answer.ahead = round.ahead.map { question in Result { try ahead(question) } }
    return answer
  }

  private func perform(_ round: StoreRound, _ answer: inout StoreRoundAnswer) throws {
    let (ends, hasFound) = store.numbers.withLock { ($0.unwritten(round.acknowledgements), !$0.found.isEmpty) }
    let request = round.request().flatMap { $0.kinds.isEmpty ? nil : $0 }
    // Earlier claims may already fill the room. The next round does the rest.
    var claims = !hasFound && request.map { $0.limit > 0 } ?? false
    if claims, let request, store.numbers.withLock({ $0.counter == nil }), ends.isEmpty {
      // A process without work is not added: an idle queue does not write.
      let (count, waits) = try countClaimable(request)
      answer.claim.waitsToRunAlone = waits && !request.mayRunAlone
      claims = count > 0
    }
    // Claims of an earlier round are reported only if this process is still the worker that has the
    // jobs.
    answer.hasOnlyRead = !claims && ends.isEmpty && !hasFound
    if !answer.hasOnlyRead {
      if store.numbers.withLock({ $0.counter == nil }) { try takeIn(lease: round.lease) }
      try send(ends, keepsDone: round.keepsDone, claims ? request : nil, lease: round.lease, &answer)
    }
    let found = store.numbers.withLock { ($0.found, $0.withCheckpoint, $0.hasFreed) }
    (answer.claim.jobs, answer.hasFreed) = (found.0, answer.hasFreed || found.2 || hasFound)
    try addCheckpoints(found.1, to: &answer.claim)
    if let request, request.furtherLimit > 0 {
      answer.claim.furtherJobs = try countClaimable(request.further(after: answer.claim)).count
    }
    if round.isLast, found.0.isEmpty { try takeOut() }
  }

  /// Sends a round. If its answer is lost, the next round finds out the outcome.
  private func send(
    _ ends: [Acknowledgement], keepsDone: Bool, _ request: ClaimRequest?, lease: Duration,
    _ answer: inout StoreRoundAnswer
  ) throws {
    let (batch, claim, results, work) = try numbered(ends) { work in
      var batch = PostgresAcknowledgements(ends, keepsDone: keepsDone, in: store)
      var claim = request.map { PostgresClaim($0, in: store) }
      let counter = store.numbers.withLock(\.counter)
      do {
        let results = try work.run(commits: true) { pipeline in
          if let counter { pipeline.add(beginningOfRound) { bind(counter, lease: lease, to: &$0) } }
          if !ends.isEmpty { try batch.add(to: &pipeline) }
          if let counter { claim?.add(to: &pipeline, worker: counter.worker) }
        }
        return (batch, claim, results, work)
      } catch {
        // The claim from the front did not happen.
        store.cursors.withLock { $0.workHasCome() }
        throw error
      }
    }
    let claimed = claim?.answer(results)
    let jobs = claimed?.claim.jobs ?? []
    store.numbers.withLock {
      $0.answered(
        jobs, withCheckpoint: Set((claimed?.withCheckpoint ?? []).map { jobs[$0].id }), acknowledged: ends)
    }
    answer.claim.waitsToRunAlone = claimed?.claim.waitsToRunAlone ?? false
    // The connection belongs to another borrower by now.
    if !ends.isEmpty { work.tellOf(batch, results) { (try? kindName($0)) ?? "" } }
    work.tellAll()
    if work.hasFreedJobs { answer.hasFreed = true }
    if claimed?.wasOvertaken == true {
      // Other processes claim as well, and the next round finds the rest; but not what stays
      // locked. A test decides when it is time.
      if jobs.isEmpty, store.configuration.clock.isMachines { answer.isHeldUp = true } else { answer.hasFreed = true }
    }
  }

  private func addCheckpoints(_ ids: Set<JobID>, to claim: inout Claim) throws {
    guard !ids.isEmpty else { return }
    let rows = try read("checkpoints", "SELECT job, data FROM \(schema).checkpoints WHERE job = ANY($1)") {
      $0.bind(ids.map(\.rawValue))
    }
    let data = Dictionary(rows.map { ($0.integer(0), $0.data(1)) }, uniquingKeysWith: { $1 })
    for position in claim.jobs.indices {
      claim.jobs[position].checkpoint = data[claim.jobs[position].id.rawValue] ?? nil
    }
  }

  /// Counts how many jobs could be claimed, and tells whether one waits that must run alone.
  private func countClaimable(_ request: ClaimRequest) throws -> (count: Int, waits: Bool) {
    let lanes = PostgresClaim.lanes(of: request)
    guard !lanes.isEmpty, request.limit > 0 else { return (0, false) }
    let fromFront = store.cursors.withLock { $0.beginsAtFront(at: .now, every: store.timeBetweenFronts) }
    let row = try read("count_claimable", PostgresClaim.count(schema)) {
      PostgresClaim.bind(lanes, fromFront: fromFront, in: store, to: &$0)
      $0.bind(request.limit)
    }.row(0)
    let waits = row.bool(1)
    return (waits ? (request.mayRunAlone ? 1 : 0) : Int(row.integer(0)), waits)
  }
}
#endif
