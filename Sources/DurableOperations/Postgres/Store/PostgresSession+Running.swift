#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension PostgresSession {
  func begin(resuming worker: Int64?) throws {
    guard let worker else { return }
    try change(
      "resume_attempts",
      """
      UPDATE \(schema).jobs SET flags = flags & ~\(flags: .isAbandoned)
      WHERE state = \(.executing) AND worker = $1 AND flags & \(flags: .isAbandoned) <> 0
      """
    ) { $0.bind(worker) }
  }

  // MARK: - Outside of rounds

  func write(_ ends: [Acknowledgement], keepsDone: Bool, abandoned: [ClaimedJob]) throws {
    try write(ends, keepsDone: keepsDone, within: nil) { work in
      guard !abandoned.isEmpty else { return }
      try work.run(
        "abandon",
        """
        UPDATE \(schema).jobs SET flags = flags | \(flags: .isAbandoned)
        WHERE id = ANY($1::bigint[]) AND claim = ($2::bigint[])[pg_catalog.array_position($1::bigint[], id)]
          AND state + 0 = \(.executing)
        """
      ) {
        $0.bind(abandoned.map(\.id.rawValue))
        $0.bind(abandoned.map(\.claim))
      }
    }
  }

  func giveBackJobs(
    of worker: Int64?, after ends: [Acknowledgement], keepsDone: Bool, within patience: Duration?
  ) throws {
    if !ends.isEmpty { try write(ends, keepsDone: keepsDone, within: patience, isAll: false) }
    // A first round that failed after its commit may have claimed jobs for a worker that the queue
    // does not know.
    guard let worker = worker ?? store.numbers.withLock({ $0.counter?.worker }) else {
      return store.numbers.withLock { $0.acknowledged(ends) }
    }
    // Not in one transaction: one that removes the process has no number that could be asked for.
    try settleRounds()
    try betweenRounds(of: worker) { work in
      if let patience { try work.wait(for: patience) }
      let taken = try work.run(
        "take_back",
        """
        SELECT job, job_lane, job_state FROM \(schema).take_jobs($1, 2, NULL, ARRAY(
          SELECT id FROM \(schema).jobs WHERE state = \(.executing) AND worker = $1 ORDER BY id FOR UPDATE), $2)
        """
      ) {
        $0.bind(worker)
        $0.bind(store.testTime)
      }
      try taken.forEachRow { row in
        let (id, kind) = (JobID(rawValue: row.integer(0)), try work.kindName(JobLane.kind(of: row.integer(1))))
        work.tell(
          row.integer(2) == JobState.cancelled.number ? .cancelled(id, kind: kind) : .returned(id, kind: kind))
        work.free(row.integer(1))
      }
      try work.attemptsEnded(taken.map { JobID(rawValue: $0.integer(0)) })
      try work.remove(worker)
    }
    store.numbers.withLock { numbers in
      numbers.acknowledged(ends)
      numbers.end(worker)
    }
  }

  /// Writes the ends of attempts with the number of a round: if the answer is lost, they are not
  /// written again. Tried once more on another connection if one breaks.
  ///
  /// - Parameters:
  ///   - isAll: whether nothing follows that may fail. Otherwise the queue may ask for the same
  ///     once more: the state remembers what is written until the caller says otherwise.
  ///   - more: further work in the transaction.
  private func write(
    _ ends: [Acknowledgement], keepsDone: Bool, within patience: Duration?, isAll: Bool = true,
    more: (PostgresWork) throws -> Void = { _ in }
  ) throws {
    do {
      try attemptToWrite(ends, keepsDone: keepsDone, within: patience, isAll: isAll, more)
    } catch let error as DatabaseError where error.code.isOfLostConnection {
      try attemptToWrite(ends, keepsDone: keepsDone, within: patience, isAll: isAll, more)
    }
  }

  private func attemptToWrite(
    _ all: [Acknowledgement], keepsDone: Bool, within patience: Duration?, isAll: Bool,
    _ more: (PostgresWork) throws -> Void
  ) throws {
    try settleRounds()
    let ends = store.numbers.withLock { $0.unwritten(all) }
    func write() throws -> PostgresWork {
      try numbered(ends) { work in
        if let patience { try work.wait(for: patience) }
        if let counter = store.numbers.withLock(\.counter) {
          try work.run { pipeline in
            pipeline.add(beginningOfRound) { bind(counter, lease: store.configuration.leaseDuration, to: &$0) }
          }
        }
        try more(work)
        try work.acknowledge(ends, keepsDone: keepsDone)
        return work
      }
    }
    let work: PostgresWork
    do {
      work = try write()
    } catch let error as DatabaseError where error.sqlState == "DQ001" {
      // Other processes have removed this one. The numbers of the claims tell which jobs are still
      // its own.
      store.numbers.withLock { $0.workerWasLost() }
      work = try write()
    }
    store.numbers.withLock { numbers in
      numbers.answered([], withCheckpoint: [], acknowledged: ends)
      if isAll { numbers.acknowledged(all) }
    }
    work.tellAll()
  }

  // MARK: - Attempts

  func setCheckpoint(_ data: Data?, of id: JobID, claim: Int64) throws -> Bool {
    try transaction(isRepeatable: true) { work in
      let current = try work.run(
        "mark_checkpoint",
        """
        UPDATE \(schema).jobs SET flags = flags | \(flags: .hasCheckpoint)
        WHERE id = $1 AND claim = $2 AND state + 0 = \(.executing) RETURNING id
        """
      ) {
        $0.bind(id.rawValue)
        $0.bind(claim)
      }
      guard current.count == 1 else { return false }
      if let data {
        try work.run(
          "checkpoint",
          """
          INSERT INTO \(schema).checkpoints (job, data) VALUES ($1, $2) ON CONFLICT (job) DO UPDATE SET data = excluded.data
          """
        ) {
          $0.bind(id.rawValue)
          $0.bind(data as Data?)
        }
      } else {
        try work.run("forget_checkpoint", "DELETE FROM \(schema).checkpoints WHERE job = $1") { $0.bind(id.rawValue) }
      }
      return true
    }
  }

  func heartbeat(of id: JobID, claim: Int64, worker: Int64, lease: Duration) throws -> Bool {
    try change(
      "heartbeat",
      """
      UPDATE \(schema).workers SET lease = $4, lease_until = coalesce($5::bigint, \(schema).now_ms()) + $4
      WHERE id = $1 AND EXISTS (SELECT 1 FROM \(schema).rounds WHERE rounds.worker = $1) AND EXISTS (
        SELECT 1 FROM \(schema).jobs WHERE jobs.id = $2 AND claim = $3 AND state + 0 = \(.executing) AND jobs.worker = $1)
        AND lease_until > 0
      RETURNING id
      """
    ) {
      $0.bind(worker)
      $0.bind(id.rawValue)
      $0.bind(claim)
      $0.bind(lease.milliseconds)
      $0.bind(store.testTime)
    }.count == 1
  }
}

extension PostgresWork {
  /// Removes the worker of a process that runs nothing any longer.
  func remove(_ worker: Int64) throws {
    try run("remove_rounds", "DELETE FROM \(schema).rounds WHERE worker = $1") { $0.bind(worker) }
    try run("remove_worker", "DELETE FROM \(schema).workers WHERE id = $1") { $0.bind(worker) }
  }

  /// Sets how long this transaction waits for the locks of others.
  func wait(for patience: Duration) throws {
    try run { try store.add(waitFor: patience, to: &$0) }
  }
}
#endif
