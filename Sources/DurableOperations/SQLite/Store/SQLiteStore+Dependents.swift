import Foundation

extension SQLiteStore {
  /// Lets the dependents of a job go on, or fail, and theirs in turn; only one of its own, if
  /// given. Returns those that have failed.
  @discardableResult
  func tellDependents(
    of id: JobID, how end: PrerequisiteEnd, only dependent: JobID? = nil
  ) throws -> [JobID] {
    var ended = [(id, end, dependent)]
    var allFailed: [JobID] = []
    while let (id, end, dependent) = ended.popLast() {
      switch end {
      case .done: try releaseDependents(of: id, only: dependent, all: true)
      case .failed, .deleted:
        try releaseDependents(of: id, only: dependent, all: false)
        let failed = try failDependents(of: id, only: dependent, isDeleted: end == .deleted)
        ended += failed.map { ($0, .failed, nil) }
        allFailed += failed
      }
    }
    return allFailed
  }

  /// Of the selected dependents, all, or those that run whatever the end of their prerequisite.
  private static let isReleased: SQL =
    "prerequisite = ?1 AND dependent BETWEEN ?2 AND ?3 AND (?4 OR failing = \(failing: .run))"

  /// Lets dependents wait for one prerequisite less: all of them, or those that run whatever its
  /// end. One that waits for no other is due from now on, or at its own time if that is later.
  private func releaseDependents(of id: JobID, only dependent: JobID?, all: Bool) throws {
    let select = try statement(
      """
      SELECT lane, state = \(.blocked) AND blockers <= 1,
        CASE WHEN run_at > ?5 THEN \(.scheduled) ELSE \(.waiting) END
      FROM durable_jobs
      WHERE id IN (SELECT dependent FROM durable_dependencies WHERE \(Self.isReleased))
      """)
    bind(id, only: dependent, to: select)
    select.bind(all ? 1 : 0, at: 4)
    select.bind(now, at: 5)
    var isAny = false
    try select.forEachRow { row in
      isAny = true
      guard row.integer(1) != 0 else { return }
      deltas.move(ofKind: JobLane.kind(of: row.integer(0)), from: JobState.blocked.number, to: row.integer(2))
    }
    guard isAny else { return }
    let update = try statement(
      """
      UPDATE durable_jobs SET blockers = blockers - 1,
        state = CASE WHEN state <> \(.blocked) OR blockers > 1 THEN state
          WHEN run_at > ?5 THEN \(.scheduled) ELSE \(.waiting) END,
        run_at = CASE WHEN state <> \(.blocked) OR blockers > 1 THEN run_at ELSE max(coalesce(run_at, ?5), ?5) END
      WHERE id IN (SELECT dependent FROM durable_dependencies WHERE \(Self.isReleased))
      """)
    bind(id, only: dependent, to: update)
    update.bind(all ? 1 : 0, at: 4)
    update.bind(now, at: 5)
    try update.run()
    hasFreedJobs = true
    let delete = try statement(
      "DELETE FROM durable_dependencies WHERE \(Self.isReleased)")
    bind(id, only: dependent, to: delete)
    delete.bind(all ? 1 : 0, at: 4)
    try delete.run()
  }

  /// Binds parameters 1 to 3: a prerequisite, and the first and the last dependent in question.
  private func bind(_ id: JobID, only dependent: JobID?, to statement: Statement) {
    statement.bind(id.rawValue, at: 1)
    statement.bind(dependent?.rawValue ?? .min, at: 2)
    statement.bind(dependent?.rawValue ?? .max, at: 3)
  }

  /// Cancels or kills the dependents that fail with their prerequisite. Returns them.
  private func failDependents(of id: JobID, only dependent: JobID?, isDeleted: Bool) throws -> [JobID] {
    let states = try statesOfDependents(thatFailWith: id, only: dependent, isDeleted: isDeleted)
    let failed = states.isEmpty ? [] : try fail(states, with: id, only: dependent, isDeleted: isDeleted)
    // A deleted job will never be done: no job waits for it any longer.
    if isDeleted {
      let unblock = try statement(
        """
        UPDATE durable_jobs SET blockers = blockers - 1
        WHERE id IN (SELECT dependent FROM durable_dependencies WHERE prerequisite = ?1)
        """)
      unblock.bind(id.rawValue, at: 1)
      try unblock.run()
      let delete = try statement("DELETE FROM durable_dependencies WHERE prerequisite = ?1")
      delete.bind(id.rawValue, at: 1)
      try delete.run()
    }
    return failed
  }

  private func statesOfDependents(
    thatFailWith id: JobID, only dependent: JobID?, isDeleted: Bool
  ) throws -> [JobID: Int64] {
    let select = try statement(
      """
      SELECT durable_jobs.id, state FROM durable_dependencies AS d JOIN durable_jobs ON durable_jobs.id = d.dependent
      WHERE d.prerequisite = ?1 AND d.dependent BETWEEN ?2 AND ?3
        AND state IN (\(.blocked, .held)) AND (d.failing IN (\(failing: .cancel, .die)) OR ?4)
      """)
    bind(id, only: dependent, to: select)
    select.bind(isDeleted ? 1 : 0, at: 4)
    var states: [JobID: Int64] = [:]
    try select.forEachRow { states[JobID(rawValue: $0.integer(0))] = $0.integer(1) }
    return states
  }

  private func fail(
    _ states: [JobID: Int64], with id: JobID, only dependent: JobID?, isDeleted: Bool
  ) throws -> [JobID] {
    let update = try statement(
      """
      UPDATE durable_jobs SET finished_at = ?5, error = ?6,
        state = CASE d.failing WHEN \(failing: .die) THEN \(.dead) ELSE \(.cancelled) END
      FROM durable_dependencies AS d
      WHERE d.prerequisite = ?1 AND d.dependent BETWEEN ?2 AND ?3 AND d.dependent = durable_jobs.id
        AND state IN (\(.blocked, .held)) AND (d.failing IN (\(failing: .cancel, .die)) OR ?4)
      RETURNING durable_jobs.id, lane, state
      """)
    bind(id, only: dependent, to: update)
    update.bind(isDeleted ? 1 : 0, at: 4)
    update.bind(now, at: 5)
    try update.bind(JobError(.prerequisiteFailed(id)).description, at: 6)
    var failed: [JobID] = []
    try update.forEachRow { row in
      let dependent = JobID(rawValue: row.integer(0))
      failed.append(dependent)
      let number = JobLane.kind(of: row.integer(1))
      deltas.move(ofKind: number, from: states[dependent] ?? JobState.blocked.number, to: row.integer(2))
      let kind = try kindName(number)
      let error = JobError(.prerequisiteFailed(id), id: dependent, kind: kind)
      if row.integer(2) == JobState.dead.number {
        tellDead(dependent, kind: kind, error: error)
      } else {
        tell(.cancelled(dependent, kind: kind))
      }
    }
    return failed
  }

  /// Dependents of a job that was replaced while it executed wait for the one in its place.
  func handDependentsOn(from id: JobID) throws {
    guard let heir = try heir(of: id) else { return }
    try connection.execute(
      "UPDATE OR IGNORE durable_dependencies SET prerequisite = ?1 WHERE prerequisite = ?2 AND dependent <> ?1",
      [.integer(heir.rawValue), .integer(id.rawValue)])
    // Those that wait for both are left.
    try connection.execute(
      """
      UPDATE durable_jobs SET blockers = blockers - 1
      WHERE id IN (SELECT dependent FROM durable_dependencies WHERE prerequisite = ?2 AND dependent <> ?1)
      """, [.integer(heir.rawValue), .integer(id.rawValue)])
    try connection.execute(
      "DELETE FROM durable_dependencies WHERE prerequisite = ?2 AND dependent <> ?1",
      [.integer(heir.rawValue), .integer(id.rawValue)])
    let mark = try statement("UPDATE durable_jobs SET flags = flags | \(flags: .hasDependents) WHERE id = ?1")
    mark.bind(heir.rawValue, at: 1)
    try mark.run()
  }

  func removeCheckpoint(of id: JobID) throws {
    let delete = try statement("DELETE FROM durable_checkpoints WHERE job = ?1")
    delete.bind(id.rawValue, at: 1)
    try delete.run()
  }
}
