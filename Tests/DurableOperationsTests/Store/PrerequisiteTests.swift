import Foundation
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct PrerequisiteTests {
  /// A queue that does not poll sets its alarm by this, and would look again and again.
  @Test(arguments: Engine.available) func cancelledJob_thatOthersWaitFor_isNothingToDelete(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    let second = try harness.enqueue("a", JobOptions(dependsOn: [first]))
    _ = try harness.session { try $0.cancel(first) }
    func firstFinish() throws -> Int64? {
      try harness.session { try $0.ahead(StoreAhead.Question(wantsFirstFinish: true)).firstFinish }
    }
    #expect(try harness.session { try $0.prune(keeping: .seconds(-1)) } == false && harness.record(first) != nil)
    #expect(try firstFinish() == nil)
    harness.now += 5
    _ = try harness.session { try $0.cancel(second) }
    #expect(try firstFinish() == harness.now)
  }

  @Test(arguments: Engine.available) func allDone_isReleased(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue(), second = try harness.enqueue()
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [first, second, first]))
    #expect(try harness.record(dependent)?.unmetPrerequisites == 2)
    #expect(try harness.record(dependent)?.prerequisites == [first, second])
    try harness.run(first)
    #expect(try harness.state(dependent) == .blocked)
    #expect(try harness.record(dependent)?.prerequisites == [second])
    try harness.run(second, keepsDone: false)
    #expect(try harness.state(dependent) == .waiting)
    #expect(try harness.record(dependent)?.prerequisites == [])
  }

  @Test(arguments: Engine.available) func doneBefore_doesNotBlock(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    try harness.run(first)
    #expect(try harness.state(harness.enqueue("b", JobOptions(dependsOn: [first]))) == .waiting)
  }

  @Test(arguments: Engine.available) func delayed_isScheduledWhenReleasedBeforeItsTime(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    let later = try harness.enqueue("b", JobOptions(start: .after(.seconds(60)), dependsOn: [first]))
    let soon = try harness.enqueue("b", JobOptions(start: .after(.seconds(1)), dependsOn: [first]))
    #expect(try harness.state(later) == .blocked)
    harness.now += 30_000
    try harness.run(first)
    #expect(try harness.state(later) == .scheduled)
    #expect(try harness.state(soon) == .waiting)
  }

  @Test(
    arguments: Engine.available,
    [
      (policy: PrerequisiteFailure.wait, failed: JobState.blocked, deleted: JobState.cancelled),
      (.cancel, .cancelled, .cancelled), (.die, .dead, .dead), (.run, .waiting, .waiting),
    ])
  func failedOrDeleted_dependentDoesAsItsOptionsSay(
    on engine: Engine, _ ends: (policy: PrerequisiteFailure, failed: JobState, deleted: JobState)
  ) throws {
    let (policy, failed, deleted) = ends
    let options = { (id: JobID) in JobOptions(dependsOn: [id], whenPrerequisiteFails: policy) }
    for end in ["dead", "cancelled", "deleted", "long ago"] {
      let harness = try StoreHarness(on: engine)
      let first = try harness.enqueue()
      var dependent = JobID(rawValue: 0), further = dependent
      let enqueue = {
        dependent = try harness.enqueue("b", options(first))
        further = try harness.enqueue("c", JobOptions(dependsOn: [dependent], whenPrerequisiteFails: .cancel))
      }
      if end != "long ago" { try enqueue() }
      switch end {
      case "cancelled": _ = try harness.session { try $0.cancel(first) }
      case "deleted": try harness.session { try $0.delete(first) }
      default: try harness.run(first, .dead("no"))
      }
      if end == "long ago" { try enqueue() }
      let expected = end == "deleted" ? deleted : failed
      #expect(try harness.state(dependent) == expected, "\(policy) \(end)")
      #expect(try harness.state(further) == (expected.isSettled ? .cancelled : .blocked), "\(policy) \(end)")
      if expected.isSettled {
        #expect(try harness.record(dependent)?.lastError?.contains("\(first)") == true)
        #expect(try harness.record(dependent)?.finishedAt == Date(milliseconds: harness.now))
      }
    }
  }

  @Test(arguments: Engine.available) func failedPrerequisiteRetried_waitingDependentRuns(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [first]))
    try harness.run(first, .dead("no"))
    try harness.session { try $0.retry(first) }
    try harness.run(first)
    #expect(try harness.state(dependent) == .waiting)
  }

  @Test(arguments: Engine.available) func cancelledDependent_retried_waitsForItsPrerequisite(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [first]))
    _ = try harness.session { try $0.cancel(dependent) }
    try harness.session { try $0.retry(dependent) }
    #expect(try harness.state(dependent) == .blocked)
    _ = try harness.session { try $0.cancel(dependent) }
    try harness.run(first)
    #expect(try harness.state(dependent) == .cancelled)
    try harness.session { try $0.retry(dependent) }
    #expect(try harness.state(dependent) == .waiting)
  }

  @Test(arguments: Engine.available) func anotherDependsOnTheSameDeadJob_oneThatWasRetriedGoesOnWaiting(
    on engine: Engine
  ) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    let options = JobOptions(dependsOn: [first], whenPrerequisiteFails: .cancel)
    let retried = try harness.enqueue("b", options)
    try harness.run(first, .dead("no"))
    try harness.session { try $0.retry(retried) }
    let other = try harness.enqueue("b", options)
    #expect(try harness.state(other) == .cancelled)
    #expect(try harness.state(retried) == .blocked)
  }

  @Test(arguments: Engine.available) func lateEndOfALostAttempt_leavesDependentsAsTheyAre(on engine: Engine) throws {
    // The job dies in another process, or with its own: then nobody has claimed it since.
    for diesWithItsProcess in [false, true] {
      for result in [.done, .dead("late")] as [Acknowledgement.Result] {
        let harness = try StoreHarness(on: engine)
        let first = try harness.enqueue()
        let dependents = try [PrerequisiteFailure.cancel, .die].map { policy in
          try harness.enqueue("b", JobOptions(dependsOn: [first], whenPrerequisiteFails: policy))
        }
        let old = try harness.claim().jobs[0]
        #expect(old.id == first)
        try harness.lose(diesWithItsProcess ? .crashed : .stoodStill, maxCrashes: diesWithItsProcess ? 1 : nil)
        try harness.takeIn()
        if !diesWithItsProcess { try harness.run(first, .dead("no")) }
        #expect(try harness.state(first) == .dead)
        for dependent in dependents { try harness.session { try $0.retry(dependent) } }
        let late = StoreHarness.acknowledgement(of: first, claim: old.claim, result)
        _ = try harness.session { try harness.perform($0, ends: [late]) }
        #expect(try harness.state(first) == .dead)
        for dependent in dependents {
          #expect(try harness.state(dependent) == .blocked, "\(result), with its process: \(diesWithItsProcess)")
        }
      }
    }
  }

  @Test(arguments: Engine.available) func heldDependent_staysHeldWhenReleased(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [first]))
    let born = try harness.enqueue("b", JobOptions(dependsOn: [first], startsHeld: true))
    try harness.session { try $0.hold(dependent) }
    try harness.run(first)
    #expect(try harness.state(dependent) == .held)
    #expect(try harness.state(born) == .held)
    try harness.session { try $0.retry(dependent) }
    #expect(try harness.state(dependent) == .waiting)
  }

  @Test(arguments: Engine.available) func heldDependent_failsWithItsPrerequisite(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue(), second = try harness.enqueue()
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [first], whenPrerequisiteFails: .cancel))
    let waiting = try harness.enqueue("b", JobOptions(dependsOn: [second]))
    for id in [dependent, waiting] { try harness.session { try $0.hold(id) } }
    try harness.run(first, .dead("no"))
    #expect(try harness.state(dependent) == .cancelled)
    try harness.session { try $0.delete(second) }
    #expect(try harness.state(waiting) == .cancelled)
  }

  @Test(arguments: Engine.available) func failedWithItsPrerequisite_isTold_afterThat(on engine: Engine) async throws {
    let harness = try StoreHarness(on: engine)
    let events = harness.events.stream(bufferingPolicy: .unbounded)
    let first = try harness.enqueue()
    let second = try harness.enqueue("b", JobOptions(dependsOn: [first], whenPrerequisiteFails: .cancel))
    let third = try harness.enqueue("c", JobOptions(dependsOn: [second], whenPrerequisiteFails: .die))
    #expect(harness.reason { _ = try harness.session { try $0.cancel(JobID(rawValue: 9)) } } == .unknownJob)
    _ = try harness.session { try $0.cancel(first) }
    // One that has failed already, and a transaction that does not succeed.
    let options = JobOptions(dependsOn: [first], whenPrerequisiteFails: .die)
    let late = try harness.enqueue("b", options)
    #expect(throws: TestFailure()) {
      try harness.session {
        try $0.transact {
          _ = try $0.enqueue([StoreHarness.job("b", options)])
          throw TestFailure()
        }
      }
    }
    let last = try harness.enqueue()
    let told = await texts(of: events, through: "enqueued \(last)")
    #expect(
      told == [
        "enqueued \(first)", "enqueued \(second)", "enqueued \(third)", "cancelled \(first)", "cancelled \(second)",
        "dead \(third)", "enqueued \(late)", "dead \(late)", "enqueued \(last)",
      ])
  }

  @Test(arguments: Engine.available) func cancelledWithDependents_isNotPruned(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [first]))
    _ = try harness.session { try $0.cancel(first) }
    harness.now += 100_000
    #expect(try !harness.session { try $0.prune(keeping: .seconds(50)) })
    #expect(try harness.state(first) == .cancelled)
    #expect(try harness.state(dependent) == .blocked)
    // Deleted by hand it takes the other along, now.
    try harness.session { try $0.delete(first) }
    #expect(try harness.record(dependent)?.finishedAt == Date(milliseconds: harness.now))
  }

  @Test(arguments: Engine.available) func unknown_isRefusedAndNothingStored(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    for unknown in [JobID(rawValue: 77), JobID(rawValue: 0), .inSameCall(2), .inSameCall(.max)] {
      let jobs = [StoreHarness.job(), StoreHarness.job("a", JobOptions(dependsOn: [unknown]))]
      #expect(harness.reason { _ = try harness.enqueue(all: jobs) } == .unknownPrerequisite(unknown))
    }
    #expect(try harness.counts().total == 0)
  }

  @Test(arguments: Engine.available) func circleInOneCall_namesThePositions(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    func jobs(_ prerequisites: [[Int]]) -> [JobRequest] {
      prerequisites.map { StoreHarness.job("a", JobOptions(dependsOn: $0.map { .inSameCall($0) })) }
    }
    #expect(harness.reason { _ = try harness.enqueue(all: jobs([[0]])) } == .cycle([0, 0]))
    #expect(harness.reason { _ = try harness.enqueue(all: jobs([[], [2], [3, 0], [1]])) } == .cycle([1, 2, 3, 1]))
    #expect(try harness.counts().total == 0)
    let ids = try harness.enqueue(all: jobs([[1], [2], []]))
    #expect(try harness.claimed() == [ids[2]])
  }

  @Test func circle_isFoundInRandomGraphsIfThereIsOne() {
    var generator = SystemRandomNumberGenerator()
    for _ in 0..<2000 {
      let count = Int.random(in: 1...8, using: &generator)
      let graph = (0..<count).map { _ in
        (0..<Int.random(in: 0...2, using: &generator)).map { _ in Int.random(in: 0..<count, using: &generator) }
      }
      // What has no prerequisites left is taken away until nothing changes: what stays are circles
      // and what follows them.
      var left = Set(graph.indices)
      while let next = left.first(where: { job in graph[job].allSatisfy { !left.contains($0) } }) { left.remove(next) }
      let circle = JobRequest.circle(in: graph)
      #expect((circle == nil) == left.isEmpty, "\(graph)")
      guard let circle else { continue }
      #expect(circle.first == circle.last && circle.count > 1, "\(graph)")
      for (job, prerequisite) in zip(circle, circle.dropFirst()) { #expect(graph[job].contains(prerequisite)) }
    }
  }

  @Test(arguments: Engine.available) func longChainInOneCall_isStored(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let count = engine == .sqlite ? 20_000 : 3000
    let jobs = (0..<count).map { number in
      StoreHarness.job(
        "a",
        number == 0 ? JobOptions() : JobOptions(dependsOn: [.inSameCall(number - 1)], whenPrerequisiteFails: .cancel))
    }
    let ids = try harness.enqueue(all: jobs)
    _ = try harness.session { try $0.cancel(ids[0]) }
    #expect(try harness.counts()[.cancelled] == count)
  }
}
