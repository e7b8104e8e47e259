/// Changes to many jobs: first their numbers are read, and then some are changed at a time, in
/// transactions of their own. Jobs that another process changed in between are left as they are.
extension SQLiteStore {
  /// The matching jobs, the last one first. Only reads.
  func ids(_ filter: JobFilter) throws -> [JobID] {
    try ids(filter, and: "1")
  }

  /// The jobs in a state that can be retried. Only reads.
  func retriable(_ state: JobState, kind: String?) throws -> [JobID] {
    let filter = JobFilter(kind: kind, states: [state])
    guard state != .held else { return try ids(filter) }
    // Unless another job has the key by now.
    return try ids(filter, and: JobFilter.isLastOfItsKey(in: state, "durable_jobs", of: "durable_jobs"))
  }

  private func ids(_ filter: JobFilter, and further: SQL) throws -> [JobID] {
    guard let condition = try condition(filter) else { return [] }
    let select = try unkept(
      "SELECT id FROM durable_jobs WHERE \(condition) AND \(further) ORDER BY id DESC")
    var ids: [JobID] = []
    try select.forEachRow { ids.append(JobID(rawValue: $0.integer(0))) }
    return ids
  }

  /// Makes the jobs that are still in a state run at once, unless another job has their unique key
  /// by now. Returns how many.
  func retry(_ ids: ArraySlice<JobID>, in state: JobState) throws -> Int {
    var count = 0
    for id in ids where try self.state(of: id) == state {
      if state != .held, try heir(of: id) != nil { continue }
      try makeDue(id)
      count += 1
    }
    return count
  }

  /// Changes the priority of the jobs that are not done or cancelled. Returns how many.
  func setPriority(_ change: PriorityChange, of ids: ArraySlice<JobID>) throws -> Int {
    let update = try statement(
      "UPDATE durable_jobs SET major = ?2, minor = coalesce(?3, minor) WHERE id = ?1 AND state NOT IN (\(.cancelled, .done))"
    )
    update.bind(change.major, at: 2)
    update.bind(change.minor.map(Int64.init), at: 3)
    var count = 0
    for id in ids {
      update.bind(id.rawValue, at: 1)
      try update.run()
      count += connection.changeCount
    }
    return count
  }

  /// Cancels the jobs that have not ended. Returns how many, and whether some of them execute.
  func cancel(_ ids: ArraySlice<JobID>) throws -> (count: Int, isAnyExecuting: Bool) {
    var unended: [(id: JobID, state: JobState)] = []
    for id in ids {
      if let state = try state(of: id), !state.isSettled { unended.append((id, state)) }
    }
    try cancel(unended)
    return (unended.count, unended.contains { $0.state == .executing })
  }

  /// Deletes the jobs that are still in one of the states. Returns how many.
  ///
  /// - Parameter failed: the jobs that were cancelled, or dead, because others were deleted: they
  ///   go, too, if they match.
  func delete(
    _ ids: ArraySlice<JobID>, in states: Set<JobState>, failed: inout Set<JobID>
  ) throws -> Int {
    var count = 0
    for id in ids {
      guard let state = try state(of: id) else { continue }
      guard states.contains(state) || (state == .cancelled || state == .dead) && failed.contains(id) else { continue }
      failed.formUnion(try delete(id, in: state))
      count += 1
    }
    return count
  }
}
