#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

// A round is one transaction, and mostly one round trip: its number, what has ended, and what is claimed.

extension PostgresSession {
  func round(_ round: StoreRound) throws -> StoreRoundAnswer {
    try settleRounds()
    var answer = StoreRoundAnswer(worker: round.worker)
    let (counter, found, ends) = store.numbers.withLock {
      ($0.counter, $0.takeFound(), $0.unwritten(round.acknowledgements))
    }
    if let worker = answer.worker, counter?.worker != worker {
      (answer.worker, answer.hasLostWorker) = (nil, true)
    }
    guard found.isEmpty else {
      // What a round whose answer was lost has claimed may be as much as there is room for. The next round does the rest.
      try write(ends, keepsDone: round.keepsDone, abandoned: [])
      answer.claim.jobs = found
      answer.hasFreed = true
      return answer
    }
    do {
      try perform(round, ends, &answer)
    } catch let error as DatabaseError where error.sqlState == "DQ001" {
      // The others have taken this process out. What it has not written goes with the first round of its next worker.
      if let worker = answer.worker { store.numbers.withLock { $0.end(worker) } }
      (answer.worker, answer.hasLostWorker) = (nil, true)
      try perform(round, ends, &answer)
    }
    answer.ahead = round.ahead.map { question in Result { try ahead(question) } }
    return answer
  }

  private func perform(_ round: StoreRound, _ ends: [Acknowledgement], _ answer: inout StoreRoundAnswer) throws {
    let request = round.request().flatMap { $0.kinds.isEmpty ? nil : $0 }
    var claims = request.map { $0.limit > 0 } ?? false
    if claims, let request, answer.worker == nil, ends.isEmpty {
      // One that has nothing to do is not taken in: a queue that is idle does not write.
      let (count, waits) = try countClaimable(request)
      answer.claim.waitsToRunAlone = waits && !request.mayRunAlone
      claims = count > 0
    }
    if answer.worker == nil, claims || !ends.isEmpty { answer.worker = try takeIn(lease: round.lease) }
    if let worker = answer.worker { try send(round, ends, claims ? request : nil, worker, &answer) }
    if let request, request.furtherLimit > 0 {
      answer.claim.furtherJobs = try countClaimable(request.further(after: answer.claim)).count
    }
    if round.isLast, let worker = answer.worker {
      try transaction { try $0.remove(worker) }
      store.numbers.withLock { $0.end(worker) }
      answer.worker = nil
    }
  }

  /// Sends a round. If its answer is lost the next one finds out what has become of it.
  private func send(
    _ round: StoreRound, _ ends: [Acknowledgement], _ request: ClaimRequest?, _ worker: Int64,
    _ answer: inout StoreRoundAnswer
  ) throws {
    guard request != nil || !ends.isEmpty, let counter = store.numbers.withLock({ $0.counter }) else { return }
    var serverProcess: Int32 = 0
    do {
      let (claimed, hasFreed) = try transaction { work in
        serverProcess = work.connection.serverProcess
        var batch = PostgresAcknowledgements(ends, keepsDone: round.keepsDone, in: store)
        var claim = request.map { PostgresClaim($0, in: store) }
        let results = try work.run(commits: true) { pipeline in
          pipeline.add(
            statement("begin_round", "SELECT \(schema).begin_round($1, $2, $3, $4, $5)")
          ) {
            $0.bind(counter.worker)
            $0.bind(counter.epoch)
            $0.bind(counter.number)
            $0.bind(round.lease.milliseconds)
            $0.bind(store.testTime)
          }
          if !ends.isEmpty { try batch.add(to: &pipeline) }
          claim?.add(to: &pipeline, worker: worker)
        }
        if !ends.isEmpty { try work.tellOf(batch, results) }
        return (claim?.answer(results), work.hasFreedJobs)
      }
      answer.claim = claimed?.claim ?? Claim()
      answer.hasFreed = hasFreed || claimed?.wasOvertaken == true
      store.numbers.withLock { $0.answered(answer.claim.jobs, acknowledged: ends) }
      try addCheckpoints(claimed?.withCheckpoint ?? [], to: &answer.claim)
    } catch let error as DatabaseError where error.code == .outcomeUnknown {
      store.numbers.withLock { $0.lost(ends, on: serverProcess) }
      throw error
    }
  }

  private func addCheckpoints(_ positions: [Int], to claim: inout Claim) throws {
    guard !positions.isEmpty else { return }
    let rows = try read("checkpoints", "SELECT job, data FROM \(schema).checkpoints WHERE job = ANY($1)") {
      $0.bind(positions.map { claim.jobs[$0].id.rawValue })
    }
    let data = Dictionary(rows.map { ($0.integer(0), $0.data(1)) }, uniquingKeysWith: { $1 })
    for position in positions { claim.jobs[position].checkpoint = data[claim.jobs[position].id.rawValue] ?? nil }
  }

  /// How many jobs could be claimed, and whether one waits that must run alone.
  private func countClaimable(_ request: ClaimRequest) throws -> (count: Int, waits: Bool) {
    let lanes = PostgresClaim.lanes(of: request)
    guard !lanes.isEmpty, request.limit > 0 else { return (0, false) }
    let row = try read("count_claimable", PostgresClaim.count(schema)) {
      $0.bind(lanes.map(\.lane))
      $0.bind(lanes.map(\.room))
      $0.bind(request.limit)
    }.row(0)
    let waits = row.bool(1)
    return (waits ? (request.mayRunAlone ? 1 : 0) : Int(row.integer(0)), waits)
  }

  /// Takes the process in among those that run jobs: in a transaction of its own, so that its number is known whatever happens to
  /// the first round.
  private func takeIn(lease: Duration) throws -> Int64 {
    let identity = ProcessIdentity.current
    let worker = try transaction { work in
      let worker = try work.run(
        "take_in",
        """
        INSERT INTO \(schema).workers (boot, namespace, host, process, started, lease, lease_until)
        VALUES ($1, $2, $3, $4, $5, $6, coalesce($7::bigint, \(schema).now_ms()) + $6) RETURNING id
        """
      ) {
        try $0.bind(identity.bootID)
        try $0.bind(identity.pidNamespace)
        try $0.bind(identity.hostName)
        $0.bind(identity.processID)
        $0.bind(identity.startTime)
        $0.bind(lease.milliseconds)
        $0.bind(store.testTime)
      }.first { $0.integer(0) } ?? 0
      try work.run("first_round", "INSERT INTO \(schema).rounds (worker, epoch, number) VALUES ($1, 0, 0)") {
        $0.bind(worker)
      }
      return worker
    }
    store.numbers.withLock { $0.begin(worker) }
    return worker
  }

  // MARK: - Lost answers

  /// Asks for the number of a round whose answer was lost, and sees to it that it cannot come later.
  func settleRounds() throws {
    guard let unsure = store.numbers.withLock({ $0.unsure }) else { return }
    guard let (epoch, number) = try raiseEpoch(of: unsure) else {
      return store.numbers.withLock { $0.end(unsure.counter.worker) }
    }
    guard number > unsure.counter.number else {
      return store.numbers.withLock { $0.settled(epoch: epoch, number: number) }
    }
    let own = try read("own_jobs", PostgresClaim.executing(schema)) { $0.bind(unsure.counter.worker) }
    var claim = Claim(jobs: own.map { PostgresClaim.job($0, from: 0) })
    try addCheckpoints(Array(claim.jobs.indices), to: &claim)
    try tellOfWritten(unsure.acknowledgements)
    let jobs = claim.jobs
    store.numbers.withLock { $0.settled(epoch: epoch, number: number, own: jobs) }
  }

  /// Nil if the worker is no more.
  private func raiseEpoch(of unsure: PostgresRoundState.Unsure) throws -> (epoch: Int64, number: Int64)? {
    func raise() throws -> (epoch: Int64, number: Int64)? {
      try transaction { work in
        // The old session may hold the row: a server that received half of a round waits for the rest.
        try work.wait(for: .seconds(1))
        return try work.run(
          "raise_epoch", "UPDATE \(schema).rounds SET epoch = epoch + 1 WHERE worker = $1 RETURNING epoch, number"
        ) { $0.bind(unsure.counter.worker) }.first { ($0.integer(0), $0.integer(1)) }
      }
    }
    do {
      return try raise()
    } catch let error as DatabaseError where error.code == .busy && store.options.pooler == .none {
      _ = try read("end_session", "SELECT pg_catalog.pg_terminate_backend($1::int)") {
        $0.bind(Int64(unsure.serverProcess))
      }
      return try raise()
    }
  }

  /// The events of a round whose answer was lost. What it told of dependents is not known any more.
  private func tellOfWritten(_ ends: [Acknowledgement]) throws {
    guard !ends.isEmpty else { return }
    let rows = try read("states", "SELECT id, state FROM \(schema).jobs WHERE id = ANY($1)") {
      $0.bind(ends.map(\.id.rawValue))
    }
    let states = Dictionary(rows.map { ($0.integer(0), $0.integer(1)) }, uniquingKeysWith: { $1 })
    store.events.tell(
      all: ends.map {
        states[$0.id.rawValue] == JobState.cancelled.number ? .cancelled($0.id, kind: $0.kind) : $0.event
      })
  }
}
#endif
