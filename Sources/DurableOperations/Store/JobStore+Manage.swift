import Foundation

/// Which jobs are meant.
struct JobFilter: Sendable {
  var kind: String?
  var states: Set<JobState>?
}

extension JobStore {
  // MARK: - One job

  func state(of id: JobID) throws -> JobState? {
    let select = try statement("SELECT state FROM durable_jobs WHERE id = ?1")
    select.bind(id.rawValue, at: 1)
    return try select.first { JobState(rawValue: Int($0.integer(0))) } ?? nil
  }

  /// The state of a job that must be there.
  private func stateOrThrow(of id: JobID) throws -> JobState {
    guard let state = try state(of: id) else { throw JobError(.unknownJob, id: id) }
    return state
  }

  /// Cancels a job. Returns its state before; one that executes is asked to end, and is cancelled then.
  func cancel(_ id: JobID, now: Int64) throws -> JobState {
    let state = try stateOrThrow(of: id)
    switch state {
    case .cancelled: return state
    case .done, .dead: throw JobError(.wrongState(state), id: id)
    case .executing:
      let update = try statement("UPDATE durable_jobs SET flags = flags | 2 WHERE id = ?1")
      update.bind(id.rawValue, at: 1)
      try update.run()
    case .waiting, .scheduled, .blocked, .held:
      let update = try statement("UPDATE durable_jobs SET state = 5, finished_at = ?2 WHERE id = ?1 RETURNING lane")
      update.bind(id.rawValue, at: 1)
      update.bind(now, at: 2)
      try update.forEachRow { row in
        let kind = Schema.kind(ofLane: row.integer(0))
        deltas.move(ofKind: kind, from: Int64(state.rawValue), to: 5)
        try tell(.cancelled(id, kind: kindName(kind)))
      }
      try tellDependents(of: id, how: .failed, now: now)
    }
    return state
  }

  /// Has a job that is held, dead, cancelled or scheduled run at once, with all its attempts before it.
  func retry(_ id: JobID, now: Int64) throws {
    let state = try stateOrThrow(of: id)
    guard [.held, .dead, .cancelled, .scheduled].contains(state) else { throw JobError(.wrongState(state), id: id) }
    if state == .dead || state == .cancelled, let other = try heir(of: id) { throw JobError(.duplicate(other), id: id) }
    try makeDue(id, now: now)
  }

  /// The job that has the unique key of one that has ended.
  func heir(of id: JobID) throws -> JobID? {
    let select = try statement(
      """
      SELECT other.id FROM durable_jobs AS job JOIN durable_jobs AS other ON other.unique_key = job.unique_key
      WHERE job.id = ?1 AND other.lane >> 2 = job.lane >> 2 AND other.state IN (0, 1, 2, 3, 4) LIMIT 1
      """)
    select.bind(id.rawValue, at: 1)
    return try select.first { JobID(rawValue: $0.integer(0)) }
  }

  /// Has a job that does not execute run at once, or when what it waits for is done.
  func makeDue(_ id: JobID, now: Int64) throws {
    let update = try statement(
      """
      UPDATE durable_jobs SET state = CASE WHEN blockers > 0 THEN 2 ELSE 0 END, run_at = ?2, attempts = 0,
        crashes = 0, lapses = 0, lane = lane & ~2, flags = flags & ~34 | 8, finished_at = NULL
      WHERE id = ?1
      """)
    update.bind(id.rawValue, at: 1)
    update.bind(now, at: 2)
    try countingChange(of: id) { try update.run() }
  }

  /// Keeps a job that does not run yet from running.
  func hold(_ id: JobID) throws {
    let state = try stateOrThrow(of: id)
    guard [.waiting, .scheduled, .blocked, .held].contains(state) else { throw JobError(.wrongState(state), id: id) }
    try countingChange(of: id) {
      try connection.execute("UPDATE durable_jobs SET state = 4 WHERE id = ?", [.integer(id.rawValue)])
    }
  }

  func setPriority(_ priority: JobPriority, of id: JobID) throws {
    try connection.execute(
      "UPDATE durable_jobs SET major = ?, minor = ? WHERE id = ?",
      [SQLValue(priority.major), SQLValue(priority.minor), .integer(id.rawValue)])
    if connection.changeCount == 0 { throw JobError(.unknownJob, id: id) }
  }

  func delete(_ id: JobID, now: Int64) throws {
    let state = try stateOrThrow(of: id)
    guard state != .executing else { throw JobError(.wrongState(state), id: id) }
    try tellDependents(of: id, how: state == .done ? .done : .deleted, now: now)
    try remove(id)
  }

  /// Deletes a job that nothing waits for.
  func remove(_ id: JobID) throws {
    for delete in [
      try statement("DELETE FROM durable_dependencies WHERE dependent = ?1"),
      try statement("DELETE FROM durable_checkpoints WHERE job = ?1"),
      try statement("DELETE FROM durable_errors WHERE job = ?1"),
      try statement("DELETE FROM durable_jobs WHERE id = ?1 RETURNING lane, state"),
    ] {
      delete.bind(id.rawValue, at: 1)
      // Only the last one returns something.
      try delete.forEachRow { deltas.add(-1, kind: Schema.kind(ofLane: $0.integer(0)), state: $0.integer(1)) }
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
    let select = try connection.prepare(
      "SELECT \(recordColumns) FROM durable_jobs WHERE \(condition) AND id > ?1 ORDER BY id LIMIT ?2",
      isKept: false)
    select.bind(after?.rawValue ?? 0, at: 1)
    select.bind(limit, at: 2)
    var records: [JobRecord] = []
    var last = after?.rawValue ?? 0
    try select.forEachRow { row in
      let record = try record(row)
      // SQLite trusts the order of a table. In a damaged one a page could begin anew, and whoever asks for the next page, and the
      // next, would never come to the end.
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
    var kinds: [KindName: JobCounts.Kind] = [:]
    for name in registered {
      kinds[KindName(name)] = JobCounts.Kind(kind: name, isRegistered: true, isPaused: false, states: [:])
    }
    try statement("SELECT id, name, paused FROM durable_kinds").forEachRow { row in
      let name = row.text(1) ?? "", isPaused = row.integer(2) != 0
      let counts = states[row.integer(0)] ?? [:]
      let isRegistered = kinds[KindName(name)]?.isRegistered == true
      guard isPaused || !counts.isEmpty || isRegistered else { return }
      kinds[KindName(name)] = JobCounts.Kind(
        kind: name, isRegistered: isRegistered, isPaused: isPaused, states: counts)
    }
    return JobCounts(kinds: kinds.values.sorted { $0.kind < $1.kind })
  }

  /// Nil if no job can be meant.
  func condition(_ filter: JobFilter) throws -> String? {
    var parts = ["1"]
    if let kind = filter.kind {
      guard let number = try knownKindID(kind) else { return nil }
      parts.append("lane BETWEEN \(Schema.lane(ofKind: number)) AND \(Schema.lane(ofKind: number) + 3)")
    }
    if let states = filter.states {
      parts.append("state IN (\(states.map { String($0.rawValue) }.sorted().joined(separator: ", ")))")
    }
    return parts.joined(separator: " AND ")
  }

  private func record(_ row: Statement) throws -> JobRecord {
    let lane = row.integer(1)
    func date(_ column: Int32) -> Date? { row.optionalInteger(column).map { Date(milliseconds: $0) } }
    return JobRecord(
      id: JobID(rawValue: row.integer(0)), kind: try kindName(Schema.kind(ofLane: lane)),
      state: JobState(rawValue: Int(row.integer(2))) ?? .dead,
      priority: JobPriority(major: Int(row.integer(3)), minor: Int(row.integer(4))), attempts: Int(row.integer(5)),
      maxAttempts: row.optionalInteger(6).map(Int.init), crashes: Int(row.integer(7)),
      lapses: Int(row.integer(21)), lastError: row.text(8),
      failures: row.integer(16) & Schema.Flags.hasErrors != 0 ? try errors(of: JobID(rawValue: row.integer(0))) : [],
      enqueuedAt: Date(milliseconds: row.integer(9)), runAt: date(10), startedAt: date(11), finishedAt: date(12),
      requiresNetwork: lane & Schema.networkLane != 0,
      timeout: row.optionalInteger(13).map { .milliseconds($0) }, uniqueKey: row.text(14),
      unmetPrerequisites: Int(row.integer(15)), prerequisites: Self.numbers(row.text(19)),
      isCancelRequested: row.integer(16) & Schema.Flags.isCancelRequested != 0,
      holdsAfterLastAttempt: row.integer(16) & Schema.Flags.holdsAfterLastAttempt != 0,
      checkpointSize: row.optionalInteger(20).map(Int.init), version: Int(row.integer(17)),
      payload: row.data(18) ?? Data())
  }

  private static func numbers(_ list: String?) -> [JobID] {
    (list ?? "").split(separator: ",").compactMap { Int64($0).map(JobID.init) }.sorted()
  }
}
