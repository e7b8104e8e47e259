import Testing

@testable import DurableOperations

/// Changes of many jobs, while other processes change them in between.
@Suite(.timeLimit(.minutes(30))) struct ManyTests {
  private let states: Set<JobState> = [.waiting, .scheduled, .blocked, .held]

  @Test(arguments: Engine.available) func deleted_whatCameInBetween_stays(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let done = try harness.enqueue("done"), executing = try harness.enqueue("executing")
    let cancelled = try harness.enqueue(), gone = try harness.enqueue(), waiting = try harness.enqueue()
    let ids = try harness.session { try $0.ids(JobFilter(states: states)) }
    #expect(ids == [waiting, gone, cancelled, executing, done])
    #expect(try harness.claimed(["done": 1, "executing": 1]) == [done, executing])
    try harness.end(done, .done)
    _ = try harness.session { try $0.cancel(cancelled) }
    try harness.session { try $0.delete(gone) }
    let later = try harness.enqueue()
    var failed: Set<JobID> = []
    let count = try harness.session { try $0.delete(ids[...], in: states, failed: &failed) }
    #expect(count == 1)
    let left = [done, executing, cancelled, waiting, later]
    #expect(try left.map { try harness.state($0) } == [.done, .executing, .cancelled, nil, .waiting])
  }

  @Test(arguments: Engine.available, [PrerequisiteFailure.wait, .cancel, .die, .run])
  func deleted_dependentsThatFailByIt_goThoughTheyComeLater(
    on engine: Engine, _ policy: PrerequisiteFailure
  ) throws {
    let harness = try StoreHarness(on: engine)
    let ids = try harness.enqueue(all: [
      StoreHarness.job("a", JobOptions(dependsOn: [.inSameCall(1)], whenPrerequisiteFails: policy)),
      StoreHarness.job("a", JobOptions(dependsOn: [.inSameCall(2)], whenPrerequisiteFails: policy)),
      StoreHarness.job("a"),
    ])
    let other = try harness.enqueue("b", JobOptions(dependsOn: [ids[2]], whenPrerequisiteFails: policy))
    let all = try harness.session { try $0.ids(JobFilter(kind: "a", states: states)) }
    #expect(all == ids.reversed())
    var failed: Set<JobID> = []
    for index in all.indices {
      let count = try harness.session {
        try $0.delete(all[index...index], in: states, failed: &failed)
      }
      #expect(count == 1)
    }
    #expect(try harness.counts()["a"] == nil)
    #expect(try harness.state(other) == (policy == .run ? .waiting : policy == .die ? .dead : .cancelled))
  }

  @Test(arguments: Engine.available) func retried_whatCameInBetween_staysAsItIs(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let key = JobOptions(uniqueKey: UniqueKey("k"))
    let dead = try harness.enqueue(), gone = try harness.enqueue(), taken = try harness.enqueue("a", key)
    for id in try harness.claimed() { try harness.end(id, .dead("no")) }
    let ids = try harness.session { try $0.retriable(.dead, kind: "a") }
    #expect(ids == [taken, gone, dead])
    #expect(try harness.session { try $0.retriable(.dead, kind: "nobody").isEmpty })
    try harness.session { try $0.delete(gone) }
    let heir = try harness.enqueue("a", key)
    #expect(try harness.session { try $0.retry(ids[...], in: .dead) } == 1)
    #expect(try [dead, gone, taken, heir].map { try harness.state($0) } == [.waiting, nil, .dead, .waiting])
    #expect(try harness.session { try $0.retry(ids[...], in: .dead) } == 0)
  }
}
