#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension PostgresSession {
  // MARK: - One job

  func cancel(_ id: JobID) throws -> JobState {
    try transaction { work in
      let state = try work.state(of: id, before: .cancel)
      if state != .cancelled { try work.cancel([id: state]) }
      return state
    }
  }

  func retry(_ id: JobID) throws {
    try transaction { work in
      // Not locked: the lock of the unique key comes first.
      let known = try work.run("state", Self.stateOf(schema)) { $0.bind(id.rawValue) }.first { $0.integer(0) }
      guard let known else { throw JobError(.unknownJob, id: id) }
      let state = JobState(rawValue: Int(clamping: known)) ?? .dead
      if JobTransition.retry.isRefused(in: state) { throw JobError(.wrongState(state), id: id) }
      let result = try work.retry([id], in: [.scheduled, .held, .cancelled, .dead])[0]
      switch result.problem {
      case nil: break
      case 1?: throw JobError(.duplicate(result.other), id: id)
      default: _ = try work.state(of: id, before: .retry)
      }
    }
  }

  func hold(_ id: JobID) throws {
    try transaction { work in
      _ = try work.state(of: id, before: .hold)
      try work.run("hold", "UPDATE \(schema).jobs SET state = \(.held) WHERE id = $1") { $0.bind(id.rawValue) }
    }
  }

  func setPriority(_ priority: JobPriority, of id: JobID) throws {
    try transaction { work in
      let changed = try work.run(
        "set_priority", "UPDATE \(schema).jobs SET major = $2, minor = $3 WHERE id = $1 RETURNING lane"
      ) {
        $0.bind(id.rawValue)
        $0.bind(priority.major)
        $0.bind(priority.minor)
      }
      guard changed.count == 1 else { throw JobError(.unknownJob, id: id) }
      changed.forEachRow { work.free($0.integer(0)) }
    }
  }

  func delete(_ id: JobID) throws {
    try transaction { work in
      let state = try work.state(of: id, before: .delete)
      var failed: Set<JobID> = []
      _ = try work.delete([id], in: [state], failed: &failed)
    }
  }

  // MARK: - Many

  func ids(_ filter: JobFilter) throws -> [JobID] { try ids(filter, and: "true") }

  func retriable(_ state: JobState, kind: String?) throws -> [JobID] {
    let filter = JobFilter(kind: kind, states: [state])
    guard state != .held else { return try ids(filter) }
    // Unless another job has the key by now.
    return try ids(filter, and: JobFilter.isLastOfItsKey(in: state, "jobs", of: "\(schema).jobs"))
  }

  private func ids(_ filter: JobFilter, and further: SQL) throws -> [JobID] {
    guard let condition = try condition(filter) else { return [] }
    return try question("SELECT id FROM \(schema).jobs WHERE \(condition) AND \(further) ORDER BY id DESC").map {
      JobID(rawValue: $0.integer(0))
    }
  }

  func cancel(_ ids: ArraySlice<JobID>) throws -> (count: Int, isAnyExecuting: Bool) {
    try transaction { work in
      let states = try work.states(of: ids).filter { !$0.value.isSettled }
      try work.cancel(states)
      return (states.count, states.values.contains(.executing))
    }
  }

  func retry(_ ids: ArraySlice<JobID>, in state: JobState) throws -> Int {
    try transaction { work in try work.retry(ids.sorted(), in: [state]).count { $0.problem == nil } }
  }

  func setPriority(_ change: PriorityChange, of ids: ArraySlice<JobID>) throws -> Int {
    try transaction { work in
      _ = try work.states(of: ids)
      let changed = try work.run(
        "set_priorities",
        """
        UPDATE \(schema).jobs SET major = $2, minor = coalesce($3::bigint, minor)
        WHERE id = ANY($1::bigint[]) AND state NOT IN (\(.cancelled, .done)) RETURNING lane
        """
      ) {
        $0.bind(ids.map(\.rawValue))
        $0.bind(change.major)
        $0.bind(change.minor.map(Int64.init))
      }
      changed.forEachRow { work.free($0.integer(0)) }
      return changed.count
    }
  }

  func delete(_ ids: ArraySlice<JobID>, in states: Set<JobState>, failed: inout Set<JobID>) throws -> Int {
    let before = failed
    let (count, after) = try transaction { work in
      var failed = before
      let count = try work.delete(Array(ids), in: states, failed: &failed)
      return (count, failed)
    }
    failed = after
    return count
  }

  // MARK: - Kinds

  func setPaused(_ isPaused: Bool, kind: String) throws {
    let number = try kindNumber(kind)
    try transaction { work in
      try work.run("set_paused", "UPDATE \(schema).kinds SET paused = $2 WHERE id = $1") {
        $0.bind(number)
        $0.bind(isPaused)
      }
      if !isPaused { for lane in JobLane.all(ofKind: number) { work.free(lane) } }
    }
  }

  func setLimit(_ limit: Int?, kind: String) throws {
    let number = try kindNumber(kind)
    try transaction { work in
      try work.run("set_limit", "UPDATE \(schema).kinds SET max_concurrent = $2 WHERE id = $1") {
        $0.bind(number)
        $0.bind(limit.map(Int64.init))
      }
      // Processes that do not know the kind claim nothing of it.
      work.mayHaveChangedRules = true
    }
  }

  func kindRules() throws -> KindRules { rules(try read("rules", Self.rules(schema))) }

  static func rules(_ schema: SQL) -> SQL {
    "SELECT id, paused, max_concurrent FROM \(schema).kinds WHERE paused OR max_concurrent IS NOT NULL"
  }

  /// Reads the rules and notes them, too: claims lock the kinds that have a limit.
  func rules(_ result: PostgresResult) -> KindRules {
    var rules = KindRules()
    result.forEachRow { row in
      if row.bool(1) { rules.paused.insert(row.integer(0)) }
      rules.limits[row.integer(0)] = row.optionalInteger(2).map { Int(clamping: $0) }
    }
    store.state.withLock { $0.limitedKinds = Set(rules.limits.keys) }
    return rules
  }

  // MARK: - Rare statements

  /// A statement that is run once.
  func question(
    _ sql: SQL, _ bind: (inout PostgresParameters) throws -> Void = { _ in }
  ) throws -> PostgresResult {
    var position = 0
    return try read { position = try $0.add(PostgresStatement(sql.text), bind) }[position]
  }
}

extension PostgresSession {
  fileprivate static func stateOf(_ schema: SQL) -> SQL { "SELECT state FROM \(schema).jobs WHERE id = $1" }
}

extension PostgresWork {
  /// The states of jobs, which stay as they are until this transaction is over.
  func states(of ids: some Sequence<JobID>) throws -> [JobID: JobState] {
    let rows = try run(
      "lock_states",
      "SELECT id, state FROM \(schema).jobs WHERE id = ANY($1::bigint[]) ORDER BY id FOR UPDATE"
    ) { $0.bind(ids.map(\.rawValue)) }
    return Dictionary(
      rows.map { (JobID(rawValue: $0.integer(0)), JobState(rawValue: Int(clamping: $0.integer(1))) ?? .dead) },
      uniquingKeysWith: { $1 })
  }

  /// The state of a job, which must exist and allow the transition.
  func state(of id: JobID, before transition: JobTransition) throws -> JobState {
    guard let state = try states(of: [id])[id] else { throw JobError(.unknownJob, id: id) }
    if transition.isRefused(in: state) { throw JobError(.wrongState(state), id: id) }
    return state
  }

  /// Jobs that execute are asked to end, and are cancelled then.
  func cancel(_ states: [JobID: JobState]) throws {
    let executing = states.filter { $0.value == .executing }.keys.sorted()
    if !executing.isEmpty {
      try run(
        "request_cancel", "UPDATE \(schema).jobs SET flags = flags | \(flags: .isCancelRequested) WHERE id = ANY($1)"
      ) { $0.bind(executing.map(\.rawValue)) }
      hasCancelRequests = true
    }
    let others = states.filter { $0.value != .executing }.keys.sorted()
    guard !others.isEmpty else { return }
    let cancelled = try run(
      "cancel",
      """
      UPDATE \(schema).jobs SET state = \(.cancelled), finished_at = coalesce($2::bigint, \(schema).now_ms())
      WHERE id = ANY($1) RETURNING id, lane
      """
    ) {
      $0.bind(others.map(\.rawValue))
      $0.bind(store.testTime)
    }
    try cancelled.forEachRow { row in
      let kind = try kindName(JobLane.kind(of: row.integer(1)))
      tell(.cancelled(JobID(rawValue: row.integer(0)), kind: kind))
    }
    // What was kept for a cancelled job stays: it may be retried.
    try attemptsEnded(others)
  }

  /// Makes jobs run at once. Returns, for each in order: 1 if another job has its key, 2 if it is
  /// in none of the states.
  func retry(_ ids: [JobID], in states: [JobState]) throws -> [(problem: Int64?, other: JobID)] {
    let statement = statement("retry", "SELECT problem, other FROM \(schema).retry_job($1, $2, $3)")
    let results = try run { pipeline in
      for id in ids {
        pipeline.add(statement) {
          $0.bind(id.rawValue)
          $0.bind(states.map(\.number))
          $0.bind(store.testTime)
        }
      }
    }.suffix(ids.count)
    let lanes = try run("lanes", "SELECT DISTINCT lane FROM \(schema).jobs WHERE id = ANY($1)") {
      $0.bind(ids.map(\.rawValue))
    }
    lanes.forEachRow { free($0.integer(0)) }
    return results.map { ($0.row(0).optionalInteger(0), JobID(rawValue: $0.row(0).integer(1))) }
  }

  /// Deletes the jobs that are still in one of the states, or have failed because others were
  /// deleted. Returns the number of deleted jobs.
  func delete(_ ids: [JobID], in states: Set<JobState>, failed: inout Set<JobID>) throws -> Int {
    let rows = try run(
      "delete_jobs",
      """
      SELECT job, job_lane, job_state, failed_with, deleted FROM \(schema).delete_jobs($1, $2, $3, $4)
      """
    ) {
      $0.bind(ids.map(\.rawValue))
      $0.bind(states.map(\.number).sorted())
      $0.bind(failed.map(\.rawValue).sorted())
      $0.bind(store.testTime)
    }
    try tellDependents(rows, from: 0)
    var count = 0
    rows.forEachRow { row in
      if !row.isNull(4) { count += 1 }
      if let job = row.optionalInteger(0), !row.isNull(3) { failed.insert(JobID(rawValue: job)) }
    }
    return count
  }
}
#endif
