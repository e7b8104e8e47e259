#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// The statement of a claim, and its result.
struct PostgresClaim {
  let request: ClaimRequest
  private let store: PostgresStore
  private let fromFront: Bool
  private var positions: (begin: Int, claim: Int, end: Int) = (0, 0, 0)

  init(_ request: ClaimRequest, in store: PostgresStore) {
    self.request = request
    self.store = store
    fromFront = store.cursors.withLock { $0.begin(at: .now, every: store.timeBetweenFronts) }
  }

  private var schema: SQL { store.schema }

  /// The lanes to claim from, each with the room of its kind.
  static func lanes(of request: ClaimRequest) -> [(lane: Int64, room: Int64)] {
    let networks = request.isOnline ? [0, JobLane.Bit.network.rawValue] : [0]
    return request.kinds.filter { $0.limit > 0 }.flatMap { kind in
      [0, JobLane.Bit.alone.rawValue].flatMap { alone in
        networks.map { (JobLane.number(ofKind: kind.kind) | alone | $0, Int64(kind.limit)) }
      }
    }
  }

  /// - Parameter worker: the new owner of the jobs.
  mutating func add(to pipeline: inout PostgresPipeline, worker: Int64) {
    positions.begin = pipeline.add(store.clock)
    let limited = store.state.withLock(\.limitedKinds).intersection(request.kinds.map(\.kind)).sorted()
    if !limited.isEmpty {
      // A statement of its own: the next one sees what this one waited for.
      pipeline.add(store.statement("lock_limits", Self.locking(schema))) { $0.bind(limited) }
    }
    positions.claim = pipeline.add(store.statement("claim", Self.statement(schema))) { parameters in
      Self.bind(Self.lanes(of: request), fromFront: fromFront, in: store, to: &parameters)
      parameters.bind(request.limit)
      parameters.bind(worker)
      parameters.bind(request.mayRunAlone)
      parameters.bind(store.testTime)
      parameters.bind(limited)
    }
    positions.end = pipeline.add(store.clock)
  }

  /// Binds parameters 1 to 6: lanes, their rooms, and where to begin in each.
  static func bind(
    _ lanes: [(lane: Int64, room: Int64)], fromFront: Bool, in store: PostgresStore,
    to parameters: inout PostgresParameters
  ) {
    let keys = store.cursors.withLock { cursors in
      lanes.map { fromFront ? PostgresClaimCursors.Key.first : cursors.key(of: $0.lane) }
    }
    parameters.bind(lanes.map(\.lane))
    parameters.bind(lanes.map(\.room))
    parameters.bind(keys.map(\.rank))
    parameters.bind(keys.map(\.subrank))
    parameters.bind(keys.map(\.attempts))
    parameters.bind(keys.map(\.id))
  }

  private static let columns: SQL = """
    id, lane, claim, attempts, crashes, max_attempts, timeout, backoff, version, payload, flags, major, minor, occurrence, \
    revision, enqueued_at
    """

  private static let order: SQL = "(~major), (~minor), attempts, id"

  /// The waiting jobs of a lane from its key on.
  private static func waiting(_ schema: SQL) -> SQL {
    """
    FROM \(schema).jobs WHERE state = \(.waiting) AND lane = l.lane AND (\(order)) >= (l.rank, l.subrank, l.attempts, l.id)
    """
  }

  private static let lanes: SQL = """
    ROWS FROM (pg_catalog.unnest($1::bigint[]), pg_catalog.unnest($2::bigint[]), pg_catalog.unnest($3::bigint[]), \
    pg_catalog.unnest($4::bigint[]), pg_catalog.unnest($5::bigint[]), pg_catalog.unnest($6::bigint[])) \
    AS l (lane, room, rank, subrank, attempts, id)
    """

  /// Locks the limited kinds, so that each claim sees what the others have claimed of them.
  private static func locking(_ schema: SQL) -> SQL {
    "SELECT id FROM \(schema).kinds WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE"
  }

  /// The lanes of kinds that are not paused, with the remaining room of kinds with a limit over all
  /// processes.
  ///
  /// - Parameter condition: which limited kinds have room at all.
  private static func open(_ schema: SQL, where condition: SQL) -> SQL {
    """
    SELECT l.lane, coalesce((
        SELECT CASE WHEN \(condition) THEN greatest(0, least(l.room, k.max_concurrent - (
          SELECT pg_catalog.count(*) FROM \(schema).jobs
          WHERE state = \(.executing) AND lane BETWEEN (k.id::bigint << 2) AND (k.id::bigint << 2) + 3))) ELSE 0 END
        FROM \(schema).kinds AS k WHERE k.id = l.lane >> 2 AND k.max_concurrent IS NOT NULL
      ), l.room) AS room, l.rank, l.subrank, l.attempts, l.id
    FROM \(lanes)
    WHERE NOT EXISTS (SELECT 1 FROM \(schema).kinds WHERE kinds.id = l.lane >> 2 AND kinds.paused)
    """
  }

  /// First finds out without locks how many of each lane are among the first; then locks exactly
  /// those, so that no row is locked that is not taken. While a job waits that must run alone,
  /// nothing else is claimed. Each row says how many jobs were meant, and whether such a job waits.
  private static func statement(_ schema: SQL) -> SQL {
    let ofLane: SQL = "\(waiting(schema)) ORDER BY \(order)"
    return """
      WITH lanes AS MATERIALIZED (
        \(open(schema, where: "k.id = ANY($11::bigint[])"))
      ), alone AS MATERIALIZED (
        SELECT EXISTS (SELECT 1 FROM lanes AS l CROSS JOIN LATERAL (SELECT 1 \(ofLane) LIMIT 1) AS first
          WHERE l.lane & \(lane: .alone) <> 0 AND l.room > 0) AS waits
      ), wanted AS MATERIALIZED (
        SELECT l.*, CASE WHEN alone.waits THEN least(1, $7::bigint) ELSE $7::bigint END AS most FROM lanes AS l CROSS JOIN alone
        WHERE (l.lane & \(lane: .alone) <> 0) = alone.waits AND ($9::boolean OR NOT alone.waits)
      ), heads AS (
        SELECT l.lane, l.room, l.most, h.rank, h.subrank, h.attempts, h.id,
          pg_catalog.row_number() OVER (PARTITION BY l.lane >> 2 ORDER BY h.rank, h.subrank, h.attempts, h.id) AS place
        FROM wanted AS l CROSS JOIN LATERAL (
          SELECT (~major) AS rank, (~minor) AS subrank, attempts, id \(ofLane) LIMIT least(l.room, l.most)) AS h
      ), n AS MATERIALIZED (
        SELECT lane, pg_catalog.count(*) AS n FROM (
          SELECT lane, pg_catalog.row_number() OVER (ORDER BY rank, subrank, attempts, id) AS place, most FROM heads WHERE place <= room
        ) AS chosen WHERE place <= most GROUP BY lane
      ), claimed AS (
        UPDATE \(schema).jobs SET state = \(.executing), worker = $8::bigint, claim = claim + 1,
          started_at = coalesce($10::bigint, \(schema).now_ms())
        WHERE id = ANY(ARRAY(
          SELECT k.id FROM n JOIN wanted AS l ON l.lane = n.lane CROSS JOIN LATERAL (
            SELECT id \(ofLane) LIMIT n.n FOR UPDATE SKIP LOCKED) AS k))
        RETURNING \(columns)
      )
      SELECT (SELECT coalesce(pg_catalog.sum(n), 0)::bigint FROM n), (SELECT waits FROM alone), claimed.*
      FROM (VALUES (1)) AS always LEFT JOIN claimed ON true
      """
  }

  /// Counts how many jobs could be claimed, without claiming them, and tells whether one waits that
  /// must run alone.
  static func count(_ schema: SQL) -> SQL {
    """
    WITH lanes AS MATERIALIZED (
      \(open(schema, where: "true"))
    ), found AS MATERIALIZED (
      SELECT l.lane, l.room, h.n FROM lanes AS l CROSS JOIN LATERAL (
        SELECT pg_catalog.count(*) AS n FROM (SELECT 1 \(waiting(schema)) LIMIT least(l.room, $7::bigint)) AS first) AS h
    )
    SELECT least($7::bigint, coalesce(pg_catalog.sum(ofkind.n), 0))::bigint,
      coalesce((SELECT pg_catalog.bool_or(n > 0) FROM found WHERE lane & \(lane: .alone) <> 0), false)
    FROM (SELECT least(pg_catalog.sum(n), pg_catalog.max(room)) AS n FROM found WHERE lane & \(lane: .alone) = 0 GROUP BY lane >> 2) AS ofkind
    """
  }

  // MARK: - What it gave

  struct Answer {
    var claim = Claim()
    /// Whether another process was faster with a job that was meant.
    var wasOvertaken = false
    /// The positions of the jobs that have a checkpoint.
    var withCheckpoint: [Int] = []
  }

  func answer(_ results: [PostgresResult]) -> Answer {
    var answer = Answer()
    var jobs: [(lane: Int64, key: PostgresClaimCursors.Key, job: ClaimedJob, hasCheckpoint: Bool)] = []
    var (planned, waits): (Int64, Bool) = (0, false)
    results[positions.claim].forEachRow { row in
      (planned, waits) = (row.integer(0), row.bool(1))
      guard !row.isNull(2) else { return }
      let job = Self.job(row, from: 2)
      let key = PostgresClaimCursors.Key(
        rank: ~row.integer(13), subrank: ~row.integer(14), attempts: row.integer(5), id: row.integer(2))
      let flags = JobFlags(rawValue: row.integer(12))
      jobs.append((row.integer(3), key, job, flags.contains(.hasCheckpoint)))
    }
    // The server does not promise the order of returned rows.
    jobs.sort { $0.key < $1.key }
    answer.claim.jobs = jobs.map(\.job)
    answer.withCheckpoint = jobs.indices.filter { jobs[$0].hasCheckpoint }
    answer.claim.waitsToRunAlone = waits && jobs.isEmpty && !request.mayRunAlone
    answer.wasOvertaken = Int64(jobs.count) < planned
    let claimed = PostgresClaimCursors.Claimed(
      lanes: Self.lanes(of: request).map(\.lane),
      last: Dictionary(jobs.map { ($0.lane, $0.key) }, uniquingKeysWith: { $1 }),
      exhausted: waits || answer.wasOvertaken ? [] : exhaustedLanes(answer.claim.jobs),
      duration: store.duration(from: results[positions.begin], to: results[positions.end]), isFromFront: fromFront)
    store.cursors.withLock { $0.claimed(claimed) }
    return answer
  }

  /// The lanes that had room for more.
  private func exhaustedLanes(_ jobs: [ClaimedJob]) -> Set<Int64> {
    guard jobs.count < request.limit else { return [] }
    let limited = store.state.withLock(\.limitedKinds)
    var counts: [Int64: Int64] = [:]
    for job in jobs { counts[job.kind, default: 0] += 1 }
    return Set(
      Self.lanes(of: request).filter {
        let kind = JobLane.kind(of: $0.lane)
        return !limited.contains(kind) && counts[kind, default: 0] < $0.room
      }.map(\.lane))
  }

  /// - Parameter first: the column of the number.
  static func job(_ row: PostgresRow, from first: Int32) -> ClaimedJob {
    let lane = row.integer(first + 1)
    return ClaimedJob(
      id: JobID(rawValue: row.integer(first)), kind: JobLane.kind(of: lane), claim: row.integer(first + 2),
      enqueuedAt: row.integer(first + 15), revision: row.integer(first + 14),
      attempts: Int(clamping: row.integer(first + 3)), crashes: Int(clamping: row.integer(first + 4)),
      maxAttempts: row.optionalInteger(first + 5).map { Int(clamping: $0) },
      timeout: row.optionalInteger(first + 6).map { .milliseconds($0) }, backoff: row.text(first + 7),
      holdsAfterLastAttempt: JobFlags(rawValue: row.integer(first + 10)).contains(.holdsAfterLastAttempt),
      requiresNetwork: lane & JobLane.Bit.network.rawValue != 0, isAlone: lane & JobLane.Bit.alone.rawValue != 0,
      version: Int(clamping: row.integer(first + 8)), payload: row.data(first + 9) ?? Data(),
      occurrence: row.optionalInteger(first + 13).map { Date(milliseconds: $0) })
  }

  /// Whether it has a checkpoint.
  static func hasCheckpoint(_ row: PostgresRow, from first: Int32) -> Bool {
    JobFlags(rawValue: row.integer(first + 10)).contains(.hasCheckpoint)
  }

  /// The columns that `job(_:from:)` reads, for jobs that a worker executes.
  static func executing(_ schema: SQL) -> SQL {
    "SELECT \(columns) FROM \(schema).jobs WHERE state = \(.executing) AND worker = $1 ORDER BY \(order)"
  }
}
#endif
