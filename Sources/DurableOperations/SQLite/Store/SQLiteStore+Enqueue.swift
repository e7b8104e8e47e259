import CompositeOperations
import Foundation

extension SQLiteStore {
  /// Stores jobs, all of them or none.
  func enqueue(_ jobs: [JobRequest]) throws -> [JobID] {
    try JobRequest.refuseCircles(jobs)
    var ids: [JobID] = []
    ids.reserveCapacity(jobs.count)
    // Most are of one kind.
    var kind: (name: String, id: Int64)?
    let insert = try insertion()
    for job in jobs {
      if kind.map({ KindName($0.name) != KindName(job.kind) }) ?? true { kind = (job.kind, try kindID(job.kind)) }
      ids.append(try enqueue(job, kind: kind?.id ?? 0, by: insert, after: ids))
    }
    // A prerequisite may come later in the call than its dependent.
    for position in JobRequest.positions(ofDependents: jobs, storedAs: ids) {
      let numbers = jobs[position].options.dependsOn.map { $0.position.map { ids[$0] } ?? $0 }
      try block(ids[position], by: numbers, of: jobs[position])
    }
    return ids
  }

  /// Stores one job, without its prerequisites. `earlier`: the jobs of the same call that are
  /// stored already.
  private func enqueue(
    _ job: JobRequest, kind: Int64, by insert: Statement, after earlier: [JobID]
  ) throws -> JobID {
    var running: JobID?
    if let key = job.options.uniqueKey {
      switch try holder(of: key, kind: kind) {
      case nil: break
      case (let id, let state)?:
        switch key.conflict.value {
        case .reject:
          // A number that was never given would name nothing.
          let position = earlier.firstIndex(of: id)
          throw JobError(.duplicate(position.map { .inSameCall($0) } ?? id), kind: job.kind)
        case .replace where state == .executing: running = id
        case .replace:
          try replace(id, in: state, by: job, kind: kind)
          tell(.enqueued(id, kind: job.kind))
          return id
        }
      }
    }
    let state = try bind(job, kind: kind, to: insert)
    try insert.run()
    deltas.add(1, kind: kind, state: state.number)
    let id = JobID(rawValue: connection.lastInsertedRowID)
    tell(.enqueued(id, kind: job.kind))
    // Whatever the end of the executing job, this one comes after it.
    if let running {
      try addPrerequisites([running], to: id, whenFailed: .run)
      let mark = try statement("UPDATE durable_jobs SET flags = flags | \(flags: .isReplaced) WHERE id = ?1")
      mark.bind(running.rawValue, at: 1)
      try mark.run()
    }
    return id
  }

  private func insertion() throws -> Statement {
    try statement(
      """
      INSERT INTO durable_jobs (lane, state, major, minor, flags, blockers, max_attempts, timeout, run_at, enqueued_at,
        version, backoff, unique_key, payload, occurrence)
      VALUES (?1, ?2, ?3, ?4, ?5, 0, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
      """)
  }

  /// Binds parameters 1 to 14, for a new row, and for a row whose job is replaced. Returns the
  /// state.
  @discardableResult
  private func bind(_ job: JobRequest, kind: Int64, to statement: Statement) throws -> JobState {
    let options = job.options
    let runAt: Int64? =
      switch options.start {
      case .atOnce: nil
      case .after(let delay) where delay <= .zero: nil
      case .after(let delay): now + delay.milliseconds
      case .at(let date): date.milliseconds
      }
    let state: JobState = options.startsHeld ? .held : runAt ?? now > now ? .scheduled : .waiting
    var flags: JobFlags = options.holdsAfterLastAttempt ? .holdsAfterLastAttempt : []
    if case .after = options.start { flags.insert(.runsAfterDelay) }
    statement.bind(JobLane.number(ofKind: kind) | (options.requiresNetwork ? JobLane.Bit.network.rawValue : 0), at: 1)
    statement.bind(state.rawValue, at: 2)
    statement.bind(options.priority.major, at: 3)
    statement.bind(options.priority.minor, at: 4)
    statement.bind(flags.rawValue, at: 5)
    statement.bind(options.maxAttempts.map(Int64.init), at: 6)
    statement.bind(options.timeout?.milliseconds, at: 7)
    statement.bind(runAt, at: 8)
    statement.bind(now, at: 9)
    statement.bind(job.version, at: 10)
    try statement.bind(options.backoff?.storedForm, at: 11)
    try statement.bind(options.uniqueKey?.value, at: 12)
    try statement.bind(job.payload, at: 13)
    statement.bind(job.occurrence, at: 14)
    return state
  }

  // MARK: - Unique keys

  /// The last job of a kind whose key counts; an executing one only if there is no other. An ended
  /// one is replaced only if there is neither: otherwise two jobs could run at once.
  private func holder(of key: UniqueKey, kind: Int64) throws -> (JobID, JobState)? {
    // From state to state, the last job of each: there may be many more.
    let select = try statement(
      """
      SELECT id, state FROM durable_jobs WHERE unique_key = ?1 AND lane >> 2 = ?2 AND state < ?3
      ORDER BY state DESC, id DESC LIMIT 1
      """)
    try select.bind(key.value, at: 1)
    select.bind(kind, at: 2)
    select.bind(Int64.max, at: 3)
    var found: (id: JobID, state: JobState)?, running: (JobID, JobState)?, ended: (id: JobID, state: JobState)?
    while let (id, number) = try select.first({ (JobID(rawValue: $0.integer(0)), $0.integer(1)) }) {
      select.bind(number, at: 3)
      guard let state = JobState(rawValue: Int(clamping: number)), key.states.contains(state) else { continue }
      if state == .executing {
        running = (id, state)
      } else if key.conflict == .replace, state.isSettled {
        if ended.map({ $0.id < id }) ?? true { ended = (id, state) }
      } else if found.map({ $0.id < id }) ?? true {
        found = (id, state)
      }
    }
    return found ?? running ?? ended
  }

  private func replace(_ id: JobID, in state: JobState, by job: JobRequest, kind: Int64) throws {
    // It waits for the new job's prerequisites, and for one in whose place it comes, which executes
    // or is to run again.
    let forget = try statement(
      """
      DELETE FROM durable_dependencies WHERE dependent = ?1 AND prerequisite NOT IN (
        SELECT id FROM durable_jobs WHERE unique_key = ?2 AND lane >> 2 = ?3 AND (state = \(.executing)
          OR flags & \(flags: .isReplaced) AND state IN (\(.waiting, .scheduled, .blocked, .held))))
      """)
    forget.bind(id.rawValue, at: 1)
    try forget.bind(job.options.uniqueKey?.value, at: 2)
    forget.bind(kind, at: 3)
    try forget.run()
    let count = try statement(
      "UPDATE durable_jobs SET blockers = (SELECT count(*) FROM durable_dependencies WHERE dependent = ?1) WHERE id = ?1"
    )
    count.bind(id.rawValue, at: 1)
    try count.run()
    let update = try statement(
      """
      UPDATE durable_jobs SET lane = ?1, state = CASE WHEN blockers > 0 AND ?2 <> \(.held) THEN \(.blocked) ELSE ?2 END, major = ?3,
        minor = ?4, flags = ?5 | (flags & \(flags: .hasDependents)), max_attempts = ?6, timeout = ?7, run_at = ?8, enqueued_at = ?9,
        version = ?10, backoff = ?11, unique_key = ?12, payload = ?13, occurrence = ?14, attempts = 0, crashes = 0, error = NULL,
        lapses = 0, revision = revision + 1, started_at = NULL, finished_at = NULL
      WHERE id = ?15 RETURNING state
      """)
    try bind(job, kind: kind, to: update)
    update.bind(id.rawValue, at: 15)
    try update.forEachRow { deltas.move(ofKind: kind, from: state.number, to: $0.integer(0)) }
    try removeCheckpoint(of: id)
    try removeErrors(of: id)
  }

  // MARK: - Prerequisites

  private func block(_ id: JobID, by prerequisites: [JobID], of job: JobRequest) throws {
    let select = try statement("SELECT state FROM durable_jobs WHERE id = ?1")
    var unmet: [JobID] = []
    for prerequisite in Set(prerequisites).sorted() {
      if prerequisite == id { throw JobError(.circularPrerequisite(id), kind: job.kind) }
      select.bind(prerequisite.rawValue, at: 1)
      guard let state = try select.first({ $0.state(0) }), let state
      else { throw JobError(.unknownPrerequisite(prerequisite), kind: job.kind) }
      if state != .done { unmet.append(prerequisite) }
    }
    // A new job has no dependents; a replacing one has those of the other, and must not wait for
    // them.
    for prerequisite in unmet where try isWaiting(prerequisite, for: id) {
      throw JobError(.circularPrerequisite(prerequisite), kind: job.kind)
    }
    try addPrerequisites(unmet, to: id, whenFailed: job.options.whenPrerequisiteFails)
    // A prerequisite may have failed long ago.
    for prerequisite in unmet {
      select.bind(prerequisite.rawValue, at: 1)
      let state = try select.first { $0.state(0) } ?? nil
      if state == .dead || state == .cancelled {
        try tellDependents(of: prerequisite, how: .failed, only: id)
      }
    }
  }

  /// Whether a job waits for another, directly or through others, or will: dependents of one that
  /// was replaced while it executed may have to wait for the one in its place. That one itself may
  /// wait for the one that it replaces.
  private func isWaiting(_ id: JobID, for other: JobID) throws -> Bool {
    let mayHaveDependents = try statement(
      "SELECT 1 FROM durable_jobs WHERE id = ?1 AND (flags & \(flags: .hasDependents) OR unique_key IS NOT NULL)")
    mayHaveDependents.bind(other.rawValue, at: 1)
    guard try mayHaveDependents.first({ _ in true }) == true else { return false }
    let select = try statement(
      """
      WITH RECURSIVE later (id) AS (
        VALUES (?2)
        UNION SELECT dependent FROM later JOIN durable_dependencies ON prerequisite = later.id
        UNION SELECT replaced.id FROM later CROSS JOIN durable_jobs AS job ON job.id = later.id
          CROSS JOIN durable_jobs AS replaced ON \(Self.isInPlace))
      SELECT 1 FROM later WHERE id = ?1 AND NOT EXISTS (
        SELECT 1 FROM durable_jobs AS job CROSS JOIN durable_jobs AS replaced ON \(Self.isInPlace)
        WHERE job.id = ?2 AND replaced.id = ?1)
      """)
    select.bind(id.rawValue, at: 1)
    select.bind(other.rawValue, at: 2)
    return try select.first { _ in true } ?? false
  }

  /// Whether `job` is in the place of `replaced`, which executes, or is to run again.
  private static let isInPlace: SQL = {
    let unsettled: SQL = "IN (\(.waiting, .scheduled, .blocked, .executing, .held))"
    return """
      replaced.unique_key = job.unique_key AND replaced.lane >> 2 = job.lane >> 2 AND replaced.id <> job.id
        AND replaced.state \(unsettled) AND replaced.flags & \(flags: .isReplaced) AND job.state \(unsettled)
      """
  }()

  private func addPrerequisites(
    _ prerequisites: [JobID], to id: JobID, whenFailed failing: PrerequisiteFailure
  ) throws {
    guard !prerequisites.isEmpty else { return }
    let insert = try statement(
      "INSERT OR IGNORE INTO durable_dependencies (prerequisite, dependent, failing) VALUES (?1, ?2, ?3)")
    // It may already wait for an executing job that it replaces.
    let change = try statement(
      "UPDATE durable_dependencies SET failing = ?3 WHERE prerequisite = ?1 AND dependent = ?2 AND failing <> ?3")
    let mark = try statement("UPDATE durable_jobs SET flags = flags | \(flags: .hasDependents) WHERE id = ?1")
    var added: Int64 = 0
    for prerequisite in prerequisites {
      insert.bind(prerequisite.rawValue, at: 1)
      insert.bind(id.rawValue, at: 2)
      insert.bind(failing.rawValue, at: 3)
      try insert.run()
      let isNew = connection.changeCount == 1
      added += isNew ? 1 : 0
      if !isNew {
        change.bind(prerequisite.rawValue, at: 1)
        change.bind(id.rawValue, at: 2)
        change.bind(failing.rawValue, at: 3)
        try change.run()
      }
      mark.bind(prerequisite.rawValue, at: 1)
      try mark.run()
    }
    let count = try statement(
      """
      UPDATE durable_jobs SET blockers = blockers + ?2,
        state = CASE WHEN state IN (\(.waiting, .scheduled)) THEN \(.blocked) ELSE state END
      WHERE id = ?1
      """
    )
    count.bind(id.rawValue, at: 1)
    count.bind(added, at: 2)
    try countingChange(of: id) { try count.run() }
  }
}
