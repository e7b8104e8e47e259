import Foundation

/// A process that runs jobs of the file, or did.
struct WorkerRow: Sendable {
  let id: Int64
  let identity: ProcessIdentity
  /// How long its leases are.
  let lease: Int64
  let leaseUntil: Int64

  /// Whether its lease is over.
  ///
  /// - Parameters:
  ///   - now: the date; nil if it may have been set anew. A process whose date was far ahead wrote a lease that ends far ahead
  ///     too, so the date alone does not tell.
  ///   - age: for how long it has not been prolonged, at least.
  ///   - isAlive: whether the process is there for sure. After the machine slept all leases are over, and those who wake
  ///     later than others keep theirs.
  func hasRunOut(at now: Int64?, unchangedFor age: Duration, isAlive: Bool) -> Bool {
    if age >= .milliseconds(lease) { return true }
    guard let now, leaseUntil < now else { return false }
    return !isAlive || age >= .milliseconds(lease / 3)
  }
}

/// A kind that is not registered here, with jobs that are due.
struct UnknownKind: Sendable {
  let id: Int64
  let name: String
  /// When a process that knows it was last there.
  let knownAt: Int64
}

extension JobStore {
  /// Takes the process in among those that run jobs. Returns its number.
  func addWorker(_ identity: ProcessIdentity, lease: Int64, now: Int64) throws -> Int64 {
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

  /// Prolongs a lease. Returns false if it was taken away.
  func prolongLease(of worker: Int64, until: Int64) throws -> Bool {
    let update = try statement("UPDATE durable_workers SET lease_until = ?2 WHERE id = ?1")
    update.bind(worker, at: 1)
    update.bind(until, at: 2)
    try update.run()
    return connection.changeCount == 1
  }

  /// Whether others still count on a worker. Only reads.
  func hasWorker(_ worker: Int64) throws -> Bool {
    let select = try statement("SELECT 1 FROM durable_workers WHERE id = ?1")
    select.bind(worker, at: 1)
    return try select.first { _ in true } ?? false
  }

  /// The process runs nothing any more.
  func removeWorker(_ id: Int64) throws {
    try connection.execute("DELETE FROM durable_workers WHERE id = ?", [.integer(id)])
  }

  /// All of them. Only reads.
  func workers() throws -> [WorkerRow] {
    var workers: [WorkerRow] = []
    try statement("SELECT id, boot, namespace, host, process, started, lease, lease_until FROM durable_workers")
      .forEachRow { row in
        let identity = ProcessIdentity(
          bootID: row.text(1) ?? "", pidNamespace: row.text(2), hostName: row.text(3) ?? "",
          processID: row.integer(4), startTime: row.integer(5))
        workers.append(
          WorkerRow(id: row.integer(0), identity: identity, lease: row.integer(6), leaseUntil: row.integer(7)))
      }
    return workers
  }

  /// Takes the jobs from a worker, which is one no more: they wait again. Returns whether there were any.
  ///
  /// - Parameters:
  ///   - hasCrashed: whether its process has ended, or may have. Each of its jobs runs alone the next time then, or is dead
  ///     after too many crashes.
  @discardableResult
  func rescue(from worker: Int64, hasCrashed: Bool, maxCrashes: Int?, now: Int64) throws -> Bool {
    let rescued =
      hasCrashed
      ? try takeFromCrashed(worker, maxCrashes: maxCrashes, now: now) : try takeFromAlive(worker, now: now)
    try removeWorker(worker)
    guard !rescued.isEmpty else { return false }
    hasFreedJobs = true
    tell(.rescued(rescued.map(\.id)))
    for job in rescued where job.state != .waiting {
      let kind = try kindName(Schema.kind(ofLane: job.lane))
      if job.state == .dead {
        let error = JobError(.tooManyCrashes(job.crashes), id: job.id, kind: kind)
        let reason = try statement("UPDATE durable_jobs SET error = ?2 WHERE id = ?1")
        reason.bind(job.id.rawValue, at: 1)
        try reason.bind(error.description, at: 2)
        try reason.run()
        tell(.dead(job.id, kind: kind, error: error))
      } else {
        tell(.cancelled(job.id, kind: kind))
      }
      if job.flags & Schema.Flags.hasDependents != 0 { try tellDependents(of: job.id, how: .failed, now: now) }
    }
    return true
  }

  private struct Rescued {
    let id: JobID
    let lane: Int64
    let state: JobState
    let flags: Int64
    let crashes: Int
  }

  private func takeFromCrashed(_ worker: Int64, maxCrashes: Int?, now: Int64) throws -> [Rescued] {
    let update = try statement(
      """
      UPDATE durable_jobs SET worker = NULL, crashes = crashes + 1, lane = lane | 2, flags = flags & ~2,
        state = CASE WHEN flags & 2 THEN 5 WHEN crashes + 1 >= ?2 THEN 6 ELSE 0 END,
        finished_at = CASE WHEN flags & 2 OR crashes + 1 >= ?2 THEN ?3 END
      WHERE state = 3 AND worker = ?1
      RETURNING id, lane, state, flags, crashes
      """)
    update.bind(worker, at: 1)
    update.bind(maxCrashes.map(Int64.init), at: 2)
    update.bind(now, at: 3)
    return try rescued(update)
  }

  /// As if they had never been claimed.
  private func takeFromAlive(_ worker: Int64, now: Int64) throws -> [Rescued] {
    let update = try statement(
      """
      UPDATE durable_jobs SET worker = NULL, flags = flags & ~2, state = CASE WHEN flags & 2 THEN 5 ELSE 0 END,
        finished_at = CASE WHEN flags & 2 THEN ?2 END
      WHERE state = 3 AND worker = ?1
      RETURNING id, lane, state, flags, crashes
      """)
    update.bind(worker, at: 1)
    update.bind(now, at: 2)
    return try rescued(update)
  }

  private func rescued(_ update: Statement) throws -> [Rescued] {
    var rescued: [Rescued] = []
    try update.forEachRow { row in
      rescued.append(
        Rescued(
          id: JobID(rawValue: row.integer(0)), lane: row.integer(1),
          state: JobState(rawValue: Int(row.integer(2))) ?? .waiting, flags: row.integer(3),
          crashes: Int(row.integer(4))))
    }
    return rescued
  }

  /// Jobs that execute here, and were asked to be cancelled. Only reads.
  func cancelRequests(worker: Int64) throws -> [JobID] {
    let select = try statement("SELECT id FROM durable_jobs WHERE state = 3 AND worker = ?1 AND flags & 2")
    select.bind(worker, at: 1)
    var ids: [JobID] = []
    try select.forEachRow { ids.append(JobID(rawValue: $0.integer(0))) }
    return ids
  }

  // MARK: - Idleness, only reads

  /// Whether a job of one of these kinds executes anywhere, or is due.
  func isBusy(with kinds: [Int64], now: Int64) throws -> Bool {
    let own = Set(kinds)
    var isBusy = false
    try statement("SELECT DISTINCT lane >> 2 FROM durable_jobs WHERE state = 3").forEachRow { row in
      if own.contains(row.integer(0)) { isBusy = true }
    }
    if isBusy { return true }
    let due = try statement("SELECT lane >> 2 FROM durable_jobs WHERE state = 1 AND run_at <= ?1")
    due.bind(now, at: 1)
    try due.forEachRow { if own.contains($0.integer(0)) { isBusy = true } }
    if isBusy { return true }
    return try isAnyWaiting(kinds, bits: 0, isOnline: true)
      || isAnyWaiting(kinds, bits: Schema.aloneLane, isOnline: true)
  }

  // MARK: - Maintenance

  /// Deletes jobs that were done or cancelled before a time, a thousand at once. Returns whether there may be more.
  func prune(finishedBefore: Int64) throws -> Bool {
    // Not what others wait for: somebody may retry it.
    let select = try statement(
      """
      SELECT id FROM durable_jobs WHERE state IN (5, 7) AND finished_at < ?1
        AND (flags & 1 = 0 OR NOT EXISTS (SELECT 1 FROM durable_dependencies WHERE prerequisite = id))
      ORDER BY finished_at LIMIT 1000
      """)
    select.bind(finishedBefore, at: 1)
    var ids: [Int64] = []
    try select.forEachRow { ids.append($0.integer(0)) }
    for id in ids { try remove(JobID(rawValue: id)) }
    return ids.count == 1000
  }

  /// Kinds that have jobs due but are not among those registered here. Only reads.
  func unknownKinds(besides registered: Set<Int64>) throws -> [UnknownKind] {
    var kinds: [UnknownKind] = []
    try statement("SELECT id, name, known_at FROM durable_kinds").forEachRow { row in
      guard !registered.contains(row.integer(0)) else { return }
      kinds.append(UnknownKind(id: row.integer(0), name: row.text(1) ?? "", knownAt: row.integer(2)))
    }
    return try kinds.filter { kind in
      try isAnyWaiting([kind.id], bits: 0, isOnline: true)
        || isAnyWaiting([kind.id], bits: Schema.aloneLane, isOnline: true)
    }
  }

  /// Notes that a process knows kinds.
  func noteKnown(_ kinds: [Int64], now: Int64) throws {
    let update = try statement("UPDATE durable_kinds SET known_at = ?2 WHERE id = ?1")
    for kind in kinds {
      update.bind(kind, at: 1)
      update.bind(now, at: 2)
      try update.run()
    }
  }

  /// Jobs of a kind that are due since before a time, a thousand of them. Only reads.
  func jobs(ofKind kind: Int64, dueBefore: Int64) throws -> [JobID] {
    let select = try statement(
      """
      SELECT id FROM durable_jobs
      WHERE state = 0 AND lane BETWEEN ?1 AND ?1 + 3 AND max(enqueued_at, coalesce(run_at, 0)) < ?2 LIMIT 1000
      """)
    select.bind(Schema.lane(ofKind: kind), at: 1)
    select.bind(dueBefore, at: 2)
    var ids: [JobID] = []
    try select.forEachRow { ids.append(JobID(rawValue: $0.integer(0))) }
    return ids
  }

  /// Jobs that have waited too long for a process that knows them are dead.
  func giveUp(_ ids: [JobID], kind: String, now: Int64) throws {
    let update = try statement(
      "UPDATE durable_jobs SET state = 6, finished_at = ?2, error = ?3 WHERE id = ?1 AND state = 0")
    for id in ids {
      let error = JobError(.unknownKind, id: id, kind: kind)
      update.bind(id.rawValue, at: 1)
      update.bind(now, at: 2)
      try update.bind(error.description, at: 3)
      try update.run()
      guard connection.changeCount == 1 else { continue }
      tell(.dead(id, kind: kind, error: error))
      try tellDependents(of: id, how: .failed, now: now)
    }
  }

  // MARK: - The clock

  /// Remembers the date, for a start of the machine that knows an earlier one.
  func noteTime(_ now: Int64) throws {
    let insert = try statement("INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('seen', ?1)")
    insert.bind(now, at: 1)
    try insert.run()
  }

  /// The clock was set anew: delays and leases move with it, once, whichever process notices it first. `offset` is what
  /// the clock shows when the machine's time since its start is zero.
  func clockShows(_ now: Int64, offset: Int64, boot: String) throws {
    let rows = try connection.execute("SELECT key, value FROM durable_meta WHERE key IN ('clock', 'boot', 'seen')")
    let stored = Dictionary(rows.map { ($0[0].textValue ?? "", $0[1]) }, uniquingKeysWith: { $1 })
    var jump: Int64 = 0
    if stored["boot"]?.textValue == boot {
      if let before = stored["clock"]?.integerValue { jump = offset - before }
      // Clocks are corrected by little all the time.
      guard abs(jump) > 1000 || stored["clock"] == nil else { return }
    } else if let seen = stored["seen"]?.integerValue, seen > now + 1000 {
      // Before the machine was started its clock was ahead, nobody knows for how long.
      jump = now - seen
    }
    if jump != 0 {
      try connection.execute(
        "UPDATE durable_jobs SET run_at = run_at + ? WHERE run_at IS NOT NULL AND flags & 8 AND state IN (1, 2, 4)",
        [.integer(jump)])
      try connection.execute("UPDATE durable_workers SET lease_until = lease_until + ?", [.integer(jump)])
    }
    try connection.execute(
      "INSERT OR REPLACE INTO durable_meta (key, value) VALUES ('clock', ?), ('boot', ?), ('seen', ?)",
      [.integer(offset), .text(boot), .integer(now)])
  }
}
