import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// The life of a job as a value, and what each store does against it: what can happen to a stored
/// job, in every state. That it is replaced where it is, or given prerequisites, is for the tests
/// of these.
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
      .ended(.postponed(after: .seconds(1))), .ended(.cancelled(hasError: false)), .ended(.cancelled(hasError: true)),
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

  @Test(arguments: Engine.available, transitions)
  func store_doesWhatTheTransitionSays(_ engine: Engine, _ transition: JobTransition) throws {
    let lives = Self.lives.filter { Self.canHappen(transition, to: $0, in: engine) }
    let table = try JobTable(lives, on: engine)
    let refused = try table.apply(transition)
    let found = try table.lives()
    let wrong = lives.enumerated().filter { position, life in
      let (isRefused, found) = (refused.contains(position), found[position])
      return switch transition.result(for: life, now: Self.now) {
      case .becomes(let job): found != job || isRefused
      case .isDeleted: found != nil || isRefused
      case .isIgnored: found != life || isRefused
      case .isRefused: found != life || !isRefused
      }
    }
    expectNone(wrong, found)
    #expect(try table.countsAreRight)
  }

  /// What is done to many jobs leaves out those that a single one is refused for.
  @Test(arguments: Engine.available, [JobTransition.cancel, .retry, .delete])
  func store_toldOfMany_doesTheSameToEach(_ engine: Engine, _ transition: JobTransition) throws {
    let table = try JobTable(Self.lives, on: engine)
    let count = try table.applyToAll(transition)
    let found = try table.lives()
    let results = Self.lives.map { life in
      // Jobs that are scheduled are retried one by one.
      transition == .retry && life.state == .scheduled ? .isIgnored : transition.result(for: life, now: Self.now)
    }
    let wrong = Self.lives.enumerated().filter { position, life in
      switch results[position] {
      case .becomes(let job): found[position] != job
      case .isDeleted: found[position] != nil
      case .isIgnored, .isRefused: found[position] != life
      }
    }
    expectNone(wrong, found)
    #expect(count == results.count { $0 != .isIgnored && $0 != .isRefused })
    #expect(try table.countsAreRight)
  }

  @Test(arguments: Engine.available, ends)
  func store_ignoresTheEndOfAnOlderAttempt(_ engine: Engine, _ transition: JobTransition) throws {
    let lives = Self.lives.filter { $0.state == .executing }
    let table = try JobTable(lives, on: engine)
    #expect(try table.apply(transition, claimsBefore: 1).isEmpty)
    #expect(try table.lives() == lives)
  }

  private func expectNone(
    _ wrong: [EnumeratedSequence<[JobLife]>.Element], _ found: [JobLife?],
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    guard let first = wrong.first else { return }
    Issue.record(
      "\(wrong.count) became what they should not, as \(first.element), which became \(found[first.offset] as Any)",
      sourceLocation: sourceLocation)
  }

  private static func canHappen(_ transition: JobTransition, to life: JobLife, in engine: Engine) -> Bool {
    switch transition {
    // It waits for none, or is replaced where it is.
    case .prerequisiteEnded: life.blockers > 0
    case .replacedWhileExecuting: life.state == .executing
    // A server's clock is believed.
    case .clockMoved: engine == .sqlite
    default: true
    }
  }
}

/// Jobs in a store, of which each column can be set: one of each kind.
private final class JobTable {
  private let engine: Engine
  private let harness: StoreHarness
  private let stored: [JobLife]
  private let kinds: [Int64]
  private static let worker: Int64 = 7

  init(_ lives: [JobLife], on engine: Engine) throws {
    self.engine = engine
    let harness = try StoreHarness(on: engine)
    self.harness = harness
    stored = lives
    try harness.takeIn(Self.worker)
    // Far from the numbers that the store gives.
    kinds = lives.indices.map { 1000 + Int64($0) }
    guard !lives.isEmpty else { return }
    let identity = engine == .postgres ? "OVERRIDING SYSTEM VALUE" : ""
    let names = kinds.map { "(\($0), '\(Self.kind($0))')" }.joined(separator: ", ")
    try harness.execute("INSERT INTO \(engine.table("kinds")) (id, name) \(identity) VALUES \(names)")
    let rows = zip(lives, kinds).enumerated().map { position, job in
      let (life, kind) = job
      let lane = JobLane.number(ofKind: kind) | (life.isAlone ? JobLane.Bit.alone.rawValue : 0)
      let columns: [Int64?] = [
        id(position).rawValue, lane, life.state.number, life.flags.rawValue, life.attempts, life.crashes, life.lapses,
        life.blockers, life.claim, life.worker, life.runAt, life.startedAt, life.finishedAt,
      ]
      return "(\(columns.map { $0.map(String.init) ?? "NULL" }.joined(separator: ", ")), 0, 0, 0, 1, '{}', 'key')"
    }
    try insert(rows)
  }

  private func insert(_ rows: [String]) throws {
    try harness.execute(
      """
      INSERT INTO \(engine.table("jobs")) (id, lane, state, flags, attempts, crashes, lapses, blockers, claim, worker, run_at,
        started_at, finished_at, major, minor, enqueued_at, version, payload, unique_key)
      VALUES \(rows.joined(separator: ", "))
      """)
  }

  private static func kind(_ number: Int64) -> String { "kind \(number)" }

  private func id(_ position: Int) -> JobID { JobID(rawValue: 1_000_000 + Int64(position)) }

  /// Nil for what is deleted.
  func lives() throws -> [JobLife?] {
    let rows = try harness.execute(
      """
      SELECT id, state, flags, lane, attempts, crashes, lapses, blockers, claim, worker, run_at, started_at, finished_at
      FROM \(engine.table("jobs"))
      """
    ).map { $0.values.map(\.integerValue) }
    let lives = Dictionary(
      rows.map { row in
        (
          row[0]!,
          JobLife(
            state: JobState(rawValue: Int(row[1]!))!, flags: JobFlags(rawValue: row[2]!),
            isAlone: row[3]! & JobLane.Bit.alone.rawValue != 0, attempts: row[4]!, crashes: row[5]!, lapses: row[6]!,
            blockers: row[7]!, claim: row[8]!, worker: row[9], runAt: row[10], startedAt: row[11], finishedAt: row[12])
        )
      }, uniquingKeysWith: { $1 })
    return stored.indices.map { lives[id($0).rawValue] }
  }

  /// Of what SQLite keeps.
  var countsAreRight: Bool {
    get throws {
      guard engine == .sqlite else { return true }
      return try CountedJobs.kept(in: harness.store) == CountedJobs.counted(in: harness.store.connection)
    }
  }

  // MARK: - What happens

  /// - Parameter older: by how much the attempts that end were overtaken.
  /// - Returns: the positions of the jobs that it was refused for.
  func apply(_ transition: JobTransition, claimsBefore older: Int64 = 0) throws -> Set<Int> {
    switch transition {
    case .comesDue: while try harness.session({ try $0.promote() }) {}
    case .claimed(let worker):
      for kind in kinds {
        try harness.session {
          _ = try harness.perform(
            $0, claiming: ClaimRequest(kinds: [(kind, 1)], limit: 1, isOnline: true, mayRunAlone: true))
        }
      }
      #expect(harness.worker == worker)
    case .prerequisiteEnded(let end, let failing): try endPrerequisites(end, failing)
    case .givenUp:
      for kind in kinds {
        let kind = UnknownKind(id: kind, name: Self.kind(kind), knownAt: 0)
        // Whatever they were enqueued for.
        while try harness.session({ try $0.giveUp(kind, dueFor: .milliseconds(-10)) }) {}
      }
    case .clockMoved(let jump):
      harness.setDate(harness.now + jump)
      // It is noticed with whatever is done next.
      _ = try harness.session { try $0.look(StoreLook(kinds: [])) }
    case .ended(let end): try acknowledge(end, claimsBefore: older)
    case .abandoned:
      let claimed = stored.enumerated().map { claimedJob($0, claim: $1.claim) }
      try harness.session { try $0.write([], keepsDone: true, abandoned: claimed) }
    case .abandonedNoMore: try harness.session { try $0.begin(resuming: Self.worker) }
    case .lost(let loss, let limit):
      try harness.lose(loss, maxCrashes: limit.map(Int.init), maxLapses: limit.map(Int.init))
    case .cancel, .retry, .hold, .delete, .replacedWhileExecuting:
      return Set(try stored.indices.filter { try isRefused(transition, at: $0) })
    }
    return []
  }

  private func isRefused(_ transition: JobTransition, at position: Int) throws -> Bool {
    let id = id(position)
    do {
      try harness.session { session in
        switch transition {
        case .cancel: _ = try session.cancel(id)
        case .retry: try session.retry(id)
        case .hold: try session.hold(id)
        case .delete: try session.delete(id)
        default:
          let options = JobOptions(uniqueKey: UniqueKey("key", whenTaken: .replace))
          _ = try session.enqueue([[StoreHarness.job(Self.kind(kinds[position]), options)]])[0].get()
        }
      }
      return false
    } catch let error as JobError where error.code == .wrongState {
      return true
    }
  }

  /// Returns how many it was done to.
  func applyToAll(_ transition: JobTransition) throws -> Int {
    let ids = stored.indices.map(id)
    return try harness.session { session in
      switch transition {
      case .cancel: return try session.cancel(ids[...]).count
      case .retry:
        let states: [JobState] = [.held, .cancelled, .dead]
        return try states.reduce(0) { count, state in
          // Each as it was at first.
          let those = ids.indices.filter { stored[$0].state == state }.map { ids[$0] }
          return try count + session.retry(those[...], in: state)
        }
      default:
        var failed: Set<JobID> = []
        let states = Set(JobState.allCases).subtracting([.executing])
        return try session.delete(ids[...], in: states, failed: &failed)
      }
    }
  }

  private func claimedJob(_ position: Int, claim: Int64) -> ClaimedJob {
    ClaimedJob(
      id: id(position), kind: kinds[position], claim: claim, enqueuedAt: 0, revision: 0, attempts: 0, crashes: 0,
      maxAttempts: nil, timeout: nil, backoff: nil, holdsAfterLastAttempt: false, requiresNetwork: false,
      isAlone: false, version: 1, payload: Data(), occurrence: nil)
  }

  /// Each job has waited for another one, which ends.
  private func endPrerequisites(_ end: PrerequisiteEnd, _ failing: PrerequisiteFailure) throws {
    let others = stored.indices.map { JobID(rawValue: 2_000_000 + Int64($0)) }
    let state: JobState = end == .done ? .executing : .waiting
    try insert(
      others.map { other in
        """
        (\(other.rawValue), \(kinds[0] << 2), \(state.rawValue), \(JobFlags.hasDependents.rawValue), 0, 0, 0, 0, 1,         \(end == .done ? "\(Self.worker)" : "NULL"), NULL, NULL, NULL, 0, 0, 0, 1, '{}', NULL)
        """
      })
    let rows = others.enumerated().map { "(\($1.rawValue), \(id($0).rawValue), \(failing.rawValue))" }
    try harness.execute(
      "INSERT INTO \(engine.table("dependencies")) (prerequisite, dependent, failing) VALUES \(rows.joined(separator: ", "))"
    )
    try harness.session { session in
      switch end {
      case .done: _ = try harness.perform(session, ends: others.map { StoreHarness.acknowledgement(of: $0) })
      case .failed: for other in others { _ = try session.cancel(other) }
      case .deleted: for other in others { try session.delete(other) }
      }
    }
  }

  private func acknowledge(_ end: JobTransition.AttemptEnd, claimsBefore older: Int64) throws {
    var keepsDone = true
    let result: Acknowledgement.Result
    switch end {
    case .done(let isKept): (result, keepsDone) = (.done, isKept)
    case .again(let delay, let isCharged, let hasError):
      result = .again(after: delay, isCharged: isCharged, error: hasError ? "it failed" : nil)
    case .postponed(let delay): result = .postponed(after: delay, error: "it is newer")
    case .returned: result = .returned
    case .dead: result = .dead("it failed")
    case .held: result = .held("it failed")
    case .cancelled(let hasError): result = .cancelled(hasError ? "it failed" : nil)
    }
    let ends = stored.enumerated().map { position, life in
      StoreHarness.acknowledgement(of: id(position), claim: life.claim - older, result)
    }
    try harness.session { _ = try harness.perform($0, ends: ends, keepsDone: keepsDone) }
  }
}
