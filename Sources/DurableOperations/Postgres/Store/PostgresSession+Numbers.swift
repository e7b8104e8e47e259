#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

// The numbers of rounds: when the answer to a COMMIT is lost, the number tells what was written.

extension PostgresSession {
  // MARK: - The worker

  /// Adds the process to those that run jobs, in a transaction of its own, so that its number is
  /// known whatever happens to the first round. An extra worker does no harm: it has no jobs, and
  /// goes when its lease is over.
  func takeIn(lease: Duration) throws {
    let identity = store.configuration.processIdentity
    let worker = try transaction(isRepeatable: true) { work in
      let worker =
        try work.run(
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
  }

  /// Removes the process, if it was added.
  func takeOut() throws {
    guard let worker = store.numbers.withLock({ $0.counter?.worker }) else { return }
    try betweenRounds(of: worker) { try $0.remove(worker) }
    store.numbers.withLock { $0.end(worker) }
  }

  /// Runs a closure in a transaction that has locked the number of a worker, and may be repeated.
  ///
  /// An old session may hold the lock: a server that received half of a transaction waits for the
  /// rest for ever. So this ends a session that takes long.
  func betweenRounds<R>(of worker: Int64, _ body: (PostgresWork) throws -> R) throws -> R {
    var hasLocked = false
    func attempt() throws -> R {
      try transaction(isRepeatable: true) { work in
        hasLocked = false
        try work.run { pipeline in
          try store.add(waitFor: Self.patienceWithRounds, to: &pipeline)
          pipeline.add(statement("lock_round", "SELECT 1 FROM \(schema).rounds WHERE worker = $1 FOR UPDATE")) {
            $0.bind(worker)
          }
          try store.add(waitFor: store.configuration.busyTimeout, to: &pipeline)
        }
        hasLocked = true
        return try body(work)
      }
    }
    do {
      return try attempt()
    } catch let error as DatabaseError where error.code == .busy && !hasLocked {
      try endSession(holding: worker, openFor: Self.patienceWithRounds)
      return try attempt()
    }
  }

  /// A round takes a few milliseconds.
  private static let patienceWithRounds = Duration.seconds(1)

  // MARK: - Numbered transactions

  /// Runs a closure in a transaction that begins with ``beginningOfRound``, and writes the ends of
  /// attempts. The caller reports its events. If the answer is lost, the state notes that, and
  /// ``settleRounds()`` finds out the outcome; also if nothing can have been stored, since the
  /// server may keep what it has received.
  func numbered<R>(_ ends: [Acknowledgement], _ body: (PostgresWork) throws -> R) throws -> R {
    do {
      return try withoutConflicts(tells: false, body)
    } catch let error as DatabaseError where error.code.isOfLostConnection {
      store.numbers.withLock { $0.lost(ends) }
      throw error
    }
  }

  /// Takes the number of a round.
  var beginningOfRound: PostgresStatement {
    statement("begin_round", "SELECT \(schema).begin_round($1, $2, $3, $4, $5)")
  }

  func bind(_ counter: PostgresRoundState.Counter, lease: Duration, to parameters: inout PostgresParameters) {
    parameters.bind(counter.worker)
    parameters.bind(counter.epoch)
    parameters.bind(counter.number)
    parameters.bind(lease.milliseconds)
    parameters.bind(store.testTime)
  }

  // MARK: - Lost answers

  /// Asks for the number of a round whose answer was lost, and ensures that the round cannot be
  /// written later.
  func settleRounds() throws {
    guard let unsure = store.numbers.withLock({ $0.unsure }) else { return }
    guard let (epoch, number) = try raiseEpoch(of: unsure.counter.worker) else {
      // Other processes have removed this one since. The jobs show what it wrote before.
      let written = try written(of: unsure.acknowledgements)
      store.numbers.withLock { $0.settledWithoutWorker(written: written) }
      return store.events.tell(all: written.map(\.event))
    }
    guard number > unsure.counter.number else {
      return store.numbers.withLock { $0.settled(epoch: epoch, number: number) }
    }
    let known = store.numbers.withLock(\.held)
    let own = try read("own_jobs", PostgresClaim.executing(schema)) { $0.bind(unsure.counter.worker) }
    let jobs = own.map {
      (job: PostgresClaim.job($0, from: 0), hasCheckpoint: PostgresClaim.hasCheckpoint($0, from: 0))
    }
    let told = try whatBecame(of: unsure.acknowledgements)
    store.numbers.withLock {
      $0.settled(
        epoch: epoch, number: number, own: jobs.map(\.job),
        withCheckpoint: Set(jobs.filter(\.hasCheckpoint).map(\.job.id)), known: known)
    }
    store.events.tell(all: told)
    // Other processes may run the jobs that it made due.
    if !unsure.acknowledgements.isEmpty { store.notifier.notify(StoreNews(isIncomplete: true)) }
  }

  /// Nil if the worker is gone.
  private func raiseEpoch(of worker: Int64) throws -> (epoch: Int64, number: Int64)? {
    try betweenRounds(of: worker) { work in
      try work.run(
        "raise_epoch", "UPDATE \(schema).rounds SET epoch = epoch + 1 WHERE worker = $1 RETURNING epoch, number"
      ) { $0.bind(worker) }.first { ($0.integer(0), $0.integer(1)) }
    }
  }

  /// Ends the session that has locked a worker, or the number of its rounds. The row names the
  /// transaction. The number of a server process would belong to another session by the time it is
  /// needed.
  ///
  /// - Parameter age: the minimum age of its transaction.
  func endSession(holding worker: Int64, openFor age: Duration) throws {
    _ = try read(
      "end_session",
      """
      SELECT pg_catalog.pg_terminate_backend(pid) FROM (
        SELECT DISTINCT session.pid FROM (
          SELECT xmax FROM \(schema).rounds WHERE worker = $1 UNION ALL SELECT xmax FROM \(schema).workers WHERE id = $1
        ) AS locked JOIN pg_catalog.pg_locks AS held ON held.locktype = 'transactionid' AND held.granted
          AND held.transactionid = locked.xmax
        JOIN pg_catalog.pg_stat_activity AS session ON session.pid = held.pid
        WHERE session.pid <> pg_catalog.pg_backend_pid()
          AND session.xact_start <= pg_catalog.clock_timestamp() - $2 * interval '1 millisecond') AS holders
      """
    ) {
      $0.bind(worker)
      $0.bind(age.milliseconds)
    }
  }

  /// The events of a round whose answer was lost. Its events about dependents are lost.
  private func whatBecame(of ends: [Acknowledgement]) throws -> [JobEvent.Content] {
    let jobs = try states(of: ends)
    return ends.compactMap { end in
      guard let job = jobs[end.id] else { return end.event }
      if job.claim == end.claim, job.state == .cancelled { return .cancelled(end.id, kind: end.kind) }
      // A job that was claimed once more after it was to end belonged to another process before.
      guard job.claim > end.claim, end.lastState != nil else { return end.event }
      return end.isGivenBack ? nil : .leaseLost(end.id, kind: end.kind)
    }
  }

  /// The ends that are written, as the jobs show.
  private func written(of ends: [Acknowledgement]) throws -> [Acknowledgement] {
    let jobs = try states(of: ends)
    return ends.filter { end in
      jobs[end.id].map { $0.claim == end.claim && $0.state == end.lastState } ?? false
    }
  }

  private func states(of ends: [Acknowledgement]) throws -> [JobID: (state: JobState?, claim: Int64)] {
    guard !ends.isEmpty else { return [:] }
    let rows = try read("states", "SELECT id, state, claim FROM \(schema).jobs WHERE id = ANY($1)") {
      $0.bind(ends.map(\.id.rawValue))
    }
    return Dictionary(
      rows.map {
        (JobID(rawValue: $0.integer(0)), (JobState(rawValue: Int(clamping: $0.integer(1))), $0.integer(2)))
      }, uniquingKeysWith: { $1 })
  }
}

extension Acknowledgement {
  /// The state of the job afterwards, if it does not run again by itself.
  fileprivate var lastState: JobState? {
    switch result {
    case .again, .postponed, .returned: nil
    case .done: .done
    case .dead: .dead
    case .held: .held
    case .cancelled: .cancelled
    }
  }
}
#endif
