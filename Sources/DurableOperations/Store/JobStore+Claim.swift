import Foundation

/// What may be claimed.
struct ClaimRequest {
  /// The kinds, each with how many of it may run more.
  var kinds: [(kind: Int64, limit: Int)]
  /// How many jobs may run more at all.
  var limit: Int
  var isOnline: Bool
  /// Whether a job that must run alone may be claimed: nothing else runs.
  var mayRunAlone: Bool
  var worker: Int64
  var now: Int64
}

/// A job that this process was given.
struct ClaimedJob: Sendable {
  let id: JobID
  let kind: Int64
  /// Tells this attempt from any other one of the job: what is acknowledged with an older one is refused.
  let claim: Int64
  /// How many jobs have taken the place of the one before them.
  let revision: Int64
  let attempts: Int
  let crashes: Int
  let maxAttempts: Int?
  let timeout: Duration?
  let backoff: String?
  let holdsAfterLastAttempt: Bool
  let requiresNetwork: Bool
  let isAlone: Bool
  let version: Int
  let payload: Data
  let occurrence: Date?
  var checkpoint: Data?
}

/// What was claimed.
struct Claim {
  var jobs: [ClaimedJob] = []
  /// A job that must run alone waits until nothing else runs.
  var waitsToRunAlone = false
}

extension JobStore {
  /// SQLite takes 500 selects in a union; there are two for each kind.
  private static let maxKinds = 200

  /// Takes the jobs that come first.
  func claim(_ request: ClaimRequest) throws -> Claim {
    var claim = Claim()
    guard !request.kinds.isEmpty, request.limit > 0 else { return claim }
    let alone = try statement("SELECT 1 FROM durable_jobs WHERE state = 0 AND lane & 2 LIMIT 1")
    if try alone.first({ _ in true }) == true {
      let (job, waits) = try claimAlone(request)
      if let job { return Claim(jobs: [job]) }
      if waits { return Claim(waitsToRunAlone: true) }
    }
    if request.kinds.count > Self.maxKinds {
      claim.jobs = try takeOfMany(request)
    } else {
      claim.jobs = try take(request.kinds[...], limit: request.limit, bits: 0, request)
    }
    return claim
  }

  /// A job whose process ended while it ran, if there is one for this process. `waits`: there is one, but something else
  /// runs.
  private func claimAlone(_ request: ClaimRequest) throws -> (ClaimedJob?, waits: Bool) {
    for first in stride(from: 0, to: request.kinds.count, by: Self.maxKinds) {
      let kinds = request.kinds[first..<min(first + Self.maxKinds, request.kinds.count)]
      if request.mayRunAlone {
        if let job = try take(kinds, limit: 1, bits: Schema.aloneLane, request).first { return (job, false) }
      } else if try isAnyWaiting(kinds.map(\.kind), bits: Schema.aloneLane, isOnline: request.isOnline) {
        return (nil, true)
      }
    }
    return (nil, false)
  }

  private func take(
    _ kinds: ArraySlice<(kind: Int64, limit: Int)>, limit: Int, bits: Int64, _ request: ClaimRequest
  ) throws -> [ClaimedJob] {
    let update = try claimStatement(kinds: kinds.count, isOnline: request.isOnline)
    update.bind(request.worker, at: 1)
    update.bind(request.now, at: 2)
    bind(kinds, limit: limit, bits: bits, to: update)
    return try claimedJobs(update)
  }

  /// Takes jobs of more kinds than one statement can: of those that come first in each part the first of all.
  private func takeOfMany(_ request: ClaimRequest) throws -> [ClaimedJob] {
    var first: [(key: OrderKey, id: Int64)] = []
    for start in stride(from: 0, to: request.kinds.count, by: Self.maxKinds) {
      let kinds = request.kinds[start..<min(start + Self.maxKinds, request.kinds.count)]
      let count = kinds.count, isOnline = request.isOnline
      let select = try kept("first \(count) \(isOnline)", Self.firstJobs(kinds: count, isOnline: isOnline))
      bind(kinds, limit: request.limit, bits: 0, to: select)
      try select.forEachRow { row in
        let id = row.integer(0)
        first.append((Self.orderKey(row.integer(1), row.integer(2), row.integer(3), id), id))
      }
    }
    first.sort { $0.key < $1.key }
    let update = try kept("claim one", "\(Self.claiming) = ?3 \(Self.returning)")
    update.bind(request.worker, at: 1)
    update.bind(request.now, at: 2)
    return try first.prefix(request.limit).flatMap { job in
      update.bind(job.id, at: 3)
      return try claimedJobs(update)
    }
  }

  private func bind(
    _ kinds: ArraySlice<(kind: Int64, limit: Int)>, limit: Int, bits: Int64, to statement: Statement
  ) {
    statement.bind(limit, at: 3)
    for (index, kind) in kinds.enumerated() {
      statement.bind(Schema.lane(ofKind: kind.kind) | bits, at: Int32(4 + 2 * index))
      statement.bind(min(kind.limit, limit), at: Int32(5 + 2 * index))
    }
  }

  private typealias OrderKey = (Int64, Int64, Int64, Int64)

  /// The smallest is first. Not with a minus: there is none for the smallest number.
  private static func orderKey(_ major: Int64, _ minor: Int64, _ attempts: Int64, _ id: Int64) -> OrderKey {
    (~major, ~minor, attempts, id)
  }

  private func claimedJobs(_ update: Statement) throws -> [ClaimedJob] {
    // In which order rows are returned is not promised.
    var jobs: [(key: OrderKey, job: ClaimedJob)] = []
    var withCheckpoint: [Int] = []
    try update.forEachRow { row in
      let job = Self.claimedJob(row)
      if row.integer(10) & Schema.Flags.hasCheckpoint != 0 { withCheckpoint.append(jobs.count) }
      let key = Self.orderKey(row.integer(11), row.integer(12), row.integer(3), row.integer(0))
      jobs.append((key, job))
    }
    for index in withCheckpoint { jobs[index].job.checkpoint = try checkpoint(of: jobs[index].job.id) }
    if jobs.count > 1 { jobs.sort { $0.key < $1.key } }
    return jobs.map(\.job)
  }

  private static func claimedJob(_ row: Statement) -> ClaimedJob {
    let lane = row.integer(1)
    return ClaimedJob(
      id: JobID(rawValue: row.integer(0)), kind: Schema.kind(ofLane: lane), claim: row.integer(2),
      revision: row.integer(14), attempts: Int(row.integer(3)), crashes: Int(row.integer(4)),
      maxAttempts: row.optionalInteger(5).map(Int.init),
      timeout: row.optionalInteger(6).map { .milliseconds($0) }, backoff: row.text(7),
      holdsAfterLastAttempt: row.integer(10) & Schema.Flags.holdsAfterLastAttempt != 0,
      requiresNetwork: lane & Schema.networkLane != 0, isAlone: lane & Schema.aloneLane != 0,
      version: Int(row.integer(8)), payload: row.data(9) ?? Data(),
      occurrence: row.optionalInteger(13).map { Date(milliseconds: $0) })
  }

  private static let claiming =
    "UPDATE durable_jobs SET state = 3, worker = ?1, claim = claim + 1, started_at = ?2 WHERE id"
  private static let returning = """
    RETURNING id, lane, claim, attempts, crashes, max_attempts, timeout, backoff, version, payload, flags, major, minor, \
    occurrence, revision
    """
  private static let order = "ORDER BY major DESC, minor DESC, attempts, id"

  private func claimStatement(kinds count: Int, isOnline: Bool) throws -> Statement {
    try kept(
      "claim \(count) \(isOnline)",
      "\(Self.claiming) IN (SELECT id FROM (\(Self.firstJobs(kinds: count, isOnline: isOnline)))) \(Self.returning)")
  }

  /// One statement finds the first jobs of several lanes together. Each lane is read in the order of the index, no
  /// further than its limit, so that it does not matter how many jobs are stored.
  private static func firstJobs(kinds count: Int, isOnline: Bool) -> String {
    let columns = "SELECT id, major, minor, attempts FROM durable_jobs WHERE state = 0 AND lane ="
    let perKind = (0..<count).map { index in
      let lane = "?\(4 + 2 * index)", limit = "?\(5 + 2 * index)"
      let plain = "SELECT * FROM (\(columns) \(lane) \(order) LIMIT \(limit))"
      if !isOnline { return plain }
      let network = "SELECT * FROM (\(columns) \(lane) + 1 \(order) LIMIT \(limit))"
      return "SELECT * FROM (SELECT * FROM (\(plain) UNION ALL \(network)) \(order) LIMIT \(limit))"
    }
    return "SELECT * FROM (\(perKind.joined(separator: " UNION ALL "))) \(order) LIMIT ?3"
  }

  /// Whether a job of one of the kinds is due, in the lanes with these bits.
  func isAnyWaiting(_ kinds: [Int64], bits: Int64, isOnline: Bool) throws -> Bool {
    let select = try statement("SELECT 1 FROM durable_jobs WHERE state = 0 AND lane = ?1 LIMIT 1")
    for kind in kinds {
      for network in isOnline ? [0, Schema.networkLane] : [0] {
        select.bind(Schema.lane(ofKind: kind) | bits | network, at: 1)
        if try select.first({ _ in true }) == true { return true }
      }
    }
    return false
  }

  // MARK: - Time

  /// Has jobs whose time has come wait, a thousand at once. Returns how many.
  func promote(now: Int64) throws -> Int {
    let update = try statement(
      """
      UPDATE durable_jobs SET state = 0
      WHERE id IN (SELECT id FROM durable_jobs WHERE state = 1 AND run_at <= ?1 ORDER BY run_at LIMIT 1000)
      """)
    update.bind(now, at: 1)
    try update.run()
    return connection.changeCount
  }

  /// When the next scheduled job is due; nil if there is none. Only reads.
  func nextDue() throws -> Int64? {
    try statement("SELECT run_at FROM durable_jobs WHERE state = 1 ORDER BY run_at LIMIT 1").first { $0.integer(0) }
  }
}
