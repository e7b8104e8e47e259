#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

// The workers: leases, and the jobs of lost processes.

extension PostgresSession {
  func prolongLease(of worker: Int64?, by lease: Duration, knowing kinds: [Int64]) throws -> Bool {
    // If the worker is gone, first find out what a round with a lost answer has written.
    try settleRounds()
    var position: Int?
    let results = try transaction(isRepeatable: true) { work in
      try work.run(commits: true) { pipeline in
        // Other processes are about to note what they have locked. A process that stands still must
        // not keep another from renewing its lease.
        pipeline.add(
          statement(
            "know_kinds",
            """
            UPDATE \(schema).kinds SET known_at = coalesce($2::bigint, \(schema).now_ms()) WHERE id = ANY(ARRAY(
              SELECT id FROM \(schema).kinds WHERE id = ANY($1::bigint[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED))
            """)
        ) {
          $0.bind(kinds)
          $0.bind(store.testTime)
        }
        guard let worker else { return }
        position = pipeline.add(
          statement(
            "prolong_lease",
            """
            UPDATE \(schema).workers SET lease = $2, lease_until = coalesce($3::bigint, \(schema).now_ms()) + $2 WHERE id = $1
              AND EXISTS (SELECT 1 FROM \(schema).rounds WHERE rounds.worker = $1) AND lease_until > 0
            RETURNING id
            """)
        ) {
          $0.bind(worker)
          $0.bind(lease.milliseconds)
          $0.bind(store.testTime)
        }
      }
    }
    guard let worker, let position, results[position].count == 0 else { return true }
    store.numbers.withLock { $0.end(worker) }
    return false
  }

  func leave(_ worker: Int64) throws -> Bool {
    // A round with a lost answer may have claimed something.
    try settleRounds()
    let hasLeft = try betweenRounds(of: worker) { work in
      let own = try work.run(
        "has_jobs", "SELECT 1 FROM \(schema).jobs WHERE state = \(.executing) AND worker = $1 LIMIT 1"
      ) { $0.bind(worker) }
      guard own.count == 0 else { return false }
      try work.remove(worker)
      return true
    }
    if hasLeft { store.numbers.withLock { $0.end(worker) } }
    return hasLeft
  }

  func rescue(_ lost: LostWorkers) throws -> Bool {
    var hasRescued = false
    for worker in lost.workers {
      let (how, most): (Int64, Int?) =
        switch worker.loss {
        case .crashed: (0, lost.maxCrashes)
        case .lapsed: (1, lost.maxLapses)
        case .stoodStill: (2, nil)
        }
      // A process that stood still in a round, or became unreachable, would keep its number for
      // ever.
      try endSession(holding: worker.row.id, openFor: .milliseconds(worker.row.lease / 3))
      if try rescue(worker.row.id, expected: worker.row.leaseUntil, worker.loss, how, most) { hasRescued = true }
    }
    for worker in lost.orphaning where try rescue(worker, expected: nil, .stoodStill, 2, nil) { hasRescued = true }
    return hasRescued
  }

  private func rescue(
    _ worker: Int64, expected: Int64?, _ loss: WorkerLoss, _ how: Int64, _ most: Int?
  ) throws -> Bool {
    try transaction { work in
      let rescued = try work.run(
        "rescue", "SELECT job, job_lane, job_state, losses FROM \(schema).rescue($1, $2, $3::int, $4, $5)"
      ) {
        $0.bind(worker)
        $0.bind(expected)
        $0.bind(how)
        $0.bind(most.map(Int64.init))
        $0.bind(store.testTime)
      }
      guard rescued.count > 0 else { return false }
      let ids = rescued.map { JobID(rawValue: $0.integer(0)) }
      work.tell(.rescued(ids))
      try rescued.forEachRow { row in
        let (id, kind) = (JobID(rawValue: row.integer(0)), try work.kindName(JobLane.kind(of: row.integer(1))))
        work.makeRoom(ofKind: kind)
        switch JobState(rawValue: Int(clamping: row.integer(2))) {
        case .dead:
          let losses = Int(clamping: row.integer(3))
          let error = JobError(
            loss == .lapsed ? .tooManyLapses(losses) : .tooManyCrashes(losses), id: id, kind: kind)
          try work.run("set_error", "UPDATE \(schema).jobs SET error = $2 WHERE id = $1") {
            $0.bind(id.rawValue)
            try $0.bind(error.description)
          }
          work.tellDead(id, kind: kind, error: error)
        case .cancelled: work.tell(.cancelled(id, kind: kind))
        default: work.free(row.integer(1))
        }
      }
      try work.attemptsEnded(ids)
      return true
    }
  }
}
#endif
