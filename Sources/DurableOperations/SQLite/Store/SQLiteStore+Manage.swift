import Foundation

extension SQLiteStore {
  // MARK: - One job

  func state(of id: JobID) throws -> JobState? {
    let select = try statement("SELECT state FROM durable_jobs WHERE id = ?1")
    select.bind(id.rawValue, at: 1)
    return try select.first { $0.state(0) } ?? nil
  }

  /// The state of a job, which must exist and allow the transition.
  private func state(of id: JobID, before transition: JobTransition) throws -> JobState {
    guard let state = try state(of: id) else { throw JobError(.unknownJob, id: id) }
    if transition.isRefused(in: state) { throw JobError(.wrongState(state), id: id) }
    return state
  }

  /// Cancels a job. Returns its state before; an executing job is asked to end, and is cancelled
  /// then.
  func cancel(_ id: JobID) throws -> JobState {
    let state = try state(of: id, before: .cancel)
    try cancel([(id, state)])
    return state
  }

  /// Cancels jobs in the states that they have. Those that execute are asked to end. Dependents are
  /// told when all jobs are cancelled: a dependent that is one of them does not fail with another.
  func cancel(_ jobs: [(id: JobID, state: JobState)]) throws {
    var cancelled: [(id: JobID, isReplaced: Bool)] = []
    for (id, state) in jobs {
      switch state {
      case .cancelled, .done, .dead: break
      case .executing: try requestCancel(of: id)
      case .waiting, .scheduled, .blocked, .held: cancelled.append((id, try setCancelled(id, from: state)))
      }
    }
    for (id, isReplaced) in cancelled {
      if isReplaced { try handDependentsOn(from: id) }
      try tellDependents(of: id, how: .failed)
    }
  }

  private func requestCancel(of id: JobID) throws {
    let update = try statement("UPDATE durable_jobs SET flags = flags | \(flags: .isCancelRequested) WHERE id = ?1")
    update.bind(id.rawValue, at: 1)
    try update.run()
  }

  /// Cancels a job that does not execute, without its dependents. Returns whether another job was
  /// stored in its place.
  private func setCancelled(_ id: JobID, from state: JobState) throws -> Bool {
    let update = try statement(
      "UPDATE durable_jobs SET state = \(.cancelled), finished_at = ?2 WHERE id = ?1 RETURNING lane, flags")
    update.bind(id.rawValue, at: 1)
    update.bind(now, at: 2)
    var isReplaced = false
    try update.forEachRow { row in
      isReplaced = row.flags(1).contains(.isReplaced)
      let kind = JobLane.kind(of: row.integer(0))
      deltas.move(ofKind: kind, from: state.number, to: JobState.cancelled.number)
      try tell(.cancelled(id, kind: kindName(kind)))
    }
    return isReplaced
  }

  /// Makes a job that is held, dead, cancelled or scheduled run at once, with all its attempts
  /// before it.
  func retry(_ id: JobID) throws {
    let state = try state(of: id, before: .retry)
    if state == .dead || state == .cancelled, let other = try heir(of: id) { throw JobError(.duplicate(other), id: id) }
    try makeDue(id)
  }

  /// The job that has the unique key of another one, which has ended, or was replaced.
  func heir(of id: JobID) throws -> JobID? {
    let select = try statement(
      """
      SELECT other.id FROM durable_jobs AS job JOIN durable_jobs AS other ON other.unique_key = job.unique_key
      WHERE job.id = ?1 AND other.id <> job.id AND other.lane >> 2 = job.lane >> 2
        AND other.state IN (\(.waiting, .scheduled, .blocked, .executing, .held)) LIMIT 1
      """)
    select.bind(id.rawValue, at: 1)
    return try select.first { JobID(rawValue: $0.integer(0)) }
  }

  /// Makes a job that does not execute run at once, or when its prerequisites are done.
  func makeDue(_ id: JobID) throws {
    let update = try statement(
      """
      UPDATE durable_jobs SET state = CASE WHEN blockers > 0 THEN \(.blocked) ELSE \(.waiting) END, run_at = ?2, attempts = 0,
        crashes = 0, lapses = 0, lane = lane & ~\(lane: .alone), finished_at = NULL,
        flags = flags & ~(CASE WHEN state IN (\(.cancelled, .dead)) THEN \(flags: .isCancelRequested, .isReplaced)
          ELSE \(flags: .isCancelRequested) END) | \(flags: .runsAfterDelay)
      WHERE id = ?1
      """)
    update.bind(id.rawValue, at: 1)
    update.bind(now, at: 2)
    try countingChange(of: id) { try update.run() }
  }

  /// Holds a job that does not run yet.
  func hold(_ id: JobID) throws {
    _ = try state(of: id, before: .hold)
    try countingChange(of: id) {
      let update = try statement("UPDATE durable_jobs SET state = \(.held) WHERE id = ?1")
      update.bind(id.rawValue, at: 1)
      try update.run()
    }
  }

  func setPriority(_ priority: JobPriority, of id: JobID) throws {
    try connection.execute(
      "UPDATE durable_jobs SET major = ?, minor = ? WHERE id = ?",
      [SQLValue(priority.major), SQLValue(priority.minor), .integer(id.rawValue)])
    if connection.changeCount == 0 { throw JobError(.unknownJob, id: id) }
  }

  func delete(_ id: JobID) throws {
    let state = try state(of: id, before: .delete)
    try delete(id, in: state)
  }

  /// Deletes a job in the state that it has. Returns the dependents that have failed.
  @discardableResult
  func delete(_ id: JobID, in state: JobState) throws -> [JobID] {
    if !state.isSettled, try isReplaced(id) { try handDependentsOn(from: id) }
    let failed = try tellDependents(of: id, how: state == .done ? .done : .deleted)
    try remove(id)
    return failed
  }

  /// Whether another job was stored in the place of a job.
  private func isReplaced(_ id: JobID) throws -> Bool {
    let select = try statement("SELECT flags FROM durable_jobs WHERE id = ?1")
    select.bind(id.rawValue, at: 1)
    return try select.first { $0.flags(0).contains(.isReplaced) } ?? false
  }

  /// Deletes a job without dependents.
  func remove(_ id: JobID) throws {
    for delete in [
      try statement("DELETE FROM durable_dependencies WHERE dependent = ?1"),
      try statement("DELETE FROM durable_checkpoints WHERE job = ?1"),
      try statement("DELETE FROM durable_errors WHERE job = ?1"),
      try statement("DELETE FROM durable_jobs WHERE id = ?1 RETURNING lane, state"),
    ] {
      delete.bind(id.rawValue, at: 1)
      // Only the last one returns something.
      try delete.forEachRow { deltas.add(-1, kind: JobLane.kind(of: $0.integer(0)), state: $0.integer(1)) }
    }
  }

  // MARK: - Questions, which only read

  func record(_ id: JobID) throws -> JobRecord? {
    let select = try kept("record", "SELECT \(recordColumns) FROM durable_jobs WHERE id = ?1")
    select.bind(id.rawValue, at: 1)
    return try select.first(record)
  }

  func records(_ filter: JobFilter, after: JobID?, limit: Int) throws -> [JobRecord] {
    guard let condition = try condition(filter) else { return [] }
    let select = try unkept(
      "SELECT \(recordColumns) FROM durable_jobs WHERE \(condition) AND id > ?1 ORDER BY id LIMIT ?2")
    select.bind(after?.rawValue ?? 0, at: 1)
    select.bind(limit, at: 2)
    var records: [JobRecord] = []
    var last = after?.rawValue ?? 0
    try select.forEachRow { row in
      let record = try record(row)
      // SQLite trusts the order of a table. In a damaged one, a page could begin anew, and a caller
      // that asks for page after page would never reach the end.
      guard record.id.rawValue > last else {
        throw DatabaseError(
          .corrupt, message: "its jobs are not in the order of their numbers", path: connection.path)
      }
      last = record.id.rawValue
      records.append(record)
    }
    return records
  }

  func records(uniqueKey: String, kind: String) throws -> [JobRecord] {
    guard let kind = try knownKindID(kind) else { return [] }
    let select = try kept(
      "unique",
      "SELECT \(recordColumns) FROM durable_jobs WHERE unique_key = ?1 AND lane >> 2 = ?2 ORDER BY id")
    try select.bind(uniqueKey, at: 1)
    select.bind(kind, at: 2)
    var records: [JobRecord] = []
    try select.forEachRow { records.append(try record($0)) }
    return records
  }

  func counts(registered: [String]) throws -> JobCounts {
    let states = try countsByKind()
    var kinds: [JobCounts.StoredKind] = []
    try statement(Schema.kinds(in: version)).forEachRow { row in
      let limit = row.optionalInteger(3).map { Int(clamping: $0) }
      kinds.append((row.text(1) ?? "", row.integer(2) != 0, limit, states[row.integer(0)] ?? [:]))
    }
    return JobCounts(kinds, registered: registered)
  }

  /// Nil if no job can match.
  func condition(_ filter: JobFilter) throws -> SQL? { try filter.condition(numberOfKind: knownKindID) }

  private func record(_ row: Statement) throws -> JobRecord {
    let lane = row.integer(1)
    func date(_ column: Int32) -> Date? { row.optionalInteger(column).map { Date(milliseconds: $0) } }
    return JobRecord(
      id: JobID(rawValue: row.integer(0)), kind: try kindName(JobLane.kind(of: lane)),
      state: row.state(2) ?? .dead,
      priority: JobPriority(major: Int(clamping: row.integer(3)), minor: Int(clamping: row.integer(4))),
      attempts: Int(clamping: row.integer(5)),
      maxAttempts: row.optionalInteger(6).map { Int(clamping: $0) }, crashes: Int(clamping: row.integer(7)),
      lapses: Int(clamping: row.integer(21)), lastError: row.text(8),
      failures: row.flags(16).contains(.hasErrors) ? try errors(of: JobID(rawValue: row.integer(0))) : [],
      enqueuedAt: Date(milliseconds: row.integer(9)), runAt: date(10), startedAt: date(11), finishedAt: date(12),
      requiresNetwork: lane & JobLane.Bit.network.rawValue != 0,
      timeout: row.optionalInteger(13).map { .milliseconds($0) }, uniqueKey: row.text(14),
      unmetPrerequisites: Int(clamping: row.integer(15)), prerequisites: Self.numbers(row.text(19)),
      isCancelRequested: row.flags(16).contains(.isCancelRequested),
      holdsAfterLastAttempt: row.flags(16).contains(.holdsAfterLastAttempt),
      checkpointSize: row.optionalInteger(20).map { Int(clamping: $0) }, version: Int(clamping: row.integer(17)),
      payload: row.data(18) ?? Data())
  }

  private static func numbers(_ list: String?) -> [JobID] {
    (list ?? "").split(separator: ",").compactMap { Int64($0).map(JobID.init) }.sorted()
  }
}
