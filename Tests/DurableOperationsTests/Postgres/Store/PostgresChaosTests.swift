#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// Connections that break at random bytes, in both directions, under several queues.
@Suite(.timeLimit(.minutes(60)), .needsPostgres) struct PostgresChaosTests {
  /// `CHAOS_SEED=…` runs one alone.
  private static let seeds: [UInt64] =
    if let seed = ProcessInfo.processInfo.environment["CHAOS_SEED"].flatMap(UInt64.init) { [seed] } else {
      Scale.factor < 1 ? [1, 2] : [1, 2, 3, 4]
    }

  @Test(arguments: seeds)
  func connectionsAreCutAtRandom_losesAndRepeatsNothing(seed: UInt64) async throws {
    let schema = try await TestSchema()
    // 400 for all seeds together, in full.
    try await run(schema, to: schema.server.port, .none, seed: seed, cuts: Scale.count(100) + 1)
  }

  @Test(.enabled(if: PgBouncer.isAvailable, "\(PgBouncer.missing)"))
  func connectionsToAPoolerAreCutAtRandom_losesAndRepeatsNothing() async throws {
    let schema = try await TestSchema()
    let pooler = try await PgBouncer(to: schema.server, sessions: 4)
    try await run(schema, to: Int(pooler.port), .transaction, seed: Self.seeds[0], cuts: Scale.count(100) + 1)
  }

  private func run(
    _ schema: TestSchema, to port: Int, _ pooler: PostgresOptions.Pooler, seed: UInt64, cuts: Int
  ) async throws {
    let proxy = try PostgresProxy(to: port)
    let round = try await ChaosRound(schema, port: proxy.port, pooler, seed: seed)
    proxy.cutAtRandom(seed: seed, every: 24_000)
    for queue in round.queues { queue.start() }
    await withTaskGroup(of: Void.self) { group in
      for number in round.queues.indices {
        group.addTask { await round.enqueue(in: number, while: { proxy.cuts < cuts }) }
      }
      group.addTask { await round.stopAndStart(round.queues[0], while: { proxy.cuts < cuts }) }
    }
    proxy.endRandomCuts()
    let inspection = try await schema.inspection()
    try await inspection.wait { try $0.count(in: .done) == $0.number("SELECT count(*) FROM jobs") }
    for queue in round.queues { await queue.stop() }
    try await round.check(inspection)
    print("FIGURES chaos, pooler \(pooler), seed \(seed): \(proxy.cuts) cuts, \(round.figures)")
  }
}

/// Several queues, what they were given, and what they did.
private final class ChaosRound: Sendable {
  struct Work: Job {
    static let kind = "chaos"
    /// How often it fails before it succeeds.
    var failures: Int
    /// Whether it is done together with a write of the user's.
    var completes: Bool
  }

  private struct State {
    var random: SeededRandomNumberGenerator
    var lastKey = 0
    /// The jobs of keys, and what each waits for.
    var stored: [JobID] = []
    var prerequisites: [JobID: JobID] = [:]
    /// The jobs without a key that are certainly stored, and those that may be.
    var sure = 0
    var unsure = 0
    var stops = 0
    /// How many storing calls ended with an unknown outcome.
    var unknownCalls = 0
    /// Starts and successful ends, in their order.
    var notes: [(what: Character, id: JobID)] = []
    var runs: [JobID: Int] = [:]
    /// The jobs whose completion has an unknown outcome.
    var unknown: Set<JobID> = []
    /// Events, in the order of each queue.
    var told: [JobID: [JobEvent.Kind]] = [:]
    var problems: [String] = []
  }

  let queues: [DurableQueue]
  private let schema: TestSchema
  private let state: Locked<State>
  private let readers: [Task<Void, Never>]

  init(_ schema: TestSchema, port: UInt16, _ pooler: PostgresOptions.Pooler, seed: UInt64) async throws {
    self.schema = schema
    state = Locked(State(random: SeededRandomNumberGenerator(seed: seed)))
    var configuration = DurableQueue.Configuration()
    configuration.pollInterval = .milliseconds(20)
    configuration.leaseDuration = .seconds(1200)
    configuration.busyTimeout = .seconds(1200)
    configuration.retention = .forever
    configuration.maxConcurrentOperationCount = 4
    let location = schema.location(port: port, pooler: pooler)
    queues = try await onWorker { [configuration] in
      Result { try (0..<3).map { _ in try DurableQueue(location: location, configuration: configuration) } }
    }.get()
    let state = state
    readers = queues.map { queue in
      let events = queue.events(bufferingPolicy: .unbounded)
      return Task {
        for await event in events {
          for id in event.jobIDs { state.withLock { $0.told[id, default: []].append(event.kind) } }
        }
      }
    }
    let inspection = try await schema.inspection()
    try inspection.execute("CREATE TABLE effects (job bigint NOT NULL)")
    for queue in queues {
      try await queue.register(Work.self) { [self] in try await run($0, $1) }
    }
  }

  // MARK: - Running

  private func run(_ work: Work, _ context: JobContext) async throws {
    let id = context.id
    let count = state.withLock { state in
      state.notes.append(("S", id))
      state.runs[id, default: 0] += 1
      return state.runs[id] ?? 0
    }
    if count <= work.failures { throw TestFailure() }
    if work.completes {
      let effects = "INSERT INTO \(PostgresStatement.identifier(schema.name)).effects VALUES (?)"
      do {
        try await context.complete { [state] db in
          try db.execute(effects, .integer(id.rawValue))
          // Others may go on as soon as it is committed.
          state.withLock { $0.notes.append(("F", id)) }
        }
      } catch let error as DatabaseError {
        if error.code == .outcomeUnknown { state.withLock { _ = $0.unknown.insert(id) } }
        throw error
      }
    }
    if !work.completes { state.withLock { $0.notes.append(("F", id)) } }
  }

  /// Stops a queue and starts it again, each time that some more has run.
  func stopAndStart(_ queue: DurableQueue, while goesOn: () -> Bool) async {
    while goesOn() {
      let count = state.withLock { $0.notes.count } + 40
      await until(state.withLock { $0.notes.count } >= count || !goesOn())
      await queue.stop(grace: .seconds(1200))
      queue.start()
      state.withLock { $0.stops += 1 }
    }
  }

  // MARK: - Storing

  func enqueue(in number: Int, while goesOn: () -> Bool) async {
    while goesOn() {
      let (chance, failures, completes) = state.withLock {
        ($0.random.number(0...99), $0.random.number(0...2), $0.random.chance(20))
      }
      let work = Work(failures: failures, completes: completes)
      if chance < 15 { await store(work, in: queues[number]) } else { await store(work, in: queues[number], chance) }
    }
  }

  /// Stores without a key: after an unknown outcome the jobs may be stored.
  private func store(_ work: Work, in queue: DurableQueue) async {
    do {
      let ids = try await queue.enqueue(contentsOf: [work, work, work])
      state.withLock { $0.sure += ids.count }
    } catch {
      note(error)
      if (error as? DatabaseError)?.code == .outcomeUnknown { state.withLock { $0.unsure += 3 } }
    }
  }

  /// Stores with a key: again, until the job is stored.
  private func store(_ work: Work, in queue: DurableQueue, _ chance: Int) async {
    let (key, earlier) = state.withLock { state in
      state.lastKey += 1
      let earlier = chance < 45 && !state.stored.isEmpty ? state.random.pick(state.stored) : nil
      return (state.lastKey, earlier)
    }
    var options = JobOptions(backoff: .noDelay)
    options.uniqueKey = UniqueKey("\(key)", by: Set(JobState.allCases))
    if let earlier { options.dependsOn = [earlier] }
    if chance > 90 { options.start = .after(.milliseconds(chance)) }
    while true {
      do {
        let id = try await store(work, options, in: queue, chance)
        return stored(id, after: earlier)
      } catch let error as JobError where error.code == .duplicate {
        return stored(error.otherJob ?? JobID(rawValue: -1), after: earlier)
      } catch {
        note(error)
      }
    }
  }

  private func store(_ work: Work, _ options: JobOptions, in queue: DurableQueue, _ chance: Int) async throws -> JobID {
    switch chance % 3 {
    case 0: return try await queue.transaction { db in try db.enqueue(work, options: options) }
    case 1: return try await onWorker { Result { try queue.enqueue(work, options: options) } }.get()
    default: return try await queue.enqueue(work, options: options)
    }
  }

  private func stored(_ id: JobID, after earlier: JobID?) {
    state.withLock { state in
      state.stored.append(id)
      state.prerequisites[id] = earlier
    }
  }

  private func note(_ error: any Error) {
    let known: [DatabaseError.Code] = [.connectionLost, .cannotConnect, .outcomeUnknown]
    let code = (error as? DatabaseError)?.code
    state.withLock { state in
      if code == .outcomeUnknown { state.unknownCalls += 1 }
      if !known.contains(where: { $0 == code }) { state.problems.append("\(error)") }
    }
  }

  // MARK: - Checking

  func check(_ inspection: SchemaInspection) async throws {
    for queue in queues { queue.core.events.end() }
    for reader in readers { await reader.value }
    let state = state.withLock { $0 }
    #expect(state.problems == [])
    #expect(try inspection.problems() == [])
    let withKey = try inspection.numbers("SELECT id FROM jobs WHERE unique_key IS NOT NULL ORDER BY id")
    #expect(withKey == state.stored.map(\.rawValue).sorted(), "each key once")
    let others = Int(try inspection.number("SELECT count(*) FROM jobs WHERE unique_key IS NULL"))
    #expect(others >= state.sure && others <= state.sure + state.unsure)
    for row in try inspection.numbers("SELECT id FROM jobs") {
      let id = JobID(rawValue: row), told = state.told[id] ?? []
      func count(_ kind: JobEvent.Kind) -> Int { told.count { $0 == kind } }
      let attempts = Int(try inspection.number("SELECT attempts FROM jobs WHERE id = \(row)"))
      // Each run was acknowledged once.
      #expect(attempts == state.runs[id], "\(id): \(told)")
      if state.unknown.contains(id) { continue }
      #expect(count(.done) == 1, "\(id): \(told)")
      #expect(count(.failed) == attempts - 1, "\(id): \(told)")
      #expect(count(.started) == attempts, "\(id): \(told)")
      #expect(count(.leaseLost) == 0, "\(id): \(told)")
    }
    #expect(try inspection.numbers("SELECT job FROM effects GROUP BY job HAVING count(*) > 1") == [])
    #expect(
      try inspection.numbers(
        "SELECT id FROM jobs WHERE (payload->>'completes')::boolean <> (id IN (SELECT job FROM effects))") == [])
    var ended: Set<JobID> = []
    for note in state.notes {
      if note.what == "F" { ended.insert(note.id) }
      if note.what == "S", let earlier = state.prerequisites[note.id], !state.unknown.contains(earlier) {
        #expect(ended.contains(earlier), "\(note.id) came before \(earlier)")
      }
    }
  }

  var figures: String {
    state.withLock { state in
      "\(state.runs.count) jobs, \(state.runs.values.reduce(0, +)) attempts, \(state.stops) stops, \(state.unknownCalls) calls and "
        + "\(state.unknown.count) completions with an unknown outcome"
    }
  }
}
#endif
