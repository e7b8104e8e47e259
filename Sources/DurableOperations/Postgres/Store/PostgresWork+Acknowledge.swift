#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension PostgresWork {
  /// Writes the ends of attempts. Returns those that were written: the other jobs were given to
  /// another process in between.
  @discardableResult
  func acknowledge(_ ends: [Acknowledgement], keepsDone: Bool) throws -> Set<JobID> {
    guard !ends.isEmpty else { return [] }
    var batch = PostgresAcknowledgements(ends, keepsDone: keepsDone, in: store, besideGuests: isGuest)
    let results = try run { try batch.add(to: &$0) }
    return try tellOf(batch, results) { try kindName($0) }
  }

  /// Reports the written ends. Returns the jobs whose attempts were the last ones.
  ///
  /// - Parameter nameOf: returns the name of a kind.
  @discardableResult
  func tellOf(
    _ batch: PostgresAcknowledgements, _ results: [PostgresResult], nameOf: (Int64) throws -> String
  ) rethrows -> Set<JobID> {
    var states: [JobID: JobState] = [:]
    for position in batch.positions {
      results[position].forEachRow { row in
        states[JobID(rawValue: row.integer(0))] = JobState(rawValue: Int(clamping: row.integer(1))) ?? .done
      }
    }
    for end in batch.ends {
      if states[end.id] != nil { makeRoom(ofKind: end.kind) }
      switch (states[end.id], end.event) {
      case (nil, _):
        if !end.isGivenBack { tell(.leaseLost(end.id, kind: end.kind)) }
      // The job may have been asked to end.
      case (.cancelled, _): tell(.cancelled(end.id, kind: end.kind))
      case (_, .dead(_, let kind, let error)): tellDead(end.id, kind: kind, error: error)
      case (_, let event): tell(event)
      }
    }
    for end in batch.overtaken where !end.isGivenBack { tell(.leaseLost(end.id, kind: end.kind)) }
    if states.values.contains(.waiting) { hasFreedJobs = true }
    for position in batch.others {
      results[position].forEachRow { row in
        guard row.integer(1) == JobState.waiting.number else { return }
        free(row.integer(2), at: PostgresClaimCursors.Key(row, from: 3))
      }
    }
    for position in batch.dependents { try tellDependents(results[position], from: 0, nameOf: nameOf) }
    return Set(states.keys)
  }

  /// Reports changed dependents.
  ///
  /// - Parameter column: the first of: job, lane, state, and the prerequisite with which it has
  ///   failed.
  func tellDependents(_ result: PostgresResult, from column: Int32) throws {
    try tellDependents(result, from: column) { try kindName($0) }
  }

  private func tellDependents(
    _ result: PostgresResult, from column: Int32, nameOf: (Int64) throws -> String
  ) rethrows {
    try result.forEachRow { row in
      guard let number = row.optionalInteger(column) else { return }
      let (id, lane) = (JobID(rawValue: number), row.integer(column + 1))
      guard let prerequisite = row.optionalInteger(column + 3) else {
        hasFreedJobs = true
        if row.integer(column + 2) == JobState.waiting.number { free(lane) }
        return
      }
      let kind = try nameOf(JobLane.kind(of: lane))
      if row.integer(column + 2) == JobState.dead.number {
        let error = JobError(.prerequisiteFailed(JobID(rawValue: prerequisite)), id: id, kind: kind)
        tellDead(id, kind: kind, error: error)
      } else {
        tell(.cancelled(id, kind: kind))
      }
    }
  }

  /// Deletes what was kept for ended jobs, and updates their dependents.
  func attemptsEnded(_ ids: [JobID]) throws {
    guard !ids.isEmpty else { return }
    try tellDependents(
      run("attempts_ended", PostgresAcknowledgements.ending(schema)) {
        $0.bind(ids.map(\.rawValue))
        $0.bind(store.testTime)
      }, from: 0)
  }

  /// The name of a kind, on the connection of this transaction.
  func kindName(_ number: Int64) throws -> String {
    if let name = store.state.withLock({ $0.kindNames[number] }) { return name }
    return try run("kind_name", "SELECT name FROM \(schema).kinds WHERE id OPERATOR(pg_catalog.=) $1") {
      $0.bind(number)
    }
    .first { $0.text(0) ?? "" } ?? ""
  }
}

/// The ends of some attempts, as statements: one for done jobs, one for the others, and one for
/// what follows.
struct PostgresAcknowledgements {
  private(set) var ends: [Acknowledgement] = []
  /// The ends of jobs that were claimed again, and of which a later attempt has ended as well: a
  /// statement looks up the end of a job by its number.
  private(set) var overtaken: [Acknowledgement] = []
  private let keepsDone: Bool
  private let store: PostgresStore
  /// Whether statements of the user run in the transaction.
  private let isBesideGuests: Bool
  /// The positions of the results that tell what was written: the number of each job, and its
  /// state.
  private(set) var positions: [Int] = []
  /// The positions of the results for jobs that are not done, with their lanes, and their places in
  /// them.
  private(set) var others: [Int] = []
  /// The positions of the results for dependents.
  private(set) var dependents: [Int] = []

  init(_ ends: [Acknowledgement], keepsDone: Bool, in store: PostgresStore, besideGuests: Bool = false) {
    // In the order of their numbers, as all locks are taken.
    for end in ends.sorted(by: { ($0.id, $0.claim) < ($1.id, $1.claim) }) {
      if self.ends.last?.id == end.id { overtaken.append(self.ends.removeLast()) }
      self.ends.append(end)
    }
    self.keepsDone = keepsDone
    self.store = store
    isBesideGuests = besideGuests
  }

  private var schema: SQL { store.schema }

  private func statement(_ name: String, _ sql: @autoclosure () -> SQL) -> PostgresStatement {
    isBesideGuests ? PostgresStatement(sql().text) : store.statement(name, sql())
  }

  mutating func add(to pipeline: inout PostgresPipeline) throws {
    for part in Self.parts(ends.filter(\.isDone)) {
      let statement = keepsDone ? statement("keep_done", keeping) : statement("done", deleting)
      positions.append(
        pipeline.add(statement) {
          $0.bind(part.map(\.id.rawValue))
          $0.bind(part.map(\.claim))
          if keepsDone { $0.bind(store.testTime) }
        })
    }
    for part in Self.parts(ends.filter { !$0.isDone }) {
      others.append(try pipeline.add(statement("acknowledge", acknowledging)) { try bind(part, to: &$0) })
    }
    positions += others
    for part in Self.parts(ends) {
      dependents.append(
        pipeline.add(statement("ends_written", followingUp)) {
          $0.bind(part.map(\.id.rawValue))
          $0.bind(store.testTime)
        })
    }
  }

  private static func parts(_ ends: [Acknowledgement]) -> [ArraySlice<Acknowledgement>] {
    stride(from: 0, to: ends.count, by: PostgresStore.mostAtOnce).map {
      ends[$0..<min($0 + PostgresStore.mostAtOnce, ends.count)]
    }
  }

  // MARK: - Statements

  /// Whether the attempt is the last one of its job. Not `state = 3`: the server could use the
  /// index of executing jobs, which keeps the dead entries of an old snapshot.
  private static let isCurrent: SQL = """
    id OPERATOR(pg_catalog.=) ANY($1::bigint[])
      AND claim OPERATOR(pg_catalog.=) ($2::bigint[])[pg_catalog.array_position($1::bigint[], id)]
      AND state OPERATOR(pg_catalog.+) 0 OPERATOR(pg_catalog.=) \(.executing)
    """

  private var deleting: SQL {
    "DELETE FROM \(schema).jobs WHERE \(Self.isCurrent) RETURNING id, \(.done)"
  }

  private var keeping: SQL {
    """
    UPDATE \(schema).jobs SET state = \(.done), worker = NULL, attempts = attempts OPERATOR(pg_catalog.+) 1,
      finished_at = coalesce($3::bigint, \(schema).now_ms()), error = NULL, run_at = NULL,
      flags = flags OPERATOR(pg_catalog.&) (OPERATOR(pg_catalog.~) \(flags: .isCancelRequested, .isAbandoned))
    WHERE \(Self.isCurrent) RETURNING id, state
    """
  }

  static func ending(_ schema: SQL) -> SQL {
    "SELECT job, job_lane, job_state, failed_with FROM \(schema).attempts_ended($1, $2)"
  }

  /// The same for those of the ends that this transaction has written, and for jobs that are gone.
  /// An end that was refused changes nothing: its job may have ended long ago, and dependents that
  /// failed with it then may have been retried since. That the claim is the last one is not enough:
  /// a job that died with its process keeps the number.
  private var followingUp: SQL {
    """
    SELECT job, job_lane, job_state, failed_with FROM \(schema).attempts_ended(ARRAY(
      SELECT ended.id FROM pg_catalog.unnest($1::bigint[]) AS ended (id) WHERE coalesce((
        SELECT coalesce(
          jobs.xmin OPERATOR(pg_catalog.=) pg_catalog.pg_current_xact_id_if_assigned()::pg_catalog.xid, false)
        FROM \(schema).jobs WHERE jobs.id OPERATOR(pg_catalog.=) ended.id), true)), $2)
    """
  }

  /// A job with a cancel request is cancelled unless it has succeeded; a replaced job is not tried
  /// again.
  ///
  /// The end of each job is looked up by its position: with a join, the server may read all jobs,
  /// if the plan was made while there were few.
  private var acknowledging: SQL {
    let isCancelled: SQL = """
      (flags OPERATOR(pg_catalog.&) \(flags: .isCancelRequested) OPERATOR(pg_catalog.<>) 0
        OR flags OPERATOR(pg_catalog.&) \(flags: .isReplaced) OPERATOR(pg_catalog.<>) 0 AND ($9::boolean[])[n])
      """
    let moment: SQL = "(SELECT moment FROM time)"
    return """
      WITH time AS MATERIALIZED (SELECT coalesce($11::bigint, \(schema).now_ms()) AS moment), ended AS (
        UPDATE \(schema).jobs SET (state, worker, lane, run_at, flags, attempts, crashes, lapses, error, finished_at) = (
          SELECT CASE WHEN \(isCancelled) THEN \(.cancelled) ELSE ($3::bigint[])[n] END, NULL::bigint,
            CASE WHEN ($6::boolean[])[n] THEN lane
              ELSE lane OPERATOR(pg_catalog.&) (OPERATOR(pg_catalog.~) \(lane: .alone)::bigint) END,
            CASE WHEN \(isCancelled) THEN NULL ELSE \(moment) OPERATOR(pg_catalog.+) ($4::bigint[])[n] END,
            flags OPERATOR(pg_catalog.&) (OPERATOR(pg_catalog.~) \(flags: .isCancelRequested, .isAbandoned))
              OPERATOR(pg_catalog.|) \(flags: .runsAfterDelay)
              OPERATOR(pg_catalog.|) CASE WHEN ($10::bigint[])[n] IS NULL THEN 0 ELSE \(flags: .hasErrors) END,
            attempts OPERATOR(pg_catalog.+) ($5::bigint[])[n], CASE WHEN ($8::boolean[])[n] THEN 0 ELSE crashes END,
            CASE WHEN ($8::boolean[])[n] THEN 0 ELSE lapses END, coalesce(($7::pg_catalog.text[])[n], error),
            CASE WHEN \(isCancelled)
              OR ($3::bigint[])[n] OPERATOR(pg_catalog.=) ANY(ARRAY[\(.cancelled, .dead)]) THEN \(moment) END
          FROM (SELECT pg_catalog.array_position($1::bigint[], id) AS n OFFSET 0) AS place)
        WHERE \(Self.isCurrent)
        RETURNING id, state, lane, (OPERATOR(pg_catalog.~) major) AS rank, (OPERATOR(pg_catalog.~) minor) AS subrank,
          attempts, pg_catalog.array_position($1::bigint[], id) AS n
      ), noted AS (
        INSERT INTO \(schema).errors (job, at, attempt, error)
        SELECT id, \(moment), ($10::bigint[])[n], ($7::pg_catalog.text[])[n]
        FROM ended WHERE ($10::bigint[])[n] IS NOT NULL)
      SELECT id, state, lane, rank, subrank, attempts::bigint, id FROM ended
      """
  }

  private func bind(_ ends: ArraySlice<Acknowledgement>, to parameters: inout PostgresParameters) throws {
    let written = ends.map(\.written)
    parameters.bind(ends.map(\.id.rawValue))
    parameters.bind(ends.map(\.claim))
    parameters.bind(written.map(\.state.number))
    parameters.bind(written.map(\.delay))
    parameters.bind(written.map { $0.isCharged ? 1 : 0 as Int64 })
    parameters.bind(written.map { $0.keepsLane as Bool? })
    try parameters.bind(written.map(\.error))
    parameters.bind(written.map { $0.isFurtherAttempt as Bool? })
    parameters.bind(written.map { $0.endsIfReplaced as Bool? })
    parameters.bind(zip(ends, written).map { $1.error != nil && $1.isErrorKept ? Int64($0.attempt) : nil })
    parameters.bind(store.testTime)
  }
}

extension Acknowledgement {
  fileprivate var isDone: Bool { if case .done = result { true } else { false } }

  /// What is written for an attempt that did not succeed.
  fileprivate struct Written {
    var state: JobState
    var delay: Int64?
    var isCharged = true
    var keepsLane = false
    var error: String?
    /// Whether the error is kept with those of earlier attempts.
    var isErrorKept = true
    var isFurtherAttempt = false
    var endsIfReplaced = true
  }

  fileprivate var written: Written {
    switch result {
    case .done: Written(state: .done)
    case .again(let delay, let isCharged, let error):
      // Without a delay there is no time: it runs at once.
      Written(
        state: delay > .zero ? .scheduled : .waiting, delay: delay > .zero ? delay.milliseconds : nil,
        isCharged: isCharged, error: error?.withoutNull, isFurtherAttempt: true)
    case .postponed(let delay, let error):
      Written(
        state: .scheduled, delay: delay.milliseconds, isCharged: false, keepsLane: true, error: error.withoutNull,
        isErrorKept: false)
    case .returned: Written(state: .waiting, isCharged: false, keepsLane: true, endsIfReplaced: false)
    case .dead(let error): Written(state: .dead, error: error.withoutNull)
    case .held(let error): Written(state: .held, error: error.withoutNull)
    case .cancelled(let error):
      Written(state: .cancelled, isCharged: false, error: error?.withoutNull, endsIfReplaced: false)
    }
  }
}

extension String {
  /// A text of PostgreSQL has no U+0000.
  var withoutNull: String { utf8.contains(0) ? replacing("\0", with: "\u{FFFD}") : self }
}
#endif
