import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// The life of a job as a value, and the store's statements against it: what can happen to a stored job, in every state. That it is
/// replaced where it is, or given prerequisites, is for the tests of these.
@Suite(.timeLimit(.minutes(30))) struct JobTransitionTests {
  private static let now: Int64 = 1_800_000_000_000
  private static let worker: Int64 = 7

  static let transitions = beginnings + ends + losses + prerequisites + wishes

  private static let beginnings: [JobTransition] = [
    .comesDue, .claimed(worker: worker), .givenUp, .clockMoved(by: 5000),
  ]

  private static let ends: [JobTransition] = {
    var ends: [JobTransition] = [
      .ended(.done(isKept: true)), .ended(.done(isKept: false)), .ended(.returned), .ended(.dead), .ended(.held),
      .ended(.cancelled(hasError: false)), .ended(.cancelled(hasError: true)),
    ]
    for delay in [Duration.zero, .milliseconds(-1), .seconds(1)] {
      for isCharged in [true, false] {
        for hasError in [true, false] {
          ends.append(.ended(.again(after: delay, isCharged: isCharged, hasError: hasError)))
        }
      }
    }
    return ends
  }()

  private static let losses: [JobTransition] = {
    var losses: [JobTransition] = [.abandoned, .abandonedNoMore, .lost(.stoodStill, limit: nil)]
    let limits: [Int64?] = [nil, 1, 2, 3]
    for limit in limits { losses += [.lost(.crashed, limit: limit), .lost(.lapsed, limit: limit)] }
    return losses
  }()

  private static let prerequisites: [JobTransition] = {
    var ends: [JobTransition] = []
    let all: [PrerequisiteEnd] = [.done, .failed, .deleted]
    let failing: [PrerequisiteFailure] = [.wait, .cancel, .die, .run]
    for end in all { ends += failing.map { .prerequisiteEnded(end, failing: $0) } }
    return ends
  }()

  private static let wishes: [JobTransition] = [.cancel, .retry, .hold, .delete, .replacedWhileExecuting]

  /// All that differ in something that a transition looks at.
  private static let lives: [JobLife] = {
    var lives: [JobLife] = []
    let times: [Int64?] = [nil, now - 1, now + 1]
    for state in JobState.allCases {
      let flags: [JobFlags] =
        state == .executing ? [.isCancelRequested, .isReplaced, .isAbandoned] : [.isReplaced, .runsAfterDelay]
      for flags in subsets(of: flags) {
        for (runAt, blockers) in times.flatMap({ time in (0...2).map { (time, Int64($0)) } }) {
          for isAlone in [false, true] {
            lives.append(
              JobLife(
                state: state, flags: flags, isAlone: isAlone, attempts: 3, crashes: 1, lapses: blockers % 2,
                blockers: blockers, claim: 4, worker: state == .executing ? worker : nil, runAt: runAt, startedAt: 5,
                finishedAt: state.isSettled ? 6 : nil))
          }
        }
      }
    }
    return lives
  }()

  private static func subsets(of flags: [JobFlags]) -> [JobFlags] {
    flags.reduce([[]]) { subsets, flag in subsets + subsets.map { $0.union(flag) } }
  }

  // MARK: - The value

  @Test(arguments: transitions) func job_afterAnything_isWhole(_ transition: JobTransition) {
    for life in Self.lives {
      guard case .becomes(let job) = transition.result(for: life, now: Self.now) else { continue }
      #expect((job.worker != nil) == (job.state == .executing), "\(life)")
      #expect((job.finishedAt != nil) == job.state.isSettled, "\(life)")
      #expect(job.state == .executing || job.flags.isDisjoint(with: [.isCancelRequested, .isAbandoned]), "\(life)")
      #expect(job.claim == life.claim || job.claim == life.claim + 1 && job.state == .executing, "\(life)")
    }
  }

  @Test func states_areReachedFromTheseStatesAlone() {
    var ways: [JobState: Set<JobState>] = [:]
    for transition in Self.transitions {
      for life in Self.lives {
        guard case .becomes(let job) = transition.result(for: life, now: Self.now), job.state != life.state else {
          continue
        }
        ways[life.state, default: []].insert(job.state)
      }
    }
    #expect(
      ways == [
        .waiting: [.executing, .held, .cancelled, .dead],
        .scheduled: [.waiting, .blocked, .held, .cancelled],
        .blocked: [.waiting, .scheduled, .held, .cancelled, .dead],
        .executing: [.waiting, .scheduled, .held, .cancelled, .dead, .done],
        .held: [.waiting, .blocked, .cancelled, .dead],
        .cancelled: [.waiting, .blocked],
        .dead: [.waiting, .blocked],
      ])
  }

  // MARK: - The store

  @Test(arguments: transitions) func store_doesWhatTheTransitionSays(_ transition: JobTransition) throws {
    let table = try JobTable()
    for life in Self.lives where Self.canHappen(transition, to: life) {
      try table.store(life)
      let expected = transition.result(for: life, now: Self.now)
      let isRefused = try table.isRefused { try table.apply(transition) }
      let found = try table.life
      switch expected {
      case .becomes(let job): #expect(found == job && !isRefused, "\(life)")
      case .isDeleted: #expect(found == nil && !isRefused, "\(life)")
      case .isIgnored: #expect(found == life && !isRefused, "\(life)")
      case .isRefused: #expect(found == life && isRefused, "\(life)")
      }
      #expect(try table.countsAreRight, "\(life)")
    }
  }

  @Test(arguments: ends) func store_ignoresTheEndOfAnOlderAttempt(_ transition: JobTransition) throws {
    let table = try JobTable()
    for life in Self.lives where life.state == .executing {
      try table.store(life)
      try table.apply(transition, claim: life.claim - 1)
      #expect(try table.life == life)
    }
  }

  private static func canHappen(_ transition: JobTransition, to life: JobLife) -> Bool {
    switch transition {
    // It waits for none, or is replaced where it is.
    case .prerequisiteEnded: life.blockers > 0
    case .replacedWhileExecuting: life.state == .executing
    default: true
    }
  }
}

/// One job in a store, of which each column can be set.
private final class JobTable {
  private let harness: StoreHarness
  private let kind: Int64
  private let id = JobID(rawValue: 1), prerequisite = JobID(rawValue: 99)
  private var connection: Connection { harness.store.connection }

  init() throws {
    harness = try StoreHarness()
    kind = try harness.change { try $0.kindID("a") }
  }

  func store(_ life: JobLife) throws {
    try connection.execute(
      """
      DELETE FROM durable_jobs; DELETE FROM durable_dependencies; DELETE FROM durable_errors; DELETE FROM durable_counts;
      DELETE FROM durable_meta WHERE key IN ('clock', 'boot', 'seen')
      """)
    let lane = JobLane.number(ofKind: kind) | (life.isAlone ? JobLane.Bit.alone.rawValue : 0)
    try harness.change { store in
      try connection.execute(
        """
        INSERT INTO durable_jobs (id, lane, state, flags, attempts, crashes, lapses, blockers, claim, worker, run_at, started_at,
          finished_at, major, minor, enqueued_at, version, payload, unique_key)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 1, '{}', 'key')
        """,
        [
          .integer(id.rawValue), .integer(lane), .integer(life.state.number), .integer(life.flags.rawValue),
          .integer(life.attempts), .integer(life.crashes), .integer(life.lapses), .integer(life.blockers),
          .integer(life.claim), SQLValue(life.worker), SQLValue(life.runAt), SQLValue(life.startedAt),
          SQLValue(life.finishedAt),
        ])
      store.deltas.add(1, kind: kind, state: life.state.number)
    }
  }

  /// Nil if it is deleted.
  var life: JobLife? {
    get throws {
      let rows = try connection.execute(
        """
        SELECT state, flags, lane, attempts, crashes, lapses, blockers, claim, worker, run_at, started_at, finished_at
        FROM durable_jobs WHERE id = ?
        """, [.integer(id.rawValue)])
      guard let row = rows.first?.values.map(\.integerValue) else { return nil }
      return JobLife(
        state: JobState(rawValue: Int(row[0]!))!, flags: JobFlags(rawValue: row[1]!),
        isAlone: row[2]! & JobLane.Bit.alone.rawValue != 0, attempts: row[3]!, crashes: row[4]!, lapses: row[5]!,
        blockers: row[6]!, claim: row[7]!, worker: row[8], runAt: row[9], startedAt: row[10], finishedAt: row[11])
    }
  }

  var countsAreRight: Bool {
    get throws { try CountedJobs.kept(in: harness.store) == CountedJobs.counted(in: connection) }
  }

  func isRefused(_ body: () throws -> Void) throws -> Bool {
    do {
      try body()
      return false
    } catch let error as JobError where error.code == .wrongState {
      return true
    }
  }

  /// - Parameter claim: of the attempt that ends; nil for the last one.
  func apply(_ transition: JobTransition, claim: Int64? = nil) throws {
    let store = harness.store, worker = try life?.worker ?? 7, claim = try claim ?? life?.claim ?? 0
    // In a transaction of its own.
    if transition == .abandonedNoMore { return try store.forgetAbandoned(by: worker) }
    try harness.change { store in
      switch transition {
      case .comesDue: _ = try store.promote()
      case .claimed(let worker):
        let request = ClaimRequest(
          kinds: [(kind, 1)], limit: 1, isOnline: true, mayRunAlone: true, worker: worker)
        _ = try store.claim(request)
      case .prerequisiteEnded(let end, let failing):
        try connection.execute(
          "INSERT INTO durable_dependencies (prerequisite, dependent, failing) VALUES (?, ?, ?)",
          [.integer(prerequisite.rawValue), .integer(id.rawValue), SQLValue(failing.rawValue)])
        try store.tellDependents(of: prerequisite, how: end)
      case .givenUp: try store.giveUp([id], kind: "a")
      case .clockMoved(let jump):
        try store.clockShows(offset: 0, boot: "a start")
        try store.clockShows(offset: jump, boot: "a start")
      case .ended(let end): try acknowledge(end, claim: claim)
      case .abandoned: try store.noteAbandoned(id, claim: claim)
      case .abandonedNoMore: break
      case .lost(let loss, let limit):
        try store.rescue(
          from: worker, after: loss, maxCrashes: limit.map(Int.init), maxLapses: limit.map(Int.init))
      case .cancel: _ = try store.cancel(id)
      case .retry: try store.retry(id)
      case .hold: try store.hold(id)
      case .delete: try store.delete(id)
      case .replacedWhileExecuting:
        let options = JobOptions(uniqueKey: UniqueKey("key", whenTaken: .replace))
        _ = try store.enqueue([StoreHarness.job("a", options)])
      }
    }
  }

  private func acknowledge(_ end: JobTransition.AttemptEnd, claim: Int64) throws {
    var keepsDone = true
    let result: Acknowledgement.Result
    switch end {
    case .done(let isKept): (result, keepsDone) = (.done, isKept)
    case .again(let delay, let isCharged, let hasError):
      result = .again(after: delay, isCharged: isCharged, error: hasError ? "it failed" : nil)
    case .returned: result = .returned
    case .dead: result = .dead("it failed")
    case .held: result = .held("it failed")
    case .cancelled(let hasError): result = .cancelled(hasError ? "it failed" : nil)
    }
    try harness.store.acknowledge(
      StoreHarness.acknowledgement(of: id, claim: claim, result), keepsDone: keepsDone)
  }
}
