import CompositeOperationsTestKit
import Foundation
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct ClaimTests {
  private struct Model {
    let id: JobID
    let kind: String
    let priority: JobPriority
    let needsNetwork: Bool
  }

  @Test(arguments: Engine.available) func randomJobs_comeInTheOrderOfTheirPriorities_withinTheLimits(on engine: Engine)
    throws
  {
    for seed in 0..<(engine == .sqlite ? 60 : 20) {
      var generator = SeededRandomNumberGenerator(seed: UInt64(seed))
      let harness = try StoreHarness(on: engine)
      let kinds = ["a", "b", "c"]
      var waiting: [Model] = []
      for _ in 0..<Int.random(in: 0...40, using: &generator) {
        let kind = kinds.randomElement(using: &generator)!
        let priority = JobPriority(
          major: Int.random(in: -1...1, using: &generator), minor: Int.random(in: 0...1, using: &generator))
        let needsNetwork = Bool.random(using: &generator)
        let id = try harness.enqueue(kind, JobOptions(priority: priority, requiresNetwork: needsNetwork))
        waiting.append(Model(id: id, kind: kind, priority: priority, needsNetwork: needsNetwork))
      }
      for _ in 0..<6 {
        let isOnline = Bool.random(using: &generator)
        let limits = kinds.map { ($0, Int.random(in: 0...4, using: &generator)) }.filter { $0.1 > 0 }
        let limit = Int.random(in: 1...9, using: &generator)
        var left = Dictionary(uniqueKeysWithValues: limits)
        var expected: [JobID] = []
        for job in waiting.sorted(by: { ($1.priority, $0.id) < ($0.priority, $1.id) })
        where expected.count < limit && left[job.kind, default: 0] > 0 && (isOnline || !job.needsNetwork) {
          left[job.kind]! -= 1
          expected.append(job.id)
        }
        let claim = try harness.claim(limits, limit: limit, isOnline: isOnline)
        #expect(claim.jobs.map(\.id) == expected, "seed \(seed)")
        waiting.removeAll { expected.contains($0.id) }
      }
    }
  }

  @Test(arguments: Engine.available, [199, 200, 201, 450])
  func manyKinds_priorityDecidesAmongAll(on engine: Engine, _ count: Int) throws {
    let harness = try StoreHarness(on: engine)
    let jobs = (0..<count).flatMap { number in
      [number, number].map { StoreHarness.job("kind \(number)", JobOptions(priority: JobPriority(minor: $0))) }
    }
    let ids = try harness.enqueue(all: jobs)
    let limits = (0..<count).map { ("kind \($0)", 1) }
    var claim = try harness.claim(limits, limit: 5)
    #expect(claim.jobs.map(\.id) == (1...5).map { ids[2 * (count - $0)] })
    #expect(claim.jobs.allSatisfy { $0.payload == Data("{}".utf8) })
    if engine == .sqlite { #expect(claim.jobs.allSatisfy { $0.claim == 1 }) }
    // Those that run already are not counted here.
    claim = try harness.claim(limits, limit: 10_000)
    #expect(claim.jobs.count == count)
    #expect(Set(claim.jobs.map(\.kind)).count == count)
  }

  @Test(arguments: Engine.available) func extremePriorities_areOrdered(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let low = try harness.enqueue("a", JobOptions(priority: JobPriority(major: .min, minor: .min)))
    let high = try harness.enqueue("a", JobOptions(priority: JobPriority(major: .max, minor: .max)))
    let normal = try harness.enqueue("a")
    #expect(try harness.claimed() == [high, normal, low])
  }

  @Test(arguments: Engine.available) func fewerAttempts_comeFirst(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    try harness.run(first, .again(after: .zero, isCharged: true, error: "e"))
    let second = try harness.enqueue()
    #expect(try harness.claimed() == [second, first])
  }

  @Test(arguments: Engine.available) func rescued_runsAlone_andIsDeadAfterTooManyCrashes(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let id = try harness.enqueue()
    for crash in 1...3 {
      let claim = try harness.claim()
      #expect(claim.jobs.map(\.id) == [id])
      #expect(claim.jobs[0].isAlone == (crash > 1))
      #expect(claim.jobs[0].crashes == crash - 1)
      let neighbour = try harness.enqueue()
      #expect(try harness.lose(.crashed, maxCrashes: 3))
      #expect(try harness.state(id) == (crash == 3 ? .dead : .waiting))
      if crash < 3 {
        #expect(try harness.claim(mayRunAlone: false).waitsToRunAlone)
        #expect(try harness.state(neighbour) == .waiting)
      }
      _ = try harness.session { try $0.delete(neighbour) }
    }
    #expect(try harness.state(id) == .dead)
    #expect(try harness.record(id)?.attempts == 0)
    try harness.session { try $0.retry(id) }
    #expect(try harness.claim().jobs.first?.isAlone == false)
  }

  @Test(arguments: Engine.available) func returnedByAStop_stillRunsAlone(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let id = try harness.enqueue()
    _ = try harness.claim()
    try harness.lose(.crashed, maxCrashes: 3)
    #expect(try harness.claim().jobs.first?.isAlone == true)
    try harness.end(id, .returned)
    #expect(try harness.claim().jobs.first?.isAlone == true)
    try harness.end(id, .again(after: .zero, isCharged: true, error: "e"))
    #expect(try harness.claim().jobs.first?.isAlone == false)
  }

  @Test(arguments: Engine.available) func attemptEndedSinceTheLastCrash_crashesAreForgiven(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let id = try harness.enqueue()
    func crash() throws {
      #expect(try harness.claimed() == [id])
      try harness.lose(.crashed, maxCrashes: 3)
    }
    for isCharged in [true, false] {
      for _ in 0..<2 { try crash() }
      #expect(try harness.record(id)?.crashes == 2)
      #expect(try harness.claimed() == [id])
      try harness.end(id, .again(after: .zero, isCharged: isCharged, error: nil))
      #expect(try harness.record(id)?.crashes == 0)
    }
    for _ in 0..<3 { try crash() }
    let record = try #require(try harness.record(id))
    #expect(record.state == .dead)
    #expect(record.lastError?.hasPrefix("Job \(id) of the kind “a” is dead: 3 processes ended") == true)
  }

  @Test(arguments: Engine.available) func takenFromAProcessThatIsThere_isChargedWithNothing(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let id = try harness.enqueue(), wanted = try harness.enqueue()
    #expect(try harness.claimed() == [id, wanted])
    _ = try harness.session { try $0.cancel(wanted) }
    #expect(try harness.lose(.stoodStill, maxCrashes: 1))
    #expect(try harness.record(id)?.crashes == 0)
    #expect(try harness.state(wanted) == .cancelled)
    let again = try harness.claim().jobs
    #expect(again.map(\.id) == [id])
    #expect(again.first?.isAlone == false)
  }

  /// A queue in another process, whose wait for idleness is over if the answer is no.
  @Test func claimedByAnotherProcess_whileItIsAskedWhetherThereIsWork_thereIs() async throws {
    try await withDatabaseFile { file in
      let harness = try StoreHarness(at: .file(file)), other = try StoreHarness(at: .file(file))
      let id = try harness.enqueue()
      let kind = try harness.session { try $0.number(ofKind: "a") }
      // Prepares the statements.
      #expect(try harness.session { try $0.isBusy(with: [kind]) })
      var instruction = 0, isWithin = true
      while isWithin {
        instruction += 1
        var isBusy = false
        let claim: () throws -> Void = {
          if try other.claimed() != [id] { throw TestFailure(text: "nothing was claimed") }
        }
        isWithin = try harness.interrupting(at: instruction, by: claim) {
          isBusy = try harness.session { try $0.isBusy(with: [kind]) }
        }
        #expect(isBusy, "at the instruction \(instruction)")
        if isWithin { try other.end(id, .returned) }
      }
      #expect(instruction > 10)
      // Nothing is left open.
      #expect(try harness.claimed() == [id])
    }
  }

  @Test(arguments: Engine.available) func refusedAfterAnotherClaim(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let id = try harness.enqueue()
    let old = try harness.claim().jobs[0]
    try harness.lose(.crashed)
    func endTheOld() throws {
      try harness.session {
        _ = try harness.perform($0, ends: [StoreHarness.acknowledgement(of: id, claim: old.claim)])
      }
    }
    try endTheOld()
    #expect(try harness.state(id) == .waiting)
    _ = try harness.claim()
    try endTheOld()
    #expect(try harness.state(id) == .executing)
    #expect(try harness.session { try $0.setCheckpoint(Data([1]), of: id, claim: old.claim) } == false)
    #expect(try harness.end(id, .done))
  }

  #if os(macOS) || os(Linux)
  /// After a failover to a standby that is behind, numbers are given once more.
  @Test(.needsPostgres) func endOfALostJob_doesNotEndAnotherWithItsNumber() throws {
    let harness = try StoreHarness(on: .postgres)
    let id = try harness.enqueue()
    let lost = try #require(try harness.claim().jobs.first)
    try harness.execute("DELETE FROM jobs")
    try harness.execute(
      """
      INSERT INTO jobs (id, lane, state, major, minor, enqueued_at, version, payload) VALUES (?, ?, 0, 10, 10, 1, 1, '{}')
      """, .integer(id.rawValue), .integer(JobLane.number(ofKind: lost.kind)))
    // Another process claims it.
    try harness.execute("UPDATE jobs SET state = 3, worker = 999, claim = claim + 1")
    _ = try harness.session {
      try harness.perform($0, ends: [StoreHarness.acknowledgement(of: id, claim: lost.claim)])
    }
    #expect(try harness.state(id) == .executing)
    #expect(try harness.session { try $0.setCheckpoint(Data([1]), of: id, claim: lost.claim) } == false)
  }
  #endif

  /// A process that was taken for lost got its job again, and both attempts end before the next
  /// round.
  @Test(arguments: Engine.available, [(true, true), (true, false), (false, true), (false, false)])
  func twoAttemptsOfOneJob_endInOneRound_theLastOneCounts(
    on engine: Engine, _ areDone: (first: Bool, last: Bool)
  ) async throws {
    let harness = try StoreHarness(on: engine)
    let events = harness.events.stream(bufferingPolicy: .unbounded)
    let id = try harness.enqueue()
    let old = try #require(try harness.claim().jobs.first)
    try harness.lose(.stoodStill)
    let new = try #require(try harness.claim().jobs.first)
    #expect(new.id == id && new.claim == old.claim + 1)
    let failure = Acknowledgement.Result.again(after: .zero, isCharged: true, error: "failed")
    try harness.session {
      _ = try harness.perform(
        $0,
        ends: [
          StoreHarness.acknowledgement(of: id, claim: old.claim, areDone.first ? .done : failure),
          StoreHarness.acknowledgement(of: id, claim: new.claim, areDone.last ? .done : failure),
        ])
    }
    let record = try #require(try harness.record(id))
    #expect(record.state == (areDone.last ? .done : .waiting) && record.attempts == 1)
    #expect(record.failures.count == (areDone.last ? 0 : 1))
    let last = try harness.enqueue()
    let told = await texts(of: events, through: "enqueued \(last)")
    #expect(told.filter { $0 == "leaseLost \(id)" }.count == 1 && told.filter { $0 == "done \(id)" }.count == 1)
  }

  @Test(arguments: Engine.available, ["again", "dead", "held", "returned", "done"])
  func cancelRequested_endsAsCancelledUnlessDone(on engine: Engine, _ end: String) throws {
    let harness = try StoreHarness(on: engine)
    let id = try harness.enqueue()
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [id], whenPrerequisiteFails: .cancel))
    _ = try harness.claim()
    #expect(try harness.session { try $0.cancel(id) } == .executing)
    #expect(try harness.record(id)?.isCancelRequested == true)
    let result: Acknowledgement.Result =
      switch end {
      case "again": .again(after: .milliseconds(5), isCharged: true, error: "e")
      case "dead": .dead("e")
      case "held": .held("e")
      case "returned": .returned
      default: .done
      }
    try harness.end(id, result)
    let record = try #require(try harness.record(id))
    #expect(record.state == (end == "done" ? .done : .cancelled))
    #expect(record.finishedAt == Date(milliseconds: harness.now))
    #expect(record.runAt == nil)
    #expect(!record.isCancelRequested)
    #expect(try harness.state(dependent) == (end == "done" ? .waiting : .cancelled))
  }

  @Test func milliseconds_surviveBeingADate() {
    for milliseconds in stride(from: Int64(1_790_000_000_000), to: 1_790_000_003_000, by: 1) {
      #expect(Date(milliseconds: milliseconds).milliseconds == milliseconds)
    }
  }
}
