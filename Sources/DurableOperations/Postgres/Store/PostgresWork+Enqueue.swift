#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

extension JobRequest {
  /// Whether it has neither a key nor prerequisites, so that storing it looks nothing up.
  var standsAlone: Bool { options.uniqueKey == nil && options.dependsOn.isEmpty }
}

extension PostgresWork {
  /// Stores jobs, all of them or none. Their kinds already have numbers.
  func enqueue(_ jobs: [JobRequest]) throws -> [JobID] {
    try JobRequest.refuseCircles(jobs)
    let ids = jobs.allSatisfy(\.standsAlone) ? try insert(jobs) : try insertEach(jobs)
    for (id, job) in zip(ids, jobs) { tell(.enqueued(id, kind: job.kind)) }
    try block(ids, jobs)
    noteDue(ids, jobs)
    return ids
  }

  /// Stores a few jobs without keys and prerequisites, and nothing else: one statement is the
  /// transaction, in one round trip.
  func enqueueAtOnce(_ jobs: [JobRequest]) throws -> [JobID] {
    let ids = Self.ids(
      jobs.count == 1
        ? try runAlone("insert_one", Self.insertionOfOne(schema)) { try bindAlone(jobs[0], to: &$0) }
        : try runAlone("insert", Self.insertion(schema)) { try bind(jobs[...], to: &$0) })
    for (id, job) in zip(ids, jobs) { tell(.enqueued(id, kind: job.kind)) }
    noteDue(ids, jobs)
    return ids
  }

  private func noteDue(_ ids: [JobID], _ jobs: [JobRequest]) {
    for (id, job) in zip(ids, jobs) where mayBeDue(job) {
      let (rank, subrank) = (~Int64(job.options.priority.major), ~Int64(job.options.priority.minor))
      free(lane(of: job), at: PostgresClaimCursors.Key(rank: rank, subrank: subrank, attempts: 0, id: id.rawValue))
    }
  }

  private func lane(of job: JobRequest) -> Int64 {
    // A job of another lane would never be claimed.
    let name = KindName(job.kind)
    guard let kind = store.state.withLock({ $0.kindNumbers[name] }) ?? uncommittedKindNumbers[name] else {
      preconditionFailure("A job of the kind \(job.kind) is stored before its kind has a number")
    }
    return JobLane.number(ofKind: kind) | (job.options.requiresNetwork ? JobLane.Bit.network.rawValue : 0)
  }

  /// Whether it may be due at once; the clock that decides is not known here.
  private func mayBeDue(_ job: JobRequest) -> Bool {
    if job.options.startsHeld { return false }
    let (date, delay) = start(of: job)
    return delay == nil && date ?? .min < (store.testTime ?? Date().milliseconds) + 60_000
  }

  private func flags(of job: JobRequest) -> JobFlags {
    var flags: JobFlags = job.options.holdsAfterLastAttempt ? .holdsAfterLastAttempt : []
    if case .after = job.options.start { flags.insert(.runsAfterDelay) }
    return flags
  }

  /// When a job may run: a date, or a delay from when it is written.
  private func start(of job: JobRequest) -> (date: Int64?, delay: Int64?) {
    switch job.options.start {
    case .atOnce: (nil, nil)
    case .after(let delay): (nil, delay > .zero ? delay.milliseconds : nil)
    case .at(let date): (date.milliseconds, nil)
    }
  }

  // MARK: - Without keys and prerequisites

  /// One statement for many jobs.
  private func insert(_ jobs: [JobRequest]) throws -> [JobID] {
    var ids: [JobID] = []
    ids.reserveCapacity(jobs.count)
    for part in try PostgresStore.parts(of: jobs) {
      ids += Self.ids(try run("insert", Self.insertion(schema)) { try bind(part, to: &$0) })
    }
    return ids
  }

  private static func ids(_ result: PostgresResult) -> [JobID] { result.map { JobID(rawValue: $0.integer(0)) } }

  private func bind(_ jobs: ArraySlice<JobRequest>, to parameters: inout PostgresParameters) throws {
    parameters.bind(jobs.map { lane(of: $0) })
    parameters.bind(jobs.map { Int64($0.options.priority.major) })
    parameters.bind(jobs.map { Int64($0.options.priority.minor) })
    parameters.bind(jobs.map { flags(of: $0).rawValue })
    parameters.bind(jobs.map { $0.options.maxAttempts.map(Int64.init) })
    parameters.bind(jobs.map { $0.options.timeout?.milliseconds })
    parameters.bind(jobs.map { start(of: $0).date })
    parameters.bind(jobs.map { start(of: $0).delay })
    parameters.bind(jobs.map { $0.options.startsHeld as Bool? })
    parameters.bind(jobs.map { Int64($0.version) })
    try parameters.bind(jobs.map { $0.options.backoff?.storedForm })
    parameters.bind(try jobs.map { try $0.payload as Data? }, as: .json)
    parameters.bind(jobs.map(\.occurrence))
    parameters.bind(store.testTime)
  }

  private static func insertion(_ schema: SQL) -> SQL {
    insertion(
      schema,
      from: """
        ROWS FROM (
          pg_catalog.unnest($1::bigint[]), pg_catalog.unnest($2::bigint[]), pg_catalog.unnest($3::bigint[]),
          pg_catalog.unnest($4::bigint[]), pg_catalog.unnest($5::bigint[]), pg_catalog.unnest($6::bigint[]),
          pg_catalog.unnest($7::bigint[]), pg_catalog.unnest($8::bigint[]), pg_catalog.unnest($9::boolean[]),
          pg_catalog.unnest($10::bigint[]), pg_catalog.unnest($11::pg_catalog.text[]),
          pg_catalog.unnest($12::pg_catalog.json[]), pg_catalog.unnest($13::bigint[])) WITH ORDINALITY
          AS job (lane, major, minor, flags, max_attempts, timeout, date, delay, is_held, version, backoff, payload, occurrence, n)
        ORDER BY n
        """)
  }

  /// The same for one job, which takes both sides half the time.
  private static func insertionOfOne(_ schema: SQL) -> SQL {
    insertion(
      schema,
      from: """
        (SELECT $1::bigint AS lane, $2::bigint AS major, $3::bigint AS minor, $4::bigint AS flags, $5::bigint AS max_attempts,
          $6::bigint AS timeout, $7::bigint AS date, $8::bigint AS delay, $9::boolean AS is_held, $10::bigint AS version,
          $11::pg_catalog.text AS backoff, $12::pg_catalog.json AS payload, $13::bigint AS occurrence) AS job
        """)
  }

  private func bindAlone(_ job: JobRequest, to parameters: inout PostgresParameters) throws {
    try bindOptions(of: job, to: &parameters)
    try bindContent(of: job, to: &parameters)
  }

  private static func insertion(_ schema: SQL, from jobs: SQL) -> SQL {
    """
    INSERT INTO \(schema).jobs (lane, major, minor, flags, max_attempts, timeout, run_at, state, version, backoff, payload,
      occurrence, enqueued_at)
    SELECT lane, major, minor, flags, max_attempts, timeout, coalesce(date, moment OPERATOR(pg_catalog.+) delay),
      CASE WHEN is_held THEN \(.held)
        WHEN coalesce(date, moment OPERATOR(pg_catalog.+) delay) OPERATOR(pg_catalog.>) moment THEN \(.scheduled)
        ELSE \(.waiting) END,
      version, backoff, payload, occurrence, moment
    FROM (SELECT coalesce($14::bigint, \(schema).now_ms()) AS moment OFFSET 0) AS time, \(jobs)
    RETURNING id
    """
  }

  // MARK: - With keys and prerequisites

  private func insertEach(_ jobs: [JobRequest]) throws -> [JobID] {
    for job in jobs { try PostgresParameters.check(job.options.uniqueKey) }
    let keys = jobs.compactMap { job in
      job.options.uniqueKey.map { (kind: lane(of: job) >> 2, key: $0.value) }
    }
    // Not more at once than the buffers of both sides hold.
    var ids: [JobID] = []
    for part in try PostgresStore.parts(of: jobs) {
      let results = try run { pipeline in
        if part.startIndex == 0, keys.count > 1 { try lock(keys, in: &pipeline) }
        let statement = statement("enqueue_job", Self.enqueueing(schema))
        for job in part { try pipeline.add(statement) { try bind(job, to: &$0) } }
      }
      for (job, result) in zip(part, results.suffix(part.count)) {
        let stored = result.row(0)
        guard stored.isNull(1) else {
          let other = JobID(rawValue: stored.integer(2))
          // A number that was never given would name nothing.
          throw JobError(.duplicate(ids.firstIndex(of: other).map { .inSameCall($0) } ?? other), kind: job.kind)
        }
        ids.append(JobID(rawValue: stored.integer(0)))
      }
    }
    return ids
  }

  /// Locks all keys in one order, before looking any of them up.
  private func lock(_ keys: [(kind: Int64, key: String)], in pipeline: inout PostgresPipeline) throws {
    let sorted = keys.sorted { ($0.kind, $0.key) < ($1.kind, $1.key) }
    try pipeline.add(
      statement(
        "lock_keys",
        """
        SELECT \(schema).lock_key(kind, key)
        FROM ROWS FROM (pg_catalog.unnest($1::bigint[]), pg_catalog.unnest($2::pg_catalog.text[])) AS keys (kind, key)
        """)
    ) {
      $0.bind(sorted.map(\.kind))
      try $0.bind(sorted.map { $0.key as String? })
    }
  }

  private static func enqueueing(_ schema: SQL) -> SQL {
    """
    SELECT job, problem, other FROM \(schema).enqueue_job($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
      $17)
    """
  }

  private func bind(_ job: JobRequest, to parameters: inout PostgresParameters) throws {
    try bindOptions(of: job, to: &parameters)
    let key = job.options.uniqueKey
    try parameters.bind(key?.value)
    parameters.bind((key?.states ?? []).map(\.number).sorted())
    parameters.bind(key?.conflict == .replace)
    try bindContent(of: job, to: &parameters)
  }

  private func bindOptions(of job: JobRequest, to parameters: inout PostgresParameters) throws {
    let (options, start) = (job.options, start(of: job))
    parameters.bind(lane(of: job))
    parameters.bind(options.priority.major)
    parameters.bind(options.priority.minor)
    parameters.bind(flags(of: job).rawValue)
    parameters.bind(options.maxAttempts.map(Int64.init))
    parameters.bind(options.timeout?.milliseconds)
    parameters.bind(start.date)
    parameters.bind(start.delay)
    parameters.bind(options.startsHeld)
    parameters.bind(job.version)
    try parameters.bind(options.backoff?.storedForm)
  }

  private func bindContent(of job: JobRequest, to parameters: inout PostgresParameters) throws {
    parameters.bind(try job.payload as Data?, as: .json)
    parameters.bind(job.occurrence)
    parameters.bind(store.testTime)
  }

  /// A prerequisite may come later in the call than its dependent.
  private func block(_ ids: [JobID], _ jobs: [JobRequest]) throws {
    let blocked = JobRequest.positions(ofDependents: jobs, storedAs: ids).map { (ids[$0], jobs[$0]) }
    guard !blocked.isEmpty else { return }
    let results = try run { pipeline in
      let statement = statement(
        "block_job",
        """
        SELECT problem, other, job, job_lane, job_state, failed_with FROM \(schema).block_job($1, $2, $3, $4)
        """)
      for (id, job) in blocked {
        pipeline.add(statement) {
          $0.bind(id.rawValue)
          let prerequisites = job.options.dependsOn.map { $0.position.map { ids[$0] } ?? $0 }
          $0.bind(Set(prerequisites).map(\.rawValue).sorted())
          $0.bind(Int64(job.options.whenPrerequisiteFails.rawValue))
          $0.bind(store.testTime)
        }
      }
    }
    for ((_, job), result) in zip(blocked, results.suffix(blocked.count)) {
      try result.forEachRow { row in
        guard row.isNull(0) else {
          let other = JobID(rawValue: row.integer(1))
          throw JobError(
            row.integer(0) == 2 ? .unknownPrerequisite(other) : .circularPrerequisite(other), kind: job.kind)
        }
      }
      try tellDependents(result, from: 2)
    }
  }
}

extension PostgresStore {
  /// The maximum number of jobs of a statement: finding a number in an array takes as long as the
  /// array is.
  static let mostAtOnce = 500
  /// How many bytes the jobs of a statement may have together, unless it is one.
  private static let mostBytesAtOnce = 8 << 20
  /// How many bytes a job may have: the server takes no message of a gigabyte.
  static let mostBytesOfAJob = 512 << 20

  /// Cuts jobs into parts that are stored one after the other.
  static func parts(of jobs: [JobRequest]) throws -> [ArraySlice<JobRequest>] {
    var (parts, first, size) = ([ArraySlice<JobRequest>](), 0, 0)
    for (index, job) in jobs.enumerated() {
      let added = try job.payload.count
      if index > first, index - first == mostAtOnce || size + added > mostBytesAtOnce {
        parts.append(jobs[first..<index])
        (first, size) = (index, 0)
      }
      size += added
    }
    return first < jobs.count ? parts + [jobs[first...]] : parts
  }
}

extension PostgresParameters {
  /// How many bytes a unique key may have: an entry of an index has at most 2,704.
  private static let mostOfAKey = 2600

  /// Throws if the server cannot store a key.
  static func check(_ key: UniqueKey?) throws(PostgresError) {
    guard let key = key?.value else { return }
    guard key.utf8.count <= mostOfAKey else {
      throw PostgresError(
        .statement, message: "a unique key has \(key.utf8.count) bytes, and may have \(mostOfAKey) on a server")
    }
    var parameters = PostgresParameters()
    try parameters.bind(key)
  }
}
#endif
