#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

// A round is one transaction, and mostly one round trip: its number, what has ended, and what is claimed.

extension PostgresSession {
  /// Tried once more on another connection if one breaks: what became of the first attempt is found out then.
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
      // The others have taken this process out. What it has not written goes with the first round of its next worker.
      store.numbers.withLock { $0.workerWasLost() }
      try perform(round, &answer)
    }
    // Behind this nothing may fail: the queue would claim anew what it was given.
    let worker = store.numbers.withLock { numbers in
      numbers.delivered(round.acknowledgements)
      return numbers.counter?.worker
    }
    answer.worker = worker
    // A round that failed may have taken the process in without that the queue knows.
    answer.hasLostWorker = round.worker != nil && round.worker != worker && !(round.isLast && worker == nil)
    answer.ahead = round.ahead.map { question in Result { try ahead(question) } }
    return answer
  }

  private func perform(_ round: StoreRound, _ answer: inout StoreRoundAnswer) throws {
    let (ends, hasFound) = store.numbers.withLock { ($0.unwritten(round.acknowledgements), !$0.found.isEmpty) }
    let request = round.request().flatMap { $0.kinds.isEmpty ? nil : $0 }
    // What was claimed before may be as much as there is room for. The next round does the rest.
    var claims = !hasFound && request.map { $0.limit > 0 } ?? false
    if claims, let request, store.numbers.withLock({ $0.counter == nil }), ends.isEmpty {
      // One that has nothing to do is not taken in: a queue that is idle does not write.
      let (count, waits) = try countClaimable(request)
      answer.claim.waitsToRunAlone = waits && !request.mayRunAlone
      claims = count > 0
    }
    // What an earlier round has claimed is told only if this process still is the worker that has it.
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

  /// Sends a round. If its answer is lost the next one finds out what has become of it.
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
        // What was to be claimed from the front was not.
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
    // The connection is somebody else's by now.
    if !ends.isEmpty { work.tellOf(batch, results) { (try? kindName($0)) ?? "" } }
    work.tellAll()
    if work.hasFreedJobs { answer.hasFreed = true }
    if claimed?.wasOvertaken == true {
      // Others claim as well, and the next round finds what is left; but not what stays locked. A test says when it is time.
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

  /// How many jobs could be claimed, and whether one waits that must run alone.
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
