#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension PostgresSession {
  /// One round trip.
  func look(_ question: StoreLook) throws -> StoreLookAnswer {
    // A failed round may have added the process without the queue knowing.
    let own = [question.worker, store.numbers.withLock { $0.counter?.worker }]
    // The claim that follows reads the front.
    let isSlow = store.cursors.withLock(\.isSlow)
    var ahead = PostgresAhead(store, movesCursor: true)
    var position: [String: Int] = [:]
    let results = try read { pipeline in
      ahead.ask(question.ahead, in: &pipeline)
      func ask(
        _ name: String, _ sql: @autoclosure () -> SQL, _ bind: (inout PostgresParameters) -> Void = { _ in }
      ) { position[name] = pipeline.add(statement("look_\(name)", sql()), bind) }
      ask("workers", Self.workers(schema))
      ask(
        "orphaning",
        """
        SELECT DISTINCT worker FROM \(schema).jobs WHERE state = \(.executing) AND worker IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM \(schema).workers WHERE id = jobs.worker)
        """)
      ask("rules", Self.rules(schema))
      ask(
        "requests",
        """
        SELECT id FROM \(schema).jobs WHERE state = \(.executing) AND worker = $1
          AND flags & \(flags: .isCancelRequested) <> 0
        """
      ) { $0.bind(question.worker) }
      if !isSlow { ask("waiting", Self.isAnyWaiting(schema)) { $0.bind(question.kinds) } }
    }
    func result(_ name: String) -> PostgresResult? { position[name].map { results[$0] } }
    var answer = StoreLookAnswer()
    ahead.take(results)
    // A standby can be read, but is unavailable for a queue.
    if ahead.takesNoChanges {
      throw DatabaseError(
        PostgresError(.serverReadOnly, sqlState: "25006", message: "it is a standby"), place: store.place)
    }
    answer.now = ahead.answer.now
    answer.nextDue = ahead.answer.nextDue
    // Or the server's clock was set back since the last one.
    answer.arePeriodicJobsDue =
      ahead.answer.nextOccurrence.map { $0 <= answer.now } ?? false
      || ahead.lastOccurrence.map { $0 > answer.now + PeriodicRow.minute } ?? false
    answer.others = result("workers")?.map(Self.worker).filter { !own.contains($0.id) }
    answer.orphaning = result("orphaning")?.map { $0.integer(0) } ?? []
    let isAnythingDue = result("waiting").map { $0.count > 0 }
    answer.wishes = StoreLookAnswer.Wishes(
      rules: result("rules").map(rules) ?? KindRules(),
      cancelRequests: result("requests")?.map { JobID(rawValue: $0.integer(0)) } ?? [],
      mayHaveWork: isAnythingDue ?? !question.kinds.isEmpty)
    if answer.wishes?.mayHaveWork == true { store.cursors.withLock { $0.workHasCome() } }
    answer.connectedFor = store.state.withLock { $0.connectedSince }.map { .now - $0 }
    answer.isAnythingDue = isAnythingDue
    answer.ahead = ahead.answer
    return answer
  }

  /// Reports claims that were too slow since the last look.
  func lookIsOver() {
    guard store.cursors.withLock({ $0.isToBeTold(at: .now) }) else { return }
    store.events.tell(.databaseSlow(oldestSnapshot()))
  }

  /// The oldest snapshot that another session holds. Its age is nil if this role may not see it.
  func oldestSnapshot() -> JobEvent.OldSnapshot? {
    let oldest = try? read(
      "oldest_snapshot",
      """
      SELECT pid, (extract(epoch FROM pg_catalog.clock_timestamp() - coalesce(xact_start, query_start, backend_start)) * 1000)::bigint
      FROM pg_catalog.pg_stat_activity WHERE backend_xmin IS NOT NULL AND pid <> pg_catalog.pg_backend_pid()
      ORDER BY pg_catalog.age(backend_xmin) DESC LIMIT 1
      """)
    return oldest?.first { row in
      JobEvent.OldSnapshot(
        age: row.optionalInteger(1).map { .milliseconds($0) }, serverProcess: Int(row.integer(0)))
    }
  }

  private static func workers(_ schema: SQL) -> SQL {
    "SELECT id, boot, namespace, host, process, started, lease, lease_until FROM \(schema).workers"
  }

  static func worker(_ row: PostgresRow) -> WorkerRow {
    let identity = ProcessIdentity(
      bootID: row.text(1) ?? "", pidNamespace: row.text(2), hostName: row.text(3) ?? "",
      processID: row.integer(4), startTime: row.integer(5))
    return WorkerRow(id: row.integer(0), identity: identity, lease: row.integer(6), leaseUntil: row.integer(7))
  }

  /// Whether a job of one of some kinds waits, in any of their lanes.
  private static func isAnyWaiting(_ schema: SQL) -> SQL {
    """
    SELECT 1 FROM pg_catalog.unnest($1::bigint[]) AS own (kind) CROSS JOIN LATERAL (
      SELECT 1 FROM \(schema).jobs WHERE state = \(.waiting) AND lane BETWEEN own.kind << 2 AND (own.kind << 2) + 3 LIMIT 1
    ) AS first LIMIT 1
    """
  }

  func isAnythingDue(of kinds: [Int64]) throws -> Bool {
    try read("is_any_waiting", Self.isAnyWaiting(schema)) { $0.bind(kinds) }.count > 0
  }

  /// Whether a job of one of these kinds executes anywhere, or is due.
  func isBusy(with kinds: [Int64]) throws -> Bool {
    // One statement: a job that changes its state meanwhile is in one of them.
    try read(
      "is_busy",
      """
      SELECT 1 WHERE EXISTS (\(Self.isAnyWaiting(schema)))
        OR EXISTS (SELECT 1 FROM \(schema).jobs WHERE state = \(.executing) AND lane >> 2 = ANY($1::bigint[]))
        OR EXISTS (SELECT 1 FROM \(schema).jobs WHERE state = \(.scheduled)
          AND run_at <= coalesce($2::bigint, \(schema).now_ms()) AND lane >> 2 = ANY($1::bigint[]))
      """
    ) {
      $0.bind(kinds)
      $0.bind(store.testTime)
    }.count > 0
  }

  func ahead(_ question: StoreAhead.Question) throws -> StoreAhead {
    var ahead = PostgresAhead(store, movesCursor: false)
    ahead.take(try read { ahead.ask(question, in: &$0) })
    return ahead.answer
  }

  func cancelRequests(worker: Int64) throws -> [JobID] {
    try read(
      "cancel_requests",
      """
      SELECT id FROM \(schema).jobs WHERE state = \(.executing) AND worker = $1
        AND flags & \(flags: .isCancelRequested) <> 0
      """
    ) { $0.bind(worker) }.map { JobID(rawValue: $0.integer(0)) }
  }

  func unknownKinds(besides known: Set<Int64>) throws -> [UnknownKind] {
    try read("unknown_kinds", Self.unknownKinds(schema)) { $0.bind(Array(known)) }.map(Self.unknownKind)
  }

  /// Kinds that have due jobs and are not among some.
  static func unknownKinds(_ schema: SQL) -> SQL {
    """
    SELECT id, name, known_at FROM \(schema).kinds WHERE id <> ALL($1::bigint[]) AND EXISTS (
      SELECT 1 FROM \(schema).jobs WHERE state = \(.waiting)
        AND lane BETWEEN kinds.id::bigint << 2 AND (kinds.id::bigint << 2) + 3)
    """
  }

  static func unknownKind(_ row: PostgresRow) -> UnknownKind {
    UnknownKind(id: row.integer(0), name: row.text(1) ?? "", knownAt: row.integer(2))
  }

  // MARK: - What is due

  func promote() throws -> Bool {
    try transaction(isRepeatable: true) { work in
      let statement = statement(
        "promote",
        """
        UPDATE \(schema).jobs SET state = \(.waiting) WHERE id = ANY(ARRAY(
          SELECT id FROM \(schema).jobs
          WHERE state = \(.scheduled) AND run_at >= $2 AND run_at <= coalesce($1::bigint, \(schema).now_ms())
          ORDER BY run_at LIMIT 1000 FOR UPDATE SKIP LOCKED))
        RETURNING lane, (~major), (~minor), attempts::bigint, id
        """)
      var position = 0
      let promoted = try work.run(commits: true) { pipeline in
        position = pipeline.add(statement) {
          $0.bind(store.testTime)
          $0.bind(store.scheduled.withLock(\.start))
        }
      }[position]
      promoted.forEachRow { work.free($0.integer(0), at: PostgresClaimCursors.Key($0, from: 1)) }
      return promoted.count > 0
    }
  }

  func prune(keeping time: Duration) throws -> Bool {
    let start = store.finished.withLock { $0.begin(at: .now) }
    let statement = statement(
      "prune",
      """
      SELECT may_have_more, reached FROM \(schema).prune($3, coalesce($1::bigint, \(schema).now_ms()) - $2::bigint, 1000)
      """)
    return try transaction(isRepeatable: true) { work in
      var clocks: [Int] = [], position = 0
      let results = try work.run(commits: true) { pipeline in
        clocks.append(pipeline.add(store.clock))
        position = pipeline.add(statement) {
          $0.bind(store.testTime)
          $0.bind(time.milliseconds)
          $0.bind(start)
        }
        clocks.append(pipeline.add(store.clock))
      }
      let row = results[position].row(0), duration = store.duration(from: results[clocks[0]], to: results[clocks[1]])
      store.finished.withLock { $0.read(from: start, to: row.integer(1), took: duration) }
      return row.bool(0)
    }
  }

  func giveUp(_ kind: UnknownKind, dueFor time: Duration) throws -> Bool {
    try transaction { work in
      let ids = try work.run(
        "long_due",
        """
        SELECT id FROM \(schema).jobs WHERE state = \(.waiting) AND lane BETWEEN $1::bigint << 2 AND ($1::bigint << 2) + 3
          AND greatest(enqueued_at, coalesce(run_at, 0)) < coalesce($2::bigint, \(schema).now_ms()) - $3::bigint
        LIMIT \(PostgresStore.mostAtOnce) FOR UPDATE SKIP LOCKED
        """
      ) {
        $0.bind(kind.id)
        $0.bind(store.testTime)
        $0.bind(time.milliseconds)
      }.map { JobID(rawValue: $0.integer(0)) }.sorted()
      guard !ids.isEmpty else { return false }
      let errors = ids.map { JobError(.unknownKind, id: $0, kind: kind.name) }
      try work.run(
        "give_up",
        """
        UPDATE \(schema).jobs SET state = \(.dead), finished_at = coalesce($3::bigint, \(schema).now_ms()),
          error = ($2::text[])[pg_catalog.array_position($1::bigint[], id)]
        WHERE id = ANY($1::bigint[])
        """
      ) {
        $0.bind(ids.map(\.rawValue))
        try $0.bind(errors.map { $0.description as String? })
        $0.bind(store.testTime)
      }
      for (id, error) in zip(ids, errors) { work.tellDead(id, kind: kind.name, error: error) }
      try work.attemptsEnded(ids)
      return true
    }
  }
}
#endif
