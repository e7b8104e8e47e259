import CompositeOperationsSQLite
import Testing

@testable import DurableOperations

/// A question to the database costs the same, however much unrelated data is stored.
@Suite(.timeLimit(.minutes(30))) struct CostTests {
  // MARK: - Claims

  private func request(_ harness: StoreHarness, kinds: Int, limit: Int = 4, isOnline: Bool = true) throws
    -> ClaimRequest
  {
    let ids = try harness.change { store in try (0..<kinds).map { try store.kindID("kind \($0)") } }
    return ClaimRequest(
      kinds: ids.map { (kind: $0, limit: limit) }, limit: limit, isOnline: isOnline, mayRunAlone: true,
      worker: harness.worker)
  }

  @Test func claim_kindsWithoutJobs_costNothing() throws {
    func work(kinds: Int) throws -> [Int] {
      let harness = try StoreHarness()
      let request = try request(harness, kinds: kinds)
      let empty = try harness.change { store in try harness.work { _ = try store.claim(request) } }
      try harness.enqueue("kind 0")
      let one = try harness.change { store in
        try harness.work { _ = try store.claim(request) }
      }
      return [empty, one]
    }
    #expect(try work(kinds: 50) == work(kinds: 1))
    #expect(try work(kinds: 300) == work(kinds: 1))
  }

  @Test func claim_ofManyKinds_sortsNothing() throws {
    let harness = try StoreHarness()
    for number in 0..<10 { try harness.enqueue("kind \(number)") }
    let request = try request(harness, kinds: 10, limit: 8)
    #expect(try harness.change { try $0.claim(request).jobs.count } == 8)
    #expect(harness.status(SQLITE_STMTSTATUS_SORT) == 0)
    #expect(harness.status(SQLITE_STMTSTATUS_FULLSCAN_STEP) == 0)
  }

  @Test func claim_ofKindsWithManyJobs_looksAtThoseThatCanComeFirst() throws {
    func work(jobs: Int, kinds: Int = 10) throws -> Int {
      let harness = try StoreHarness()
      _ = try harness.enqueue(all: (0..<jobs).map { StoreHarness.job("kind \($0 % kinds)") })
      let request = try request(harness, kinds: kinds, limit: 50)
      return try harness.change { store in
        var claimed: [Int64] = []
        let work = try harness.work { claimed = try store.claim(request).jobs.map(\.id.rawValue) }
        #expect(claimed == Array(1...50))
        return work
      }
    }
    let few = try work(jobs: 600)
    #expect(try work(jobs: 6000) == few)
    // Not fifty of each.
    #expect(try few * 2 < work(jobs: 600, kinds: 1) * 3)
  }

  @Test func claim_ofALimitedKind_countsThoseThatExecuteAlone() throws {
    func work(others: Int) throws -> Int {
      let harness = try StoreHarness()
      try harness.session { try $0.setLimit(3, kind: "a") }
      try harness.fill(others, .done, from: 100)
      try harness.fill(others, .held, from: 100_000)
      try harness.enqueue()
      var claimed = 0
      let work = try harness.work { claimed = try harness.claimed().count }
      #expect(claimed == 1)
      return work
    }
    #expect(try work(others: 5000) == work(others: 5))
  }

  @Test func claims_ofManyNumbersOfKinds_keepTheSameStatements() throws {
    let harness = try StoreHarness()
    func claim(kinds: Int) throws {
      for isOnline in [true, false] {
        let request = try request(harness, kinds: kinds, isOnline: isOnline)
        _ = try harness.change { try $0.claim(request) }
      }
    }
    for number in 0..<50 { for _ in 0..<20 { try harness.enqueue("kind \(number)") } }
    for kinds in 1...3 { try claim(kinds: kinds) }
    let before = harness.keptStatements.count
    for kinds in 4...50 { try claim(kinds: kinds) }
    #expect(harness.keptStatements.count == before)
  }

  // MARK: - Unique keys

  @Test(arguments: [UniqueKey("").states, [.waiting, .done]])
  func uniqueKey_thatWasUsedOften_costsTheSame(_ states: Set<JobState>) throws {
    func work(done: Int) throws -> Int {
      let harness = try StoreHarness()
      try harness.enqueue("a")
      try harness.fill(done, .done, from: 100, uniqueKey: "sync")
      let key = UniqueKey("sync", whenTaken: .replace, by: states)
      let work = try harness.work { try harness.enqueue("a", JobOptions(uniqueKey: key)) }
      #expect(try harness.store.counts(registered: [])["a"]?[.waiting] == 2)
      return work
    }
    #expect(try work(done: 5000) == work(done: 5))
  }

  @Test func uniqueKey_thatOtherKindsUsedOften_costsTheSame() throws {
    func work(done: Int) throws -> Int {
      let harness = try StoreHarness()
      try harness.enqueue("b")
      try harness.fill(done, .done, from: 100, uniqueKey: "sync")
      let key = UniqueKey("sync", by: Set(JobState.allCases))
      return try harness.work { try harness.enqueue("b", JobOptions(uniqueKey: key)) }
    }
    #expect(try work(done: 5000) == work(done: 5))
  }

  // MARK: - Prerequisites

  @Test(arguments: [PrerequisiteFailure.wait, .cancel, .die, .run])
  func dependingOnADeadJob_thatManyDependOn_costsTheSame(_ policy: PrerequisiteFailure) throws {
    func work(dependents: Int) throws -> Int {
      let harness = try StoreHarness()
      let dead = try harness.enqueue("a")
      try harness.run(dead, .dead("no"))
      try harness.fill(dependents, .blocked, from: 100)
      try harness.change {
        _ = try $0.connection.execute("UPDATE durable_jobs SET blockers = 1 WHERE state = 2")
        _ = try $0.connection.execute(
          "INSERT INTO durable_dependencies (prerequisite, dependent, failing) SELECT ?, id, 0 FROM durable_jobs WHERE state = 2",
          [.integer(dead.rawValue)])
      }
      return try harness.work {
        try harness.enqueue("a", JobOptions(dependsOn: [dead], whenPrerequisiteFails: policy))
      }
    }
    #expect(try work(dependents: 5000) == work(dependents: 5))
  }

  @Test func released_byOneStatementForAllDependents() throws {
    let harness = try StoreHarness()
    let first = try harness.enqueue("a")
    _ = try harness.enqueue(all: (0..<200).map { _ in StoreHarness.job("b", JobOptions(dependsOn: [first])) })
    _ = try harness.claimed()
    let before = harness.status(SQLITE_STMTSTATUS_RUN)
    try harness.end(first, .done)
    #expect(harness.status(SQLITE_STMTSTATUS_RUN) - before < 20)
    #expect(try harness.store.counts(registered: [])["b"]?[.waiting] == 200)
  }

  // MARK: - Many at once

  @Test func retryAll_ofJobsWithOneKey_costsAsMuchForEach() throws {
    func work(dead: Int) throws -> Int {
      let harness = try StoreHarness()
      try harness.fill(dead, .dead, uniqueKey: "sync")
      var count = 0
      let work = try harness.work { count = try harness.retryAll(.dead) }
      #expect(count == 1)
      return work
    }
    #expect(try work(dead: 4000) < work(dead: 500) * 9)
  }
}
