import Foundation

extension SQLiteStore {
  /// Writes the end of an attempt. Returns false if the job was given to another process in
  /// between.
  @discardableResult
  func acknowledge(_ acknowledgement: Acknowledgement, keepsDone: Bool) throws -> Bool {
    let id = acknowledgement.id
    let written: (state: JobState, flags: JobFlags)?
    switch acknowledgement.result {
    case .done:
      guard let flags = try acknowledgeDone(acknowledgement, keeps: keepsDone) else {
        if !acknowledgement.isGivenBack { tell(.leaseLost(id, kind: acknowledgement.kind)) }
        return false
      }
      tell(acknowledgement.event)
      if flags.contains(.hasCheckpoint) { try removeCheckpoint(of: id) }
      if flags.contains(.hasErrors), !keepsDone { try removeErrors(of: id) }
      if flags.contains(.hasDependents) { try tellDependents(of: id, how: .done) }
      return true
    case .again(let delay, let isCharged, let error):
      // Without a delay there is no time: otherwise the job would stay behind if the clock was set
      // back.
      let later = delay > .zero ? now + delay.milliseconds : nil
      written = try acknowledge(
        acknowledgement, later == nil ? .waiting : .scheduled, runAt: later, attempts: isCharged ? 1 : 0, error: error,
        isFurtherAttempt: true, endsIfReplaced: true)
    case .postponed(let delay, let error):
      written = try acknowledge(
        acknowledgement, .scheduled, runAt: now + delay.milliseconds, error: error, isErrorKept: false, keepsLane: true,
        endsIfReplaced: true)
    case .returned:
      written = try acknowledge(acknowledgement, .waiting, keepsLane: true)
    case .dead(let error):
      written = try acknowledge(
        acknowledgement, .dead, attempts: 1, error: error, endsIfReplaced: true)
    case .held(let error):
      written = try acknowledge(
        acknowledgement, .held, attempts: 1, error: error, endsIfReplaced: true)
    case .cancelled(let error):
      written = try acknowledge(acknowledgement, .cancelled, error: error)
    }
    guard let written else {
      if !acknowledgement.isGivenBack { tell(.leaseLost(id, kind: acknowledgement.kind)) }
      return false
    }
    // The job may have been asked to end.
    switch (written.state, acknowledgement.event) {
    case (.cancelled, _): tell(.cancelled(id, kind: acknowledgement.kind))
    case (_, .dead(_, let kind, let error)): tellDead(id, kind: kind, error: error)
    case (_, let event): tell(event)
    }
    if written.state == .waiting { hasFreedJobs = true }
    if written.state == .cancelled, written.flags.contains(.isReplaced) { try handDependentsOn(from: id) }
    if written.flags.contains(.hasDependents), written.state.isSettled {
      try tellDependents(of: id, how: .failed)
    }
    return true
  }

  /// Returns the job's flags; nil if the claim is not the last one.
  private func acknowledgeDone(_ acknowledgement: Acknowledgement, keeps: Bool) throws -> JobFlags? {
    let statement =
      keeps
      ? try statement(
        """
        UPDATE durable_jobs SET state = \(.done), worker = NULL, attempts = attempts + 1, finished_at = ?3, error = NULL,
          run_at = NULL, flags = flags & ~\(flags: .isCancelRequested, .isAbandoned)
        WHERE id = ?1 AND claim = ?2 AND state = \(.executing) RETURNING flags, lane
        """)
      : try statement(
        "DELETE FROM durable_jobs WHERE id = ?1 AND claim = ?2 AND state = \(.executing) RETURNING flags, lane")
    statement.bind(acknowledgement.id.rawValue, at: 1)
    statement.bind(acknowledgement.claim, at: 2)
    if keeps { statement.bind(now, at: 3) }
    var flags: JobFlags?
    try statement.forEachRow { row in
      flags = row.flags(0)
      let kind = JobLane.kind(of: row.integer(1))
      deltas.add(-1, kind: kind, state: JobState.executing.number)
      if keeps { deltas.add(1, kind: kind, state: JobState.done.number) }
    }
    return flags
  }

  /// A job with a cancel request is cancelled unless it has succeeded; a replaced job is not tried
  /// again.
  private static let isCancelled: SQL =
    "flags & \(flags: .isCancelRequested) OR flags & \(flags: .isReplaced) AND ?10"

  private func acknowledge(
    _ acknowledgement: Acknowledgement, _ state: JobState, runAt: Int64? = nil, attempts: Int64 = 0,
    error: String? = nil, isErrorKept: Bool = true, keepsLane: Bool = false, isFurtherAttempt: Bool = false,
    endsIfReplaced: Bool = false
  ) throws -> (JobState, flags: JobFlags)? {
    if let error, isErrorKept { try noteError(error, of: acknowledgement) }
    let update = try statement(
      """
      UPDATE durable_jobs SET state = CASE WHEN \(Self.isCancelled) THEN \(.cancelled) ELSE ?3 END, worker = NULL,
        lane = CASE WHEN ?6 THEN lane ELSE lane & ~\(lane: .alone) END,
        run_at = CASE WHEN \(Self.isCancelled) THEN NULL ELSE ?4 END,
        flags = flags & ~\(flags: .isCancelRequested, .isAbandoned) | \(flags: .runsAfterDelay),
        attempts = attempts + ?5, crashes = CASE WHEN ?9 THEN 0 ELSE crashes END,
        lapses = CASE WHEN ?9 THEN 0 ELSE lapses END, error = coalesce(?7, error),
        finished_at = CASE WHEN \(Self.isCancelled) OR ?3 IN (\(.cancelled, .dead)) THEN ?8 END
      WHERE id = ?1 AND claim = ?2 AND state = \(.executing) RETURNING state, flags, lane
      """)
    update.bind(acknowledgement.id.rawValue, at: 1)
    update.bind(acknowledgement.claim, at: 2)
    update.bind(state.rawValue, at: 3)
    update.bind(runAt, at: 4)
    update.bind(attempts, at: 5)
    update.bind(keepsLane ? 1 : 0, at: 6)
    try update.bind(error, at: 7)
    update.bind(now, at: 8)
    update.bind(isFurtherAttempt ? 1 : 0, at: 9)
    update.bind(endsIfReplaced ? 1 : 0, at: 10)
    var written: (JobState, flags: JobFlags)?
    try update.forEachRow { row in
      deltas.move(ofKind: JobLane.kind(of: row.integer(2)), from: JobState.executing.number, to: row.integer(0))
      written = (row.state(0) ?? state, row.flags(1))
    }
    return written
  }

  /// How many errors of a job are kept.
  private static let keptErrors = 20

  private func noteError(_ error: String, of acknowledgement: Acknowledgement) throws {
    guard try isCurrent(acknowledgement.id, claim: acknowledgement.claim) else { return }
    let insert = try statement("INSERT INTO durable_errors (job, at, attempt, error) VALUES (?1, ?2, ?3, ?4)")
    insert.bind(acknowledgement.id.rawValue, at: 1)
    insert.bind(now, at: 2)
    insert.bind(acknowledgement.attempt, at: 3)
    try insert.bind(error, at: 4)
    try insert.run()
    let mark = try statement(
      "UPDATE durable_jobs SET flags = flags | \(flags: .hasErrors) WHERE id = ?1 AND flags & \(flags: .hasErrors) = 0")
    mark.bind(acknowledgement.id.rawValue, at: 1)
    try mark.run()
    let forget = try statement(
      """
      DELETE FROM durable_errors WHERE job = ?1 AND number <= (
        SELECT number FROM durable_errors WHERE job = ?1 ORDER BY number DESC LIMIT 1 OFFSET ?2)
      """)
    forget.bind(acknowledgement.id.rawValue, at: 1)
    forget.bind(Self.keptErrors, at: 2)
    try forget.run()
  }

  func removeErrors(of id: JobID) throws {
    let delete = try statement("DELETE FROM durable_errors WHERE job = ?1")
    delete.bind(id.rawValue, at: 1)
    try delete.run()
  }

  /// The errors of a job's failed attempts, oldest first. Only reads.
  func errors(of id: JobID) throws -> [JobRecord.Failure] {
    let select = try statement("SELECT attempt, at, error FROM durable_errors WHERE job = ?1 ORDER BY number")
    select.bind(id.rawValue, at: 1)
    var errors: [JobRecord.Failure] = []
    try select.forEachRow { row in
      errors.append(
        JobRecord.Failure(
          attempt: Int(clamping: row.integer(0)), failedAt: Date(milliseconds: row.integer(1)), error: row.text(2) ?? ""
        ))
    }
    return errors
  }

  // MARK: - While it runs

  /// Notes that a process no longer waits for an attempt: if the process ends now, that does not
  /// count against the job.
  func noteAbandoned(_ id: JobID, claim: Int64) throws {
    let update = try statement(
      "UPDATE durable_jobs SET flags = flags | \(flags: .isAbandoned) WHERE id = ?1 AND claim = ?2 AND state = \(.executing)"
    )
    update.bind(id.rawValue, at: 1)
    update.bind(claim, at: 2)
    try update.run()
  }

  /// Forgets that attempts of a worker were abandoned: the queue runs again, and with it all of
  /// them.
  func forgetAbandoned(by worker: Int64) throws {
    let update = try statement(
      """
      UPDATE durable_jobs SET flags = flags & ~\(flags: .isAbandoned)
      WHERE state = \(.executing) AND worker = ?1 AND flags & \(flags: .isAbandoned)
      """
    )
    update.bind(worker, at: 1)
    try transaction { try update.run() }
  }

  /// Whether an attempt is still the last one of its job. Only reads.
  func isCurrent(_ id: JobID, claim: Int64) throws -> Bool {
    let select = try statement("SELECT 1 FROM durable_jobs WHERE id = ?1 AND claim = ?2 AND state = \(.executing)")
    select.bind(id.rawValue, at: 1)
    select.bind(claim, at: 2)
    return try select.first { _ in true } ?? false
  }

  /// Stores a checkpoint of an attempt. Returns false if the claim is not the last one.
  func setCheckpoint(_ data: Data?, of id: JobID, claim: Int64) throws -> Bool {
    guard try isCurrent(id, claim: claim) else { return false }
    guard let data else {
      try removeCheckpoint(of: id)
      return true
    }
    let insert = try statement("INSERT OR REPLACE INTO durable_checkpoints (job, data) VALUES (?1, ?2)")
    insert.bind(id.rawValue, at: 1)
    try insert.bind(data, at: 2)
    try insert.run()
    let mark = try statement(
      "UPDATE durable_jobs SET flags = flags | \(flags: .hasCheckpoint) WHERE id = ?1 AND flags & \(flags: .hasCheckpoint) = 0"
    )
    mark.bind(id.rawValue, at: 1)
    try mark.run()
    return true
  }

  func checkpoint(of id: JobID) throws -> Data? {
    let select = try statement("SELECT data FROM durable_checkpoints WHERE job = ?1")
    select.bind(id.rawValue, at: 1)
    return try select.first { $0.data(0) } ?? nil
  }
}
