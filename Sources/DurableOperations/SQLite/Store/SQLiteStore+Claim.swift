import Foundation

extension SQLiteStore {
  /// Claims the first jobs.
  func claim(_ request: ClaimRequest) throws -> Claim {
    var claim = Claim()
    guard !request.kinds.isEmpty, request.limit > 0 else { return claim }
    let alone = try statement("SELECT 1 FROM durable_jobs WHERE state = \(.waiting) AND lane & \(lane: .alone) LIMIT 1")
    if try alone.first({ _ in true }) == true {
      let (job, waits) = try claimAlone(request)
      if let job { return Claim(jobs: [job]) }
      if waits { return Claim(waitsToRunAlone: true) }
    }
    claim.jobs = try take(request, limit: request.limit, bits: 0)
    return claim
  }

  /// The request with the remaining room of kinds with a limit over all processes. Only reads.
  func limited(_ request: ClaimRequest, by limits: [Int64: Int]) throws -> ClaimRequest {
    // Not by `durable_counts`, which do not know what a program of an older version has ended.
    let count = try statement(
      "SELECT count(*) FROM durable_jobs WHERE state = \(.executing) AND lane BETWEEN ?1 AND ?1 + 3")
    var request = request
    for index in request.kinds.indices {
      guard let limit = limits[request.kinds[index].kind] else { continue }
      count.bind(JobLane.number(ofKind: request.kinds[index].kind), at: 1)
      let room = limit - Int(clamping: try count.first { $0.integer(0) } ?? 0)
      request.kinds[index].limit = max(0, min(request.kinds[index].limit, room))
    }
    return request
  }

  /// How many jobs `claim` would take. Only reads.
  func countClaimable(_ request: ClaimRequest) throws -> Int {
    guard !request.kinds.isEmpty, request.limit > 0 else { return 0 }
    if try !waitingLanes(of: request, bits: JobLane.Bit.alone.rawValue).isEmpty { return request.mayRunAlone ? 1 : 0 }
    return try firstJobs(of: waitingLanes(of: request, bits: 0), limit: request.limit).count
  }

  /// Whether a job that must run alone waits. Only reads.
  func hasAloneJobs(for request: ClaimRequest) throws -> Bool {
    try !waitingLanes(of: request, bits: JobLane.Bit.alone.rawValue).isEmpty
  }

  /// Returns a job whose process ended while it ran, if this process may run one. `waits`: there is
  /// one, but something else runs.
  private func claimAlone(_ request: ClaimRequest) throws -> (ClaimedJob?, waits: Bool) {
    if request.mayRunAlone { return (try take(request, limit: 1, bits: JobLane.Bit.alone.rawValue).first, false) }
    return (nil, try !waitingLanes(of: request, bits: JobLane.Bit.alone.rawValue).isEmpty)
  }

  private func take(_ request: ClaimRequest, limit: Int, bits: Int64) throws -> [ClaimedJob] {
    let lanes = try waitingLanes(of: request, bits: bits)
    guard lanes.count > 1 else {
      guard let (lane, most) = lanes.first else { return [] }
      let update = try statement("\(Self.claiming) IN (SELECT id \(Self.ofLane)) \(Self.returning)")
      update.bind(request.worker, at: 1)
      update.bind(now, at: 2)
      update.bind(lane, at: 3)
      update.bind(min(most, limit), at: 4)
      return try claimedJobs(update)
    }
    // A union over the lanes would be one statement, but it sorts what is in order already, and
    // needs a statement for each number of lanes.
    let first = try firstJobs(of: lanes, limit: limit)
    var jobs: [ClaimedJob] = []
    for start in stride(from: 0, to: first.count, by: Self.together) {
      jobs += try take(first[start..<min(start + Self.together, first.count)], request)
    }
    return jobs
  }

  /// How many jobs a statement takes by their numbers.
  private static let together = 16
  private static let places = SQL(stringLiteral: (0..<together).map { "?\(3 + $0)" }.joined(separator: ", "))

  private func take(_ jobs: ArraySlice<OrderKey>, _ request: ClaimRequest) throws -> [ClaimedJob] {
    let update = try statement("\(Self.claiming) IN (\(Self.places)) \(Self.returning)")
    update.bind(request.worker, at: 1)
    update.bind(now, at: 2)
    for index in 0..<Self.together {
      // No job has the number null.
      update.bind(index < jobs.count ? jobs[jobs.startIndex + index].id : nil, at: Int32(3 + index))
    }
    return try claimedJobs(update)
  }

  // MARK: - Lanes

  private typealias Lane = (lane: Int64, limit: Int)

  /// The lanes with these bits that have waiting jobs, in order. It goes from one lane with jobs to
  /// the next, so that neither kinds without jobs nor those of other processes cost much.
  private func waitingLanes(of request: ClaimRequest, bits: Int64) throws -> [Lane] {
    let networks = request.isOnline ? [0, JobLane.Bit.network.rawValue] : [0]
    let lanes = request.kinds.filter { $0.limit > 0 }.sorted { $0.kind < $1.kind }.flatMap { kind in
      networks.map { (lane: JobLane.number(ofKind: kind.kind) | bits | $0, limit: kind.limit) }
    }
    let select = try statement(
      "SELECT lane FROM durable_jobs WHERE state = \(.waiting) AND lane >= ?1 ORDER BY lane LIMIT 1")
    var waiting: [Lane] = []
    var next = 0
    while next < lanes.count {
      select.bind(lanes[next].lane, at: 1)
      // In SQLite's order, a value that is no number comes behind all numbers, and reads as 0. A
      // damaged file may have some.
      guard let found = try select.first({ $0.integer(0) }), found >= lanes[next].lane else { break }
      while next < lanes.count, lanes[next].lane < found { next += 1 }
      if next < lanes.count, lanes[next].lane == found {
        waiting.append(lanes[next])
        next += 1
      }
    }
    return waiting
  }

  /// The first jobs of several lanes, in their order. It reads each lane in the order of the index,
  /// no further than what can still come first, so that the number of stored jobs does not matter.
  private func firstJobs(of lanes: [Lane], limit: Int) throws -> [OrderKey] {
    let select = try statement("SELECT major, minor, attempts, id \(Self.ofLane)")
    var first: [OrderKey] = []
    var index = 0
    while index < lanes.count {
      // A kind's lanes are adjacent, and have one limit.
      let kind = JobLane.kind(of: lanes[index].lane), most = min(lanes[index].limit, limit)
      var ofKind: [OrderKey] = []
      while index < lanes.count, JobLane.kind(of: lanes[index].lane) == kind {
        select.bind(lanes[index].lane, at: 3)
        select.bind(most, at: 4)
        let ofLane = try select.prefix { row in
          let key = Self.orderKey(row.integer(0), row.integer(1), row.integer(2), row.integer(3))
          return first.count < limit || key < first[limit - 1] ? key : nil
        }
        ofKind = Self.merged(ofKind, ofLane, limit: most)
        index += 1
      }
      first = Self.merged(first, ofKind, limit: limit)
    }
    return first
  }

  /// The first elements of two sorted lists.
  private static func merged(_ left: [OrderKey], _ right: [OrderKey], limit: Int) -> [OrderKey] {
    var merged: [OrderKey] = []
    var (next, other) = (0, 0)
    while merged.count < limit, next < left.count || other < right.count {
      if other == right.count || next < left.count && left[next] < right[other] {
        merged.append(left[next])
        next += 1
      } else {
        merged.append(right[other])
        other += 1
      }
    }
    return merged
  }

  private typealias OrderKey = (major: Int64, minor: Int64, attempts: Int64, id: Int64)

  /// The smallest is first. Not negated: the smallest number has no opposite.
  private static func orderKey(_ major: Int64, _ minor: Int64, _ attempts: Int64, _ id: Int64) -> OrderKey {
    (~major, ~minor, attempts, id)
  }

  private func claimedJobs(_ update: Statement) throws -> [ClaimedJob] {
    // SQLite does not promise the order of returned rows.
    var jobs: [(key: OrderKey, job: ClaimedJob)] = []
    var withCheckpoint: [Int] = []
    try update.forEachRow { row in
      let job = Self.claimedJob(row)
      deltas.move(ofKind: job.kind, from: JobState.waiting.number, to: JobState.executing.number)
      if row.flags(10).contains(.hasCheckpoint) { withCheckpoint.append(jobs.count) }
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
      id: JobID(rawValue: row.integer(0)), kind: JobLane.kind(of: lane), claim: row.integer(2),
      enqueuedAt: row.integer(15), revision: row.integer(14),
      // A damaged row must not end the process.
      attempts: Int(clamping: min(row.integer(3), Int64(Int32.max))),
      crashes: Int(clamping: row.integer(4)),
      maxAttempts: row.optionalInteger(5).map { Int(clamping: $0) },
      timeout: row.optionalInteger(6).map { .milliseconds($0) }, backoff: row.text(7),
      holdsAfterLastAttempt: row.flags(10).contains(.holdsAfterLastAttempt),
      requiresNetwork: lane & JobLane.Bit.network.rawValue != 0, isAlone: lane & JobLane.Bit.alone.rawValue != 0,
      version: Int(clamping: row.integer(8)), payload: row.data(9) ?? Data(),
      occurrence: row.optionalInteger(13).map { Date(milliseconds: $0) })
  }

  private static let claiming: SQL =
    "UPDATE durable_jobs SET state = \(.executing), worker = ?1, claim = claim + 1, started_at = ?2 WHERE id"
  private static let returning: SQL = """
    RETURNING id, lane, claim, attempts, crashes, max_attempts, timeout, backoff, version, payload, flags, major, minor, \
    occurrence, revision, enqueued_at
    """
  /// The first jobs of one lane, in the order of the index.
  private static let ofLane: SQL =
    "FROM durable_jobs WHERE state = \(.waiting) AND lane = ?3 ORDER BY major DESC, minor DESC, attempts, id LIMIT ?4"

  /// Whether a job of one of the kinds is due, in the lanes with these bits.
  func isAnyWaiting(_ kinds: [Int64], bits: Int64, isOnline: Bool) throws -> Bool {
    let select = try statement("SELECT 1 FROM durable_jobs WHERE state = \(.waiting) AND lane = ?1 LIMIT 1")
    for kind in kinds {
      for network in isOnline ? [0, JobLane.Bit.network.rawValue] : [0] {
        select.bind(JobLane.number(ofKind: kind) | bits | network, at: 1)
        if try select.first({ _ in true }) == true { return true }
      }
    }
    return false
  }

  // MARK: - Time

  /// Makes due jobs wait, a thousand at once. Returns how many.
  func promote() throws -> Int {
    let update = try statement(
      """
      UPDATE durable_jobs SET state = \(.waiting)
      WHERE id IN (SELECT id FROM durable_jobs WHERE state = \(.scheduled) AND run_at <= ?1 ORDER BY run_at LIMIT 1000)
      RETURNING lane
      """)
    update.bind(now, at: 1)
    var count = 0
    try update.forEachRow { row in
      deltas.move(
        ofKind: JobLane.kind(of: row.integer(0)), from: JobState.scheduled.number, to: JobState.waiting.number)
      count += 1
    }
    return count
  }

  /// When the next scheduled job is due; nil if there is none. Only reads.
  func nextDue() throws -> Int64? {
    try statement("SELECT run_at FROM durable_jobs WHERE state = \(.scheduled) ORDER BY run_at LIMIT 1").first {
      $0.integer(0)
    }
  }
}
