import Foundation

/// What has become of a prerequisite.
enum PrerequisiteEnd {
  case done
  /// Dead or cancelled: it may be retried.
  case failed
  case deleted
}

extension JobStore {
  /// Lets the dependents of a job go on, or fail, and theirs in turn.
  func tellDependents(of id: JobID, how end: PrerequisiteEnd, now: Int64) throws {
    var ended = [(id, end)]
    while let (id, end) = ended.popLast() {
      switch end {
      case .done: try releaseDependents(of: id, all: true, now: now)
      case .failed, .deleted:
        try releaseDependents(of: id, all: false, now: now)
        ended += try failDependents(of: id, isDeleted: end == .deleted, now: now).map { ($0, .failed) }
      }
    }
  }

  /// Those who wait for this one wait for one less: all of them, or those who run whatever has become of it.
  private func releaseDependents(of id: JobID, all: Bool, now: Int64) throws {
    let update = try statement(
      """
      UPDATE durable_jobs SET blockers = blockers - 1,
        state = CASE WHEN state <> 2 OR blockers > 1 THEN state WHEN run_at > ?2 THEN 1 ELSE 0 END
      WHERE id IN (SELECT dependent FROM durable_dependencies WHERE prerequisite = ?1 AND (?3 OR failing = 3))
      RETURNING id
      """)
    update.bind(id.rawValue, at: 1)
    update.bind(now, at: 2)
    update.bind(all ? 1 : 0, at: 3)
    var released: [Int64] = []
    try update.forEachRow { released.append($0.integer(0)) }
    if !released.isEmpty { hasFreedJobs = true }
    let delete = try statement("DELETE FROM durable_dependencies WHERE prerequisite = ?1 AND dependent = ?2")
    for dependent in released {
      delete.bind(id.rawValue, at: 1)
      delete.bind(dependent, at: 2)
      try delete.run()
    }
  }

  /// Those who wait for this one, and are to be cancelled or dead with it. Returns them.
  private func failDependents(of id: JobID, isDeleted: Bool, now: Int64) throws -> [JobID] {
    let update = try statement(
      """
      UPDATE durable_jobs SET finished_at = ?2, error = ?3, state = CASE d.failing WHEN 2 THEN 6 ELSE 5 END
      FROM durable_dependencies AS d
      WHERE d.prerequisite = ?1 AND d.dependent = durable_jobs.id AND state IN (2, 4) AND (d.failing IN (1, 2) OR ?4)
      RETURNING durable_jobs.id, lane, state
      """)
    update.bind(id.rawValue, at: 1)
    update.bind(now, at: 2)
    try update.bind(JobError(.prerequisiteFailed(id)).description, at: 3)
    update.bind(isDeleted ? 1 : 0, at: 4)
    var failed: [JobID] = []
    try update.forEachRow { row in
      let dependent = JobID(rawValue: row.integer(0))
      failed.append(dependent)
      let kind = try kindName(Schema.kind(ofLane: row.integer(1)))
      let error = JobError(.prerequisiteFailed(id), id: dependent, kind: kind)
      tell(row.integer(2) == 6 ? .dead(dependent, kind: kind, error: error) : .cancelled(dependent, kind: kind))
    }
    // What was deleted will never be done: nobody waits for it any more.
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

  /// Those who wait for a job that was replaced while it executed wait for the one that has its place.
  func handDependentsOn(from id: JobID) throws {
    guard let heir = try heir(of: id) else { return }
    try connection.execute(
      "UPDATE OR IGNORE durable_dependencies SET prerequisite = ?1 WHERE prerequisite = ?2 AND dependent <> ?1",
      [.integer(heir.rawValue), .integer(id.rawValue)])
    try connection.execute("UPDATE durable_jobs SET flags = flags | 1 WHERE id = ?", [.integer(heir.rawValue)])
  }

  func removeCheckpoint(of id: JobID) throws {
    let delete = try statement("DELETE FROM durable_checkpoints WHERE job = ?1")
    delete.bind(id.rawValue, at: 1)
    try delete.run()
  }
}
