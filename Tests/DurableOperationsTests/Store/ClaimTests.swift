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

  @Test func randomJobs_comeInTheOrderOfTheirPriorities_withinTheLimits() throws {
    for seed in 0..<60 {
      var generator = SeededRandomNumberGenerator(seed: UInt64(seed))
      let harness = try StoreHarness()
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
        let claim = try harness.store.transaction {
          try harness.store.claim(
            ClaimRequest(
              kinds: limits.map { (kind: try harness.store.kindID($0.0), limit: $0.1) }, limit: limit,
              isOnline: isOnline, mayRunAlone: true, worker: harness.worker))
        }
        #expect(claim.jobs.map(\.id) == expected, "seed \(seed)")
        waiting.removeAll { expected.contains($0.id) }
      }
    }
  }

  @Test(arguments: [199, 200, 201, 450])
  func manyKinds_priorityDecidesAmongAll(_ count: Int) throws {
    let harness = try StoreHarness()
    let jobs = (0..<count).flatMap { number in
      [number, number].map { StoreHarness.job("kind \(number)", JobOptions(priority: JobPriority(minor: $0))) }
    }
    let ids = try harness.enqueue(all: jobs)
    let request = ClaimRequest(
      kinds: try (0..<count).map { (kind: try harness.store.kindID("kind \($0)"), limit: 1) }, limit: 5, isOnline: true,
      mayRunAlone: true, worker: harness.worker)
    var claim = try harness.store.transaction { try harness.store.claim(request) }
    #expect(claim.jobs.map(\.id) == (1...5).map { ids[2 * (count - $0)] })
    #expect(claim.jobs.allSatisfy { $0.claim == 1 && $0.payload == Data("{}".utf8) })
    var all = request
    all.limit = 10_000
    claim = try harness.store.transaction { try harness.store.claim(all) }
    #expect(claim.jobs.count == count)
    #expect(Set(claim.jobs.map(\.kind)).count == count)
  }

  @Test func extremePriorities_areOrdered() throws {
    let harness = try StoreHarness()
    let low = try harness.enqueue("a", JobOptions(priority: JobPriority(major: .min, minor: .min)))
    let high = try harness.enqueue("a", JobOptions(priority: JobPriority(major: .max, minor: .max)))
    let normal = try harness.enqueue("a")
    #expect(try harness.claimed() == [high, normal, low])
  }

  @Test func fewerAttempts_comeFirst() throws {
    let harness = try StoreHarness()
    let first = try harness.enqueue()
    try harness.run(first, .again(after: .zero, isCharged: true, error: "e"))
    let second = try harness.enqueue()
    #expect(try harness.claimed() == [second, first])
  }

  @Test func rescued_runsAlone_andIsDeadAfterTooManyCrashes() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    for crash in 1...3 {
      let claim = try harness.claim()
      #expect(claim.jobs.map(\.id) == [id])
      #expect(claim.jobs[0].isAlone == (crash > 1))
      #expect(claim.jobs[0].crashes == crash - 1)
      let neighbour = try harness.enqueue()
      let next = try harness.store.transaction {
        #expect(
          try harness.store.rescue(from: harness.worker, after: .crashed, maxCrashes: 3))
        return try harness.store.addWorker(.current, lease: 0)
      }
      #expect(next > 0)
      #expect(try harness.state(id) == (crash == 3 ? .dead : .waiting))
      if crash < 3 {
        #expect(try harness.claim(mayRunAlone: false).waitsToRunAlone)
        #expect(try harness.state(neighbour) == .waiting)
      }
      _ = try harness.change { try $0.delete(neighbour) }
    }
    #expect(try harness.state(id) == .dead)
    #expect(try harness.record(id)?.attempts == 0)
    try harness.change { try $0.retry(id) }
    #expect(try harness.claim().jobs.first?.isAlone == false)
  }

  @Test func returnedByAStop_stillRunsAlone() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    _ = try harness.claim()
    _ = try harness.change { try $0.rescue(from: harness.worker, after: .crashed, maxCrashes: 3) }
    #expect(try harness.claim().jobs.first?.isAlone == true)
    try harness.end(id, .returned)
    #expect(try harness.claim().jobs.first?.isAlone == true)
    try harness.end(id, .again(after: .zero, isCharged: true, error: "e"))
    #expect(try harness.claim().jobs.first?.isAlone == false)
  }

  @Test func attemptEndedSinceTheLastCrash_crashesAreForgiven() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    func crash() throws {
      #expect(try harness.claimed() == [id])
      _ = try harness.change { try $0.rescue(from: harness.worker, after: .crashed, maxCrashes: 3) }
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

  @Test func takenFromAProcessThatIsThere_isChargedWithNothing() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue(), wanted = try harness.enqueue()
    #expect(try harness.claimed() == [id, wanted])
    _ = try harness.change { try $0.cancel(wanted) }
    let hasRescued = try harness.change {
      try $0.rescue(from: harness.worker, after: .stoodStill, maxCrashes: 1)
    }
    #expect(hasRescued)
    #expect(try harness.record(id)?.crashes == 0)
    #expect(try harness.state(wanted) == .cancelled)
    let again = try harness.claim().jobs
    #expect(again.map(\.id) == [id])
    #expect(again[0].isAlone == false)
  }

  @Test func refusedAfterAnotherClaim() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    let old = try harness.claim().jobs[0]
    _ = try harness.change { try $0.rescue(from: harness.worker, after: .crashed, maxCrashes: nil) }
    let stale = {
      try harness.change {
        try $0.acknowledge(StoreHarness.acknowledgement(of: id, claim: old.claim), keepsDone: true)
      }
    }
    #expect(try !stale())
    _ = try harness.claim()
    #expect(try !stale())
    #expect(try harness.change { try $0.setCheckpoint(Data([1]), of: id, claim: old.claim) } == false)
    #expect(try harness.end(id, .done))
  }

  @Test(arguments: ["again", "dead", "held", "returned", "done"])
  func cancelRequested_endsAsCancelledUnlessDone(_ end: String) throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [id], whenPrerequisiteFails: .cancel))
    _ = try harness.claim()
    #expect(try harness.change { try $0.cancel(id) } == .executing)
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
