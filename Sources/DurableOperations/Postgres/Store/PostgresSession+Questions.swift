#if os(macOS) || os(Linux)
import Foundation

extension PostgresSession {
  func state(of id: JobID) throws -> JobState? {
    try read("state", "SELECT state FROM \(schema).jobs WHERE id = $1") { $0.bind(id.rawValue) }
      .first { JobState(rawValue: Int(clamping: $0.integer(0))) } ?? nil
  }

  func record(_ id: JobID) throws -> JobRecord? {
    let rows = try read("record", "SELECT \(Self.columns(schema)) FROM \(schema).jobs WHERE id = $1") {
      $0.bind(id.rawValue)
    }
    return try records(rows).first
  }

  func records(_ filter: JobFilter, after: JobID?, limit: Int) throws -> [JobRecord] {
    guard let condition = try condition(filter) else { return [] }
    return try records(
      question(
        "SELECT \(Self.columns(schema)) FROM \(schema).jobs WHERE \(condition) AND id > $1::bigint ORDER BY id LIMIT $2::bigint"
      ) {
        $0.bind(after?.rawValue ?? 0)
        $0.bind(limit)
      })
  }

  func records(uniqueKey: String, kind: String) throws -> [JobRecord] {
    guard let kind = try knownKindNumber(kind) else { return [] }
    return try records(
      read(
        "records_of_key",
        "SELECT \(Self.columns(schema)) FROM \(schema).jobs WHERE unique_key = $1 AND lane >> 2 = $2 ORDER BY id"
      ) {
        try $0.bind(uniqueKey)
        $0.bind(kind)
      })
  }

  /// One statement, so that workers and jobs belong to one moment.
  func workers() throws -> [StoredWorker] {
    var workers: [StoredWorker] = []
    try read(
      "workers",
      """
      SELECT w.id, boot, namespace, host, process, started, lease, lease_until, j.id, k.name, j.started_at,
        coalesce($1::bigint, \(schema).now_ms())
      FROM \(schema).workers AS w LEFT JOIN \(schema).jobs AS j ON j.worker = w.id AND j.state = \(.executing)
        LEFT JOIN \(schema).kinds AS k ON k.id = j.lane >> 2
      ORDER BY w.id, j.id
      """
    ) { $0.bind(store.testTime) }.forEachRow { row in
      let job = row.optionalInteger(8).map { id in
        JobWorker.RunningJob(
          id: JobID(rawValue: id), kind: row.text(9) ?? "",
          startedAt: row.optionalInteger(10).map { Date(milliseconds: $0) })
      }
      workers.add(Self.worker(row), job, at: row.integer(11))
    }
    return workers
  }

  /// Nil if no job can match.
  func condition(_ filter: JobFilter) throws -> SQL? { try filter.condition(numberOfKind: knownKindNumber) }

  // MARK: - Records

  private static func columns(_ schema: SQL) -> SQL {
    """
    id, lane, state, major, minor, attempts, max_attempts, crashes, error, enqueued_at, run_at, started_at, finished_at, \
    timeout, unique_key, blockers, flags, version, payload, \
    ARRAY(SELECT prerequisite FROM \(schema).dependencies WHERE dependent = jobs.id ORDER BY 1), \
    CASE WHEN flags & \(flags: .hasCheckpoint) <> 0 THEN (SELECT pg_catalog.length(data) FROM \(schema).checkpoints WHERE job = jobs.id) END, \
    lapses
    """
  }

  private func records(_ rows: PostgresResult) throws -> [JobRecord] {
    let withErrors = rows.map { ($0.integer(0), JobFlags(rawValue: $0.integer(16))) }
      .filter { $0.1.contains(.hasErrors) }.map(\.0)
    let failures = withErrors.isEmpty ? [:] : try failures(of: withErrors)
    return try rows.map { row in try record(row, failures[row.integer(0)] ?? []) }
  }

  private func failures(of ids: [Int64]) throws -> [Int64: [JobRecord.Failure]] {
    var failures: [Int64: [JobRecord.Failure]] = [:]
    try read(
      "errors",
      "SELECT job, attempt, at, error FROM \(schema).errors WHERE job = ANY($1::bigint[]) ORDER BY job, number"
    ) { $0.bind(ids) }.forEachRow { row in
      failures[row.integer(0), default: []].append(
        JobRecord.Failure(
          attempt: Int(clamping: row.integer(1)), failedAt: Date(milliseconds: row.integer(2)), error: row.text(3) ?? ""
        ))
    }
    return failures
  }

  private func record(_ row: PostgresRow, _ failures: [JobRecord.Failure]) throws -> JobRecord {
    let lane = row.integer(1)
    let flags = JobFlags(rawValue: row.integer(16))
    func date(_ column: Int32) -> Date? { row.optionalInteger(column).map { Date(milliseconds: $0) } }
    return JobRecord(
      id: JobID(rawValue: row.integer(0)), kind: try kindName(JobLane.kind(of: lane)),
      state: JobState(rawValue: Int(clamping: row.integer(2))) ?? .dead,
      priority: JobPriority(major: Int(clamping: row.integer(3)), minor: Int(clamping: row.integer(4))),
      attempts: Int(clamping: row.integer(5)), maxAttempts: row.optionalInteger(6).map { Int(clamping: $0) },
      crashes: Int(clamping: row.integer(7)), lapses: Int(clamping: row.integer(21)), lastError: row.text(8),
      failures: failures, enqueuedAt: Date(milliseconds: row.integer(9)), runAt: date(10), startedAt: date(11),
      finishedAt: date(12), requiresNetwork: lane & JobLane.Bit.network.rawValue != 0,
      timeout: row.optionalInteger(13).map { .milliseconds($0) }, uniqueKey: row.text(14),
      unmetPrerequisites: Int(clamping: row.integer(15)),
      prerequisites: row.integer(15) > 0 ? (row.integers(19) ?? []).map(JobID.init) : [],
      isCancelRequested: flags.contains(.isCancelRequested),
      holdsAfterLastAttempt: flags.contains(.holdsAfterLastAttempt),
      checkpointSize: row.optionalInteger(20).map { Int(clamping: $0) }, version: Int(clamping: row.integer(17)),
      payload: row.data(18) ?? Data())
  }
}
#endif
