import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-18: whatever is done at random, the counts that are kept are those that there are.
@Suite(.timeLimit(.minutes(30))) struct RandomCountTests {
  // MARK: - All that a store can do

  @Test(arguments: 0..<Scale.count(16, least: 4)) func storeUsedAtRandom_keepsItsCounts(_ seed: Int) throws {
    let harness = try StoreHarness(), store = harness.store
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    for step in 0..<400 {
      harness.now += Int64(random.number(0...1500))
      let isTakenBack = random.chance(10), fails = random.chance(10)
      let name = try? harness.change { store in
        let name: String
        if isTakenBack {
          try? store.savepoint {
            _ = try Self.change(harness, &random)
            throw TestFailure()
          }
          name = "a part that is taken back"
        } else {
          name = try Self.change(harness, &random)
        }
        if fails { throw TestFailure() }
        return name
      }
      let kept = try CountedJobs.kept(in: store), counted = try CountedJobs.counted(in: store.connection)
      #expect(kept == counted, "seed \(seed), step \(step), \(name ?? "which failed")")
      guard kept == counted else { return }
    }
    #expect(try store.connection.execute("SELECT count(DISTINCT state) FROM durable_jobs")[0][0].integerValue! > 2)
  }

  /// Does something in a transaction. Returns what.
  private static func change(
    _ harness: StoreHarness, _ random: inout SeededRandomNumberGenerator
  ) throws -> String {
    let store = harness.store, now = harness.now
    let ids = try store.ids(JobFilter(states: nil))
    let id = ids.randomElement(using: &random) ?? JobID(rawValue: 1)
    let kind = random.chance(50) ? "a" : "b"
    let state = JobState.allCases.randomElement(using: &random)!
    func request(_ limit: Int) throws -> ClaimRequest {
      ClaimRequest(
        kinds: [(try store.kindID("a"), 3), (try store.kindID("b"), 3)], limit: limit, isOnline: true,
        mayRunAlone: true, worker: try store.addWorker(.current, lease: 1000))
    }
    switch random.number(0...19) {
    case 0...3:
      var jobs = (0..<random.number(1...5)).map { StoreHarness.job($0 % 2 == 0 ? "a" : "b", options(ids, &random)) }
      if jobs.count > 1, random.chance(30) { jobs[1].options.dependsOn.append(.inSameCall(0)) }
      _ = try store.enqueue(jobs)
      return "enqueue"
    case 4...6:
      let claim = try store.claim(request(random.number(1...6)))
      for job in claim.jobs where random.chance(70) {
        let results: [Acknowledgement.Result] = [
          .done, .done, .again(after: .zero, isCharged: true, error: "x"),
          .again(after: .seconds(1), isCharged: false, error: nil), .returned, .dead("x"), .held("x"), .cancelled(nil),
        ]
        let result = results.randomElement(using: &random)!
        if random.chance(10) { _ = try store.cancel(job.id) }
        let acknowledgement = StoreHarness.acknowledgement(of: job.id, claim: job.claim, result)
        _ = try store.acknowledge(acknowledgement, keepsDone: random.chance(50))
        // Once more, which is refused.
        if random.chance(10) { _ = try store.acknowledge(acknowledgement, keepsDone: true) }
      }
      return "claim"
    case 7:
      let losses: [WorkerLoss] = [.crashed, .lapsed, .stoodStill]
      for worker in try store.workers().dropFirst() {
        _ = try store.rescue(
          from: worker.id, after: losses.randomElement(using: &random)!, maxCrashes: random.chance(50) ? 1 : nil,
          maxLapses: random.chance(50) ? 1 : nil)
      }
      return "rescue"
    case 8:
      for worker in try store.workers().dropFirst() { try store.giveBackJobs(of: worker.id) }
      return "give back"
    case 9, 10: return "promote \(try store.promote())"
    case 11: return "cancel \(try store.cancel(id))"
    case 12:
      try store.retry(id)
      return "retry"
    case 13:
      try store.hold(id)
      return "hold"
    case 14:
      try store.delete(id)
      return "delete"
    case 15:
      var failed: Set<JobID> = []
      let some = ids.prefix(random.number(0...8))
      return "delete \(try store.delete(some, in: [state, .waiting], failed: &failed)) of many"
    case 16: return "retry \(try store.retry(ids[...], in: random.chance(50) ? .dead : .held)) of many"
    case 17: return "prune \(try store.prune(finishedBefore: now - 2000))"
    case 18:
      let kindID = try store.kindID(kind)
      let due = try store.jobs(ofKind: kindID, dueBefore: now - 3000)
      try store.giveUp(due, kind: kind)
      return "give up"
    default:
      let some = ids.prefix(random.number(0...5))
      return "cancel \(try store.cancel(some).count) of many"
    }
  }

  private static func options(_ ids: [JobID], _ random: inout SeededRandomNumberGenerator) -> JobOptions {
    var options = JobOptions()
    options.startsHeld = random.chance(10)
    if random.chance(20) { options.start = .after(.milliseconds(random.number(1...3000))) }
    if random.chance(20) {
      options.uniqueKey = UniqueKey("key \(random.number(0...2))", whenTaken: random.chance(80) ? .replace : .reject)
    }
    if random.chance(30), let id = ids.randomElement(using: &random) {
      options.dependsOn = [id]
      options.whenPrerequisiteFails = [.wait, .cancel, .die, .run].randomElement(using: &random)!
    }
    return options
  }

  // MARK: - Queues that run jobs meanwhile

  @Test(arguments: 0..<4) func queuesOnOneFile_usedAtRandom_keepTheirCounts(_ seed: Int) async throws {
    try await withDatabaseFile { file in
      var random = SeededRandomNumberGenerator(seed: UInt64(seed))
      var queues: [DurableQueue] = []
      for number in 0..<2 {
        var configuration = DurableQueue.Configuration()
        configuration.busyTimeout = .seconds(60)
        configuration.durability = .normal
        configuration.pollInterval = .milliseconds(20)
        configuration.logHandler = nil
        configuration.backoff = .noDelay
        configuration.retention = seed % 2 == number ? .none : .forever
        let queue = try DurableQueue(location: .file(file), configuration: configuration)
        try await queue.register(Count.self) { job, context async throws in try await Self.perform(job, context) }
        try await queue.register(Send.self, maxConcurrent: 1) { _, _ in BlockOperation {} }
        queue.start()
        queues.append(queue)
      }
      try await queues[0].transaction { db in _ = try db.execute("CREATE TABLE mine (a)") }
      for step in 0..<250 {
        let queue = queues[random.number(0...1)]
        let name = try await Self.use(queue, &random)
        let (kept, counted) = try queue.bothCounts()
        #expect(kept == counted, "seed \(seed), step \(step), \(name)")
        guard kept == counted else { break }
      }
      for queue in queues { await queue.stop(grace: .zero) }
      let (kept, counted) = try queues[0].bothCounts()
      #expect(kept == counted)
      #expect(try await queues[0].counts().total == queues[0].jobs(limit: .max).count)
    }
  }

  private static func perform(_ job: Count, _ context: JobContext) async throws {
    switch job.number % 6 {
    case 0: throw TestFailure()
    case 1: throw PermanentJobFailure(TestFailure())
    case 2: if context.attempt == 1 { throw JobSnooze(for: .milliseconds(10)) }
    case 3:
      try await context.complete { db in
        try db.execute("INSERT INTO mine VALUES (1)")
        try db.execute("SAVEPOINT a")
        try db.enqueue(Send(text: "x"))
        if job.number % 12 == 3 { try db.execute("ROLLBACK TO a; RELEASE a") }
        try db.enqueue(Send(text: "y"))
      }
    case 4: _ = try? await context.complete { _ in throw TestFailure() }
    default: await Task.yield()
    }
  }

  /// Does something; what is refused has changed nothing. Returns what.
  private static func use(_ queue: DurableQueue, _ random: inout SeededRandomNumberGenerator) async throws -> String {
    let records = try await queue.jobs(limit: 1000)
    let ids = records.map(\.id)
    let id = ids.randomElement(using: &random) ?? JobID(rawValue: 1)
    let number = random.number(0...1000)
    var options = options(ids, &random)
    options.maxAttempts = random.number(1...3)
    do {
      switch random.number(0...17) {
      case 0...3:
        try await queue.enqueue(
          contentsOf: (0..<random.number(1...4)).map { Count(number: $0 + number) }, options: options)
        return "enqueue"
      case 4:
        try await queue.enqueue(contentsOf: [
          JobRequest(Send(text: "x"), options: options),
          JobRequest(Count(number: number), options: JobOptions(maxAttempts: 1, dependsOn: [.inSameCall(0)])),
        ])
        return "enqueue of a call"
      case 5, 6:
        let fails = random.chance(30), isTakenBack = random.chance(50)
        try await queue.transaction { [options] db in
          try db.enqueue(Send(text: "x"))
          try db.execute("SAVEPOINT a")
          try db.execute("INSERT INTO mine VALUES (1)")
          _ = try? db.enqueue(contentsOf: [
            JobRequest(Count(number: number), options: options),
            JobRequest(Send(text: "y"), options: JobOptions(dependsOn: [JobID(rawValue: 1 << 40)])),
          ])
          _ = try? db.enqueue(Count(number: number), options: options)
          if isTakenBack { try db.execute("ROLLBACK TO a") }
          try db.enqueue(Send(text: "z"))
          try db.execute("RELEASE a")
          if fails { throw TestFailure() }
        }
        return "transaction"
      case 7:
        try await queue.cancel(id)
        return "cancel"
      case 8:
        try await queue.retry(id)
        return "retry"
      case 9:
        try await queue.hold(id)
        return "hold"
      case 10:
        try await queue.delete(id)
        return "delete"
      case 11:
        try await queue.retryAll(random.chance(50) ? .held : .dead)
        return "retryAll"
      case 12:
        try await queue.cancelAll(kind: Count.kind)
        return "cancelAll"
      case 13:
        try await queue.deleteUnstarted(kind: random.chance(50) ? Send.kind : nil)
        return "deleteUnstarted"
      case 14:
        try await queue.deleteAll(in: [.dead, .cancelled, .done])
        return "deleteAll"
      case 15:
        await queue.stop(grace: .zero)
        queue.start()
        return "stop"
      case 16:
        await queue.suspend()
        queue.resume()
        return "suspend"
      default:
        try await queue.schedule(Send(text: "s"), named: "s", .interval(.milliseconds(10)))
        await Task.yield()
        try await queue.unschedule(named: "s")
        if random.chance(30) { try await queue.compact() }
        return "schedule"
      }
    } catch {
      switch error {
      case let error as JobError: return "refused: \(error.code)"
      case let error as DatabaseError where error.code == .suspended: return "suspended"
      case is TestFailure: return "which failed"
      default: throw error
      }
    }
  }

  // MARK: - Processes

  #if os(macOS) || os(Linux)
  @Test func processesThatAreKilled_keepTheirCounts() async throws {
    try await withDatabaseFile { file in
      let watcher = try DurableQueue.patient(file)
      var random = SystemRandomNumberGenerator(), last: Int64 = 0
      func start() async throws -> DurableChild {
        let child = try DurableChild(file, "durability=normal", "poll=10")
        await child.tell("start", until: "started")
        child.tell("churn 200")
        return child
      }
      var children = [try await start(), try await start()]
      for round in 0..<24 {
        let number = round % 2
        // Some of what there is is changed while it runs.
        for name in ["cancel", "hold", "delete"] where last > 0 {
          for _ in 0..<3 { children[number].tell("\(name) \(Int64.random(in: 1...last, using: &random))") }
        }
        // The other one may have run most of its jobs.
        let child = children[number]
        try await until(
          try child.numbers(after: "done").count >= 20 || child.hasSaid("churned") && watcher.hasNothingToRun())
        last = try await watcher.jobs(limit: .max).last?.id.rawValue ?? 0
        let (kept, counted) = try watcher.bothCounts()
        #expect(kept == counted, "round \(round)")
        await children[number].killAndWait()
        children[number] = try await start()
      }
      for child in children {
        // Not until all is done: what depends on something cancelled waits for ever.
        await child.tell("stop 0", until: "stopped")
        await child.exit()
      }
      let (kept, counted) = try watcher.bothCounts()
      #expect(kept == counted)
      #expect(!kept.states.isEmpty)
    }
  }
  #endif
}
