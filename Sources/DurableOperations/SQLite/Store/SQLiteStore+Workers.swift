import Foundation

extension SQLiteStore {
  /// Adds the process to those that run jobs. Returns its number.
  func addWorker(_ identity: ProcessIdentity, lease: Int64) throws -> Int64 {
    try connection.execute(
      """
      INSERT INTO durable_workers (boot, namespace, host, process, started, lease, lease_until)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        .text(identity.bootID), SQLValue(identity.pidNamespace), .text(identity.hostName), .integer(identity.processID),
        .integer(identity.startTime), .integer(lease), .integer(now + lease),
      ])
    return connection.lastInsertedRowID
  }

  /// Renews a lease, from now on. Returns false if it was taken away.
  func prolongLease(of worker: Int64, by lease: Int64) throws -> Bool {
    let update = try statement("UPDATE durable_workers SET lease = ?2, lease_until = ?3 WHERE id = ?1")
    update.bind(worker, at: 1)
    update.bind(lease, at: 2)
    update.bind(now + lease, at: 3)
    try update.run()
    return connection.changeCount == 1
  }

  /// Whether other processes still know a worker. Only reads.
  func hasWorker(_ worker: Int64) throws -> Bool {
    let select = try statement("SELECT 1 FROM durable_workers WHERE id = ?1")
    select.bind(worker, at: 1)
    return try select.first { _ in true } ?? false
  }

  /// Removes the worker of a process that runs nothing. Returns false, and leaves it, if it still
  /// has a job: that job's end is not written yet.
  func removeIdleWorker(_ id: Int64) throws -> Bool {
    let delete = try statement(
      """
      DELETE FROM durable_workers WHERE id = ?1
        AND NOT EXISTS (SELECT 1 FROM durable_jobs WHERE state = \(.executing) AND worker = ?1)
      """)
    delete.bind(id, at: 1)
    try delete.run()
    return connection.changeCount == 1
  }

  /// Removed workers with jobs that no process would take over. Only reads.
  func orphaningWorkers() throws -> [Int64] {
    var workers: [Int64] = []
    try statement(
      "SELECT DISTINCT worker FROM durable_jobs WHERE state = \(.executing) AND worker NOT IN (SELECT id FROM durable_workers)"
    ).forEachRow { workers.append($0.integer(0)) }
    return workers
  }

  /// Removes the worker of a process that runs nothing any longer.
  func removeWorker(_ id: Int64) throws {
    try connection.execute("DELETE FROM durable_workers WHERE id = ?", [.integer(id)])
  }

  /// All workers. Only reads.
  func workers() throws -> [WorkerRow] {
    var workers: [WorkerRow] = []
    try statement("SELECT id, boot, namespace, host, process, started, lease, lease_until FROM durable_workers")
      .forEachRow { workers.append(Self.worker($0)) }
    return workers
  }

  /// All workers, each with the jobs that it executes: one statement, so that both belong to one
  /// moment. Only reads.
  func storedWorkers() throws -> [StoredWorker] {
    var workers: [StoredWorker] = []
    try statement(
      """
      SELECT w.id, boot, namespace, host, process, started, lease, lease_until, j.id, k.name, j.started_at
      FROM durable_workers AS w LEFT JOIN durable_jobs AS j ON j.worker = w.id AND j.state = \(.executing)
        LEFT JOIN durable_kinds AS k ON k.id = j.lane >> 2
      ORDER BY w.id, j.id
      """
    ).forEachRow { row in
      let job = row.optionalInteger(8).map { id in
        JobWorker.RunningJob(
          id: JobID(rawValue: id), kind: row.text(9) ?? "",
          startedAt: row.optionalInteger(10).map { Date(milliseconds: $0) })
      }
      workers.add(Self.worker(row), job, at: now)
    }
    return workers
  }

  private static func worker(_ row: Statement) -> WorkerRow {
    let identity = ProcessIdentity(
      bootID: row.text(1) ?? "", pidNamespace: row.text(2), hostName: row.text(3) ?? "",
      processID: row.integer(4), startTime: row.integer(5))
    return WorkerRow(id: row.integer(0), identity: identity, lease: row.integer(6), leaseUntil: row.integer(7))
  }

  /// Takes the jobs of a lost worker: they wait again. Returns whether there were any.
  ///
  /// - Parameters:
  ///   - loss: what happened to its process.
  @discardableResult
  func rescue(
    from worker: Int64, after loss: WorkerLoss, maxCrashes: Int?, maxLapses: Int? = nil
  ) throws -> Bool {
    let rescued =
      switch loss {
      case .crashed: try takeFromCrashed(worker, maxCrashes: maxCrashes)
      case .lapsed: try takeFromLapsed(worker, maxLapses: maxLapses)
      case .stoodStill: try takeFromAlive(worker)
      }
    try removeWorker(worker)
    guard !rescued.isEmpty else { return false }
    hasFreedJobs = true
    tell(.rescued(rescued.map(\.id)))
    for job in rescued where job.state != .waiting {
      let kind = try kindName(JobLane.kind(of: job.lane))
      if job.state == .dead {
        let error = JobError(
          loss == .lapsed ? .tooManyLapses(job.losses) : .tooManyCrashes(job.losses), id: job.id, kind: kind)
        let reason = try statement("UPDATE durable_jobs SET error = ?2 WHERE id = ?1")
        reason.bind(job.id.rawValue, at: 1)
        try reason.bind(error.description, at: 2)
        try reason.run()
        tellDead(job.id, kind: kind, error: error)
      } else {
        tell(.cancelled(job.id, kind: kind))
      }
      try tellDependents(of: job)
    }
    return true
  }

  /// Makes all jobs of this process wait again, as if they had never been claimed.
  func giveBackJobs(of worker: Int64) throws {
    for job in try takeFromAlive(worker) {
      let kind = try kindName(JobLane.kind(of: job.lane))
      tell(job.state == .cancelled ? .cancelled(job.id, kind: kind) : .returned(job.id, kind: kind))
      if job.state == .cancelled { try tellDependents(of: job) }
    }
    try removeWorker(worker)
  }

  /// Dependents of a job that has ended after it was replaced wait for the one in its place.
  private func tellDependents(of job: Rescued) throws {
    if job.flags.contains(.isReplaced) { try handDependentsOn(from: job.id) }
    if job.flags.contains(.hasDependents) { try tellDependents(of: job.id, how: .failed) }
  }

  private struct Rescued {
    let id: JobID
    let lane: Int64
    let state: JobState
    let flags: JobFlags
    /// The number of crashes, or lapses.
    let losses: Int
  }

  private static let isCancelled: SQL = "flags & \(flags: .isCancelRequested)"
  /// Whether its process was waiting for the attempt.
  private static let isCharged: SQL = "flags & \(flags: .isAbandoned) = 0"
  /// Clears the requests that ended with the attempt.
  private static let withoutWishes: SQL = "flags = flags & ~\(flags: .isCancelRequested, .isAbandoned)"

  private func takeFromCrashed(_ worker: Int64, maxCrashes: Int?) throws -> [Rescued] {
    let update = try statement(
      """
      UPDATE durable_jobs SET worker = NULL, crashes = crashes + (\(Self.isCharged)), \(Self.withoutWishes),
        lane = CASE WHEN \(Self.isCharged) THEN lane | \(lane: .alone) ELSE lane END,
        state = CASE WHEN \(Self.isCancelled) THEN \(.cancelled)
          WHEN \(Self.isCharged) AND crashes + 1 >= ?2 THEN \(.dead) ELSE \(.waiting) END,
        finished_at = CASE WHEN \(Self.isCancelled) OR \(Self.isCharged) AND crashes + 1 >= ?2 THEN ?3 END
      WHERE state = \(.executing) AND worker = ?1
      RETURNING id, lane, state, flags, crashes
      """)
    update.bind(worker, at: 1)
    update.bind(maxCrashes.map(Int64.init), at: 2)
    update.bind(now, at: 3)
    return try rescued(update)
  }

  /// After the second loss in a row, the job may have ended its process, so it runs alone, as after
  /// a crash.
  private func takeFromLapsed(_ worker: Int64, maxLapses: Int?) throws -> [Rescued] {
    let update = try statement(
      """
      UPDATE durable_jobs SET worker = NULL, lapses = lapses + (\(Self.isCharged)), \(Self.withoutWishes),
        lane = CASE WHEN lapses AND \(Self.isCharged) THEN lane | \(lane: .alone) ELSE lane END,
        state = CASE WHEN \(Self.isCancelled) THEN \(.cancelled)
          WHEN \(Self.isCharged) AND lapses + 1 >= ?2 THEN \(.dead) ELSE \(.waiting) END,
        finished_at = CASE WHEN \(Self.isCancelled) OR \(Self.isCharged) AND lapses + 1 >= ?2 THEN ?3 END
      WHERE state = \(.executing) AND worker = ?1
      RETURNING id, lane, state, flags, lapses
      """)
    update.bind(worker, at: 1)
    update.bind(maxLapses.map(Int64.init), at: 2)
    update.bind(now, at: 3)
    return try rescued(update)
  }

  /// As if they had never been claimed.
  private func takeFromAlive(_ worker: Int64) throws -> [Rescued] {
    let update = try statement(
      """
      UPDATE durable_jobs SET worker = NULL, \(Self.withoutWishes),
        state = CASE WHEN \(Self.isCancelled) THEN \(.cancelled) ELSE \(.waiting) END,
        finished_at = CASE WHEN \(Self.isCancelled) THEN ?2 END
      WHERE state = \(.executing) AND worker = ?1
      RETURNING id, lane, state, flags, crashes
      """)
    update.bind(worker, at: 1)
    update.bind(now, at: 2)
    return try rescued(update)
  }

  private func rescued(_ update: Statement) throws -> [Rescued] {
    var rescued: [Rescued] = []
    try update.forEachRow { row in
      deltas.move(ofKind: JobLane.kind(of: row.integer(1)), from: JobState.executing.number, to: row.integer(2))
      rescued.append(
        Rescued(
          id: JobID(rawValue: row.integer(0)), lane: row.integer(1),
          state: row.state(2) ?? .waiting, flags: row.flags(3),
          losses: Int(clamping: row.integer(4))))
    }
    return rescued
  }

  /// Jobs that execute here and have a cancel request. Only reads.
  func cancelRequests(worker: Int64) throws -> [JobID] {
    let select = try statement(
      "SELECT id FROM durable_jobs WHERE state = \(.executing) AND worker = ?1 AND flags & \(flags: .isCancelRequested)"
    )
    select.bind(worker, at: 1)
    var ids: [JobID] = []
    try select.forEachRow { ids.append(JobID(rawValue: $0.integer(0))) }
    return ids
  }

  // MARK: - Idleness, only reads

  /// Whether a job of one of these kinds executes anywhere, or is due. Call with one snapshot.
  func isBusy(with kinds: [Int64]) throws -> Bool {
    let own = Set(kinds)
    var isBusy = false
    try statement("SELECT DISTINCT lane >> 2 FROM durable_jobs WHERE state = \(.executing)").forEachRow { row in
      if own.contains(row.integer(0)) { isBusy = true }
    }
    if isBusy { return true }
    let due = try statement("SELECT lane >> 2 FROM durable_jobs WHERE state = \(.scheduled) AND run_at <= ?1")
    due.bind(now, at: 1)
    try due.forEachRow { if own.contains($0.integer(0)) { isBusy = true } }
    if isBusy { return true }
    return try isAnyWaiting(kinds, bits: 0, isOnline: true)
      || isAnyWaiting(kinds, bits: JobLane.Bit.alone.rawValue, isOnline: true)
  }

  /// Whether a job of one of these kinds waits, even if something keeps it from running.
  func isAnythingDue(of kinds: [Int64]) throws -> Bool {
    try isAnyWaiting(kinds, bits: 0, isOnline: true)
      || isAnyWaiting(kinds, bits: JobLane.Bit.alone.rawValue, isOnline: true)
  }

  /// When the first job ended that `prune` would delete; nil if there is none. Only reads.
  func firstFinish() throws -> Int64? {
    try statement(
      """
      SELECT finished_at FROM durable_jobs WHERE state IN (\(.cancelled, .done))
        AND (flags & \(flags: .hasDependents) = 0 OR NOT EXISTS (SELECT 1 FROM durable_dependencies WHERE prerequisite = id))
      ORDER BY finished_at LIMIT 1
      """
    ).first { $0.integer(0) }
  }

  // MARK: - Maintenance

  /// Deletes jobs that were done or cancelled before a time, a thousand at once. Returns whether
  /// there may be more.
  func prune(finishedBefore: Int64) throws -> Bool {
    // Not jobs with dependents: they may be retried.
    let select = try statement(
      """
      SELECT id FROM durable_jobs WHERE state IN (\(.cancelled, .done)) AND finished_at < ?1
        AND (flags & \(flags: .hasDependents) = 0 OR NOT EXISTS (SELECT 1 FROM durable_dependencies WHERE prerequisite = id))
      ORDER BY finished_at LIMIT 1000
      """)
    select.bind(finishedBefore, at: 1)
    var ids: [Int64] = []
    try select.forEachRow { ids.append($0.integer(0)) }
    for id in ids { try remove(JobID(rawValue: id)) }
    return ids.count == 1000
  }

  /// Kinds that have due jobs but are not registered here. Only reads.
  func unknownKinds(besides registered: Set<Int64>) throws -> [UnknownKind] {
    var kinds: [UnknownKind] = []
    try statement("SELECT id, name, known_at FROM durable_kinds").forEachRow { row in
      guard !registered.contains(row.integer(0)) else { return }
      kinds.append(UnknownKind(id: row.integer(0), name: row.text(1) ?? "", knownAt: row.integer(2)))
    }
    return try kinds.filter { kind in
      try isAnyWaiting([kind.id], bits: 0, isOnline: true)
        || isAnyWaiting([kind.id], bits: JobLane.Bit.alone.rawValue, isOnline: true)
    }
  }

  /// Notes that a process knows kinds.
  func noteKnown(_ kinds: [Int64]) throws {
    let update = try statement("UPDATE durable_kinds SET known_at = ?2 WHERE id = ?1")
    for kind in kinds {
      update.bind(kind, at: 1)
      update.bind(now, at: 2)
      try update.run()
    }
  }

  /// Jobs of a kind that are due since before a time, at most a thousand. Only reads.
  func jobs(ofKind kind: Int64, dueBefore: Int64) throws -> [JobID] {
    let select = try statement(
      """
      SELECT id FROM durable_jobs
      WHERE state = \(.waiting) AND lane BETWEEN ?1 AND ?1 + 3 AND max(enqueued_at, coalesce(run_at, 0)) < ?2 LIMIT 1000
      """)
    select.bind(JobLane.number(ofKind: kind), at: 1)
    select.bind(dueBefore, at: 2)
    var ids: [JobID] = []
    try select.forEachRow { ids.append(JobID(rawValue: $0.integer(0))) }
    return ids
  }

  /// Makes jobs dead that have waited too long for a process that knows their kind.
  func giveUp(_ ids: [JobID], kind: String) throws {
    let update = try statement(
      "UPDATE durable_jobs SET state = \(.dead), finished_at = ?2, error = ?3 WHERE id = ?1 AND state = \(.waiting) RETURNING lane, flags"
    )
    for id in ids {
      let error = JobError(.unknownKind, id: id, kind: kind)
      update.bind(id.rawValue, at: 1)
      update.bind(now, at: 2)
      try update.bind(error.description, at: 3)
      var (isDead, isReplaced) = (false, false)
      try update.forEachRow { row in
        isReplaced = row.flags(1).contains(.isReplaced)
        deltas.move(ofKind: JobLane.kind(of: row.integer(0)), from: JobState.waiting.number, to: JobState.dead.number)
        isDead = true
      }
      guard isDead else { continue }
      tellDead(id, kind: kind, error: error)
      if isReplaced { try handDependentsOn(from: id) }
      try tellDependents(of: id, how: .failed)
    }
  }

  // MARK: - The clock

  /// Stores the date, for a later start of the machine.
  func noteTime() throws {
    let insert = try statement("INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('seen', ?1)")
    insert.bind(now, at: 1)
    try insert.run()
  }

  /// Handles a clock that was set: delays and leases move with it, once, whichever process notices
  /// it first. `offset`: what the clock shows when the machine's time since its start is zero.
  func clockShows(offset: Int64, boot: String) throws {
    let rows = try connection.execute("SELECT key, value FROM durable_meta WHERE key IN ('clock', 'boot', 'seen')")
    let stored = Dictionary(rows.map { ($0[0].textValue ?? "", $0[1]) }, uniquingKeysWith: { $1 })
    var jump: Int64 = 0
    // Two unknown starts say nothing about each other.
    if !boot.isEmpty, stored["boot"]?.textValue == boot {
      if let before = stored["clock"]?.integerValue { jump = offset.clampedDifference(to: before) }
      // Clocks are corrected slightly all the time.
      guard jump.magnitude > 1000 || stored["clock"] == nil else { return }
    } else if let seen = stored["seen"]?.integerValue, seen > now + 1000 {
      // Before the machine started, its clock was ahead for an unknown time.
      jump = now.clampedDifference(to: seen)
    }
    if jump != 0 {
      let move = try statement(
        """
        UPDATE durable_jobs SET run_at = run_at + ?1
        WHERE run_at IS NOT NULL AND flags & \(flags: .runsAfterDelay) AND state IN (\(.scheduled, .blocked, .held))
        """)
      move.bind(jump, at: 1)
      try move.run()
      try connection.execute("UPDATE durable_workers SET lease_until = lease_until + ?", [.integer(jump)])
    }
    try connection.execute(
      "INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('clock', ?), ('boot', ?), ('seen', ?)",
      [.integer(offset), .text(boot), .integer(now)])
  }
}
