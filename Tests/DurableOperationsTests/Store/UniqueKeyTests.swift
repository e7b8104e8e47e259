import Foundation
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct UniqueKeyTests {
  private func options(
    _ conflict: UniqueKey.Conflict = .reject, states: Set<JobState> = UniqueKey("").states,
    _ change: (inout JobOptions) -> Void = { _ in }
  ) -> JobOptions {
    var options = JobOptions(uniqueKey: UniqueKey("k", whenTaken: conflict, by: states))
    change(&options)
    return options
  }

  @Test(arguments: Engine.available) func taken_isRejectedByNumber_untilItHasEnded(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue("a", options())
    #expect(harness.reason { try harness.enqueue("a", options()) } == .duplicate(first))
    // Another kind has keys of its own.
    try harness.enqueue("b", options())
    #expect(try harness.claimed() == [first])
    #expect(harness.reason { try harness.enqueue("a", options()) } == .duplicate(first))
    try harness.end(first, .done)
    let second = try harness.enqueue("a", options())
    #expect(second > first)
    #expect(try harness.session { try $0.records(uniqueKey: "k", kind: "a").map(\.id) } == [first, second])
  }

  @Test(arguments: Engine.available, JobState.allCases)
  func stateThatCounts_isTheOneGiven(on engine: Engine, _ state: JobState) throws {
    for counts in [true, false] {
      let harness = try StoreHarness(on: engine)
      let other = try harness.enqueue("b")
      let first = try harness.enqueue(
        "a",
        options {
          if state == .scheduled { $0.start = .after(.seconds(9)) }
          if state == .blocked { $0.dependsOn = [other] }
          $0.startsHeld = state == .held
        })
      switch state {
      case .executing: _ = try harness.claimed()
      case .cancelled: _ = try harness.session { try $0.cancel(first) }
      case .dead: try harness.run(first, .dead("no"))
      case .done: try harness.run(first)
      default: break
      }
      #expect(try harness.state(first) == state)
      let states = counts ? [state] : Set(JobState.allCases).subtracting([state])
      let reason = harness.reason { try harness.enqueue("a", options(states: states)) }
      #expect(reason == (counts ? .duplicate(first) : nil))
    }
  }

  @Test(arguments: Engine.available) func severalThatCount_theLastOneIsNamed_oneThatExecutesOnlyIfThereIsNoOther(
    on engine: Engine
  ) throws {
    let harness = try StoreHarness(on: engine)
    let states = Set(JobState.allCases)
    func named() -> JobError.Reason? {
      harness.reason { try harness.enqueue("a", options(states: states)) }
    }
    let done = try harness.enqueue("a", options())
    try harness.run(done)
    let held = try harness.enqueue("a", options { $0.startsHeld = true })
    let other = try harness.enqueue("b", options())
    #expect(named() == .duplicate(held))
    let last = try harness.enqueue("a", options(states: [.waiting]))
    #expect(named() == .duplicate(last))
    #expect(try harness.claimed() == [last])
    #expect(named() == .duplicate(held))
    for id in [done, held] { try harness.session { try $0.delete(id) } }
    #expect(named() == .duplicate(last))
    #expect(other < last)
  }

  @Test(arguments: Engine.available) func takenWithinOneCall_namesThePosition(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let jobs = [StoreHarness.job("a"), StoreHarness.job("a", options()), StoreHarness.job("a", options())]
    #expect(harness.reason { _ = try harness.enqueue(all: jobs) } == .duplicate(.inSameCall(1)))
    #expect(try harness.counts().total == 0)
  }

  @Test(arguments: Engine.available) func replaced_takesNumberDependentsAndAllOptions(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue("a", options(.replace) { $0.maxAttempts = 7 })
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [first]))
    try harness.run(first, .again(after: .seconds(1), isCharged: true, error: "e"))
    let second = try harness.enqueue(
      "a",
      options(.replace) {
        $0.maxAttempts = 1
        $0.holdsAfterLastAttempt = true
        $0.timeout = .seconds(3)
        $0.priority = .low
      })
    #expect(second == first)
    let record = try #require(try harness.record(first))
    #expect(record.attempts == 0 && record.maxAttempts == 1 && record.lastError == nil && record.startedAt == nil)
    #expect(record.timeout == .seconds(3) && record.priority == .low && record.state == .waiting)
    let job = try #require(try harness.claim().jobs.first)
    #expect(job.holdsAfterLastAttempt)
    try harness.end(first, .done)
    #expect(try harness.state(dependent) == .waiting)
  }

  /// A server's clock is believed, whatever it shows.
  @Test func replacedByALaterOne_keepsItsDelayWhenTheClockIsSetAnew() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue("a", options(.replace))
    try harness.enqueue("a", options(.replace) { $0.start = .after(.seconds(60)) })
    harness.setDate(harness.now + 3_600_000)
    _ = try harness.session { try $0.look(StoreLook(kinds: [])) }
    #expect(try harness.record(id)?.runAt == Date(milliseconds: harness.now + 60_000))
  }

  @Test(arguments: Engine.available) func replacedByOneWithoutPrerequisites_waitsForNone(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let dead = try harness.enqueue("a")
    try harness.run(dead, .dead("failed"))
    let id = try harness.enqueue("a", options(.replace) { $0.dependsOn = [dead] })
    #expect(try harness.state(id) == .blocked)
    #expect(try harness.enqueue("a", options(.replace)) == id)
    #expect(try harness.state(id) == .waiting)
    #expect(try harness.record(id)?.prerequisites == [])
  }

  @Test(arguments: Engine.available) func replacedWithinOneCall_waitsForThePrerequisitesOfTheLastOneAlone(
    on engine: Engine
  ) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue("b"), second = try harness.enqueue("b")
    let calls: [[[JobID]]] = [[[first], [second]], [[second], [first, second], []], [[], [first]]]
    for prerequisites in calls {
      let ids = try harness.enqueue(
        all: prerequisites.map { those in StoreHarness.job("a", options(.replace) { $0.dependsOn = those }) })
      let last = prerequisites.last ?? []
      #expect(Set(ids).count == 1)
      #expect(try harness.record(ids[0])?.prerequisites == last)
      #expect(try harness.record(ids[0])?.unmetPrerequisites == last.count)
      #expect(try harness.state(ids[0]) == (last.isEmpty ? .waiting : .blocked))
    }
  }

  @Test(arguments: Engine.available) func replacedWhileExecuting_isNotTriedAgain_andItsDependentsWaitForTheNewOne(
    on engine: Engine
  ) throws {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [old]))
    let new = try harness.enqueue("a", options(.replace))
    try harness.end(old, .again(after: .zero, isCharged: true, error: "no network"))
    #expect(try harness.record(old)?.lastError == "no network")
    #expect(try harness.state(old) == .cancelled)
    #expect(try harness.state(dependent) == .blocked)
    #expect(try harness.claimed() == [new])
    try harness.end(new, .done)
    #expect(try harness.state(dependent) == .waiting)
    // A retry wants it all the same.
    try harness.session { try $0.retry(old) }
    #expect(try harness.claimed() == [old])
    try harness.end(old, .again(after: .zero, isCharged: true, error: "no network"))
    #expect(try harness.state(old) == .waiting)
  }

  @Test(arguments: Engine.available) func replacedWhileExecuting_lastAttemptFails_dependentsWaitForTheNewOne(
    on engine: Engine
  ) throws {
    let harness = try StoreHarness(on: engine)
    for result in [Acknowledgement.Result.dead("no"), .held("no")] {
      let old = try harness.enqueue("a", options(.replace))
      #expect(try harness.claimed() == [old])
      let dependent = try harness.enqueue("b", JobOptions(dependsOn: [old], whenPrerequisiteFails: .die))
      let new = try harness.enqueue("a", options(.replace))
      try harness.end(old, result)
      #expect(try harness.record(old)?.lastError == "no")
      #expect(try harness.state(old) == .cancelled)
      #expect(try harness.state(dependent) == .blocked)
      #expect(try harness.claimed() == [new])
      try harness.end(new, .done)
      #expect(try harness.state(dependent) == .waiting)
    }
  }

  @Test(arguments: Engine.available)
  func replacedWhileExecuting_cancelledAndItsProcessEnds_dependentsWaitForTheNewOne(on engine: Engine) throws {
    let losses: [WorkerLoss?] = [.crashed, .lapsed, .stoodStill, nil]
    for loss in losses {
      let harness = try StoreHarness(on: engine)
      let old = try harness.enqueue("a", options(.replace))
      #expect(try harness.claimed() == [old])
      let dependent = try harness.enqueue("b", JobOptions(dependsOn: [old], whenPrerequisiteFails: .die))
      let new = try harness.enqueue("a", options(.replace))
      _ = try harness.session { try $0.cancel(old) }
      if let loss {
        try harness.lose(loss)
      } else {
        // The queue is suspended.
        try harness.session { try $0.giveBackJobs(of: harness.worker, after: [], keepsDone: true, within: nil) }
      }
      #expect(try harness.state(old) == .cancelled, "\(loss as Any)")
      #expect(try harness.state(new) == .waiting, "\(loss as Any)")
      #expect(try harness.state(dependent) == .blocked, "\(loss as Any)")
      #expect(try harness.record(dependent)?.prerequisites == [new], "\(loss as Any)")
      try harness.takeIn()
      try harness.run(new)
      #expect(try harness.state(dependent) == .waiting, "\(loss as Any)")
    }
  }

  @Test(arguments: Engine.available)
  func replacedWhileExecuting_waitsAgain_andTheNewOneIsReplaced_runsFirst(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    let new = try harness.enqueue("a", options(.replace))
    try harness.lose(.stoodStill)
    try harness.takeIn()
    try harness.session { try $0.hold(old) }
    try harness.session { try $0.retry(old) }
    #expect(try harness.enqueue("a", options(.replace)) == new)
    #expect(try harness.state(new) == .blocked)
    #expect(try harness.claimed() == [old])
    try harness.end(old, .done)
    #expect(try harness.claimed() == [new])
  }

  @Test(arguments: Engine.available)
  func replacedWhileExecuting_waitsAgain_andIsCancelled_dependentsWaitForTheNewOne(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [old], whenPrerequisiteFails: .die))
    let new = try harness.enqueue("a", options(.replace))
    try harness.lose(.stoodStill)
    _ = try harness.session { try $0.cancel(old) }
    #expect(try harness.state(old) == .cancelled)
    #expect(try harness.state(dependent) == .blocked)
    #expect(try harness.record(dependent)?.prerequisites == [new])
  }

  @Test(arguments: Engine.available)
  func replacedWhileExecuting_waitsAgain_andIsDeleted_dependentsWaitForTheNewOne(on engine: Engine) throws {
    // Alone, or with all in its state.
    for isAlone in [true, false] {
      let harness = try StoreHarness(on: engine)
      let old = try harness.enqueue("a", options(.replace))
      #expect(try harness.claimed() == [old])
      let dependent = try harness.enqueue("b", JobOptions(dependsOn: [old], whenPrerequisiteFails: .die))
      let new = try harness.enqueue("a", options(.replace))
      let both = try harness.enqueue("b", JobOptions(dependsOn: [old, new], whenPrerequisiteFails: .die))
      try harness.lose(.stoodStill)
      if isAlone {
        try harness.session { try $0.delete(old) }
      } else {
        var failed: Set<JobID> = []
        let ids = try harness.session { try $0.ids(JobFilter(kind: "a", states: [.waiting])) }
        #expect(ids == [old])
        let count = try harness.session { try $0.delete(ids[...], in: [.waiting], failed: &failed) }
        #expect(count == 1)
        #expect(failed.isEmpty)
      }
      #expect(try harness.state(old) == nil, "\(isAlone)")
      for id in [dependent, both] {
        #expect(try harness.state(id) == .blocked, "\(isAlone)")
        #expect(try harness.record(id)?.unmetPrerequisites == 1, "\(isAlone)")
        #expect(try harness.record(id)?.prerequisites == [new], "\(isAlone)")
      }
      try harness.takeIn()
      try harness.run(new)
      for id in [dependent, both] { #expect(try harness.state(id) == .waiting, "\(isAlone)") }
    }
  }

  @Test(arguments: Engine.available)
  func replacedWhileExecuting_waitsAgain_andIsGivenUp_dependentsWaitForTheNewOne(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [old], whenPrerequisiteFails: .die))
    let new = try harness.enqueue("a", options(.replace))
    try harness.lose(.stoodStill)
    harness.now += 100_000
    let kind = UnknownKind(id: try harness.session { try $0.number(ofKind: "a") }, name: "a", knownAt: 0)
    _ = try harness.session { try $0.giveUp(kind, dueFor: .seconds(60)) }
    #expect(try harness.state(old) == .dead)
    #expect(try harness.state(dependent) == .blocked)
    #expect(try harness.record(dependent)?.prerequisites == [new])
  }

  @Test(arguments: Engine.available)
  func replacedWhileExecuting_diesOfCrashes_dependentsWaitForTheNewOne(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [old], whenPrerequisiteFails: .die))
    let new = try harness.enqueue("a", options(.replace))
    try harness.lose(.crashed, maxCrashes: 1)
    #expect(try harness.state(old) == .dead)
    #expect(try harness.state(dependent) == .blocked)
    #expect(try harness.record(dependent)?.prerequisites == [new])
  }

  @Test(arguments: Engine.available) func replacedWhileExecuting_dependentOfBoth_waitsForTheNewOneAlone(
    on engine: Engine
  ) throws {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    let new = try harness.enqueue("a", options(.replace))
    let both = try harness.enqueue("b", JobOptions(dependsOn: [old, new]))
    let first = try harness.enqueue("b", JobOptions(dependsOn: [old]))
    #expect(try harness.record(both)?.unmetPrerequisites == 2)
    try harness.end(old, .dead("no"))
    for id in [both, first] {
      #expect(try harness.state(id) == .blocked)
      #expect(try harness.record(id)?.unmetPrerequisites == 1)
      #expect(try harness.record(id)?.prerequisites == [new])
    }
    try harness.run(new)
    for id in [both, first] { #expect(try harness.state(id) == .waiting) }
  }

  @Test(arguments: Engine.available) func replacedWhileExecuting_whatTheNewOneSaysOfItsFailureCounts(on engine: Engine)
    throws
  {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    let new = try harness.enqueue(
      "a",
      options(.replace) {
        $0.dependsOn = [old]
        $0.whenPrerequisiteFails = .cancel
      })
    try harness.end(old, .dead("failed"))
    #expect(try harness.state(new) == .cancelled)
  }

  @Test(arguments: Engine.available) func replacedWhileExecuting_runsAfterIt_andIsReplacedItself(on engine: Engine)
    throws
  {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [first])
    let second = try harness.enqueue("a", options(.replace))
    #expect(second != first)
    #expect(try harness.state(second) == .blocked)
    let third = try harness.enqueue("a", options(.replace) { $0.maxAttempts = 3 })
    #expect(third == second)
    #expect(try harness.state(second) == .blocked)
    #expect(harness.reason { try harness.enqueue("a", options()) } == .duplicate(second))
    try harness.end(first, .dead("no"))
    #expect(try harness.claimed() == [second])
  }

  @Test(arguments: Engine.available) func replacedWhileExecuting_thoughAnEndedOneHasTheKey_runsAfterIt(
    on engine: Engine
  ) throws {
    let harness = try StoreHarness(on: engine)
    let states = Set(JobState.allCases)
    let ended = try harness.enqueue("a", options())
    try harness.run(ended)
    let old = try harness.enqueue("a", options())
    #expect(try harness.claimed() == [old])
    let later = try harness.enqueue("a", options(states: []) { $0.startsHeld = true })
    _ = try harness.session { try $0.cancel(later) }
    let new = try harness.enqueue("a", options(.replace, states: states))
    #expect(try [ended, old, later, new].map(harness.state) == [.done, .executing, .cancelled, .blocked])
    #expect(try harness.enqueue("a", options(.replace, states: states)) == new)
    #expect(try harness.claimed() == [])
    try harness.end(old, .done)
    #expect(try harness.claimed() == [new])
    try harness.end(new, .done)
    // Now that none can run, the last one that has ended is replaced.
    #expect(try harness.enqueue("a", options(.replace, states: states)) == new)
    #expect(try harness.state(new) == .waiting)
  }

  @Test(arguments: Engine.available) func replacedByOneThatWaitsForItsOwnDependent_isRefused(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue("a", options(.replace))
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [first]))
    let further = try harness.enqueue("b", JobOptions(dependsOn: [dependent]))
    #expect(
      harness.reason { try harness.enqueue("a", options(.replace) { $0.dependsOn = [further] }) }
        == .circularPrerequisite(further))
    #expect(try harness.state(first) == .waiting)
    // So is one of the same call.
    let jobs = [
      StoreHarness.job("c", options(.replace)), StoreHarness.job("b", JobOptions(dependsOn: [.inSameCall(0)])),
      StoreHarness.job("c", options(.replace) { $0.dependsOn = [.inSameCall(1)] }),
    ]
    #expect(harness.reason { _ = try harness.enqueue(all: jobs) } != nil)
    #expect(try harness.counts()["c"] == nil)
  }

  @Test(arguments: Engine.available) func replacedByOneThatWaitsForIt_isRefusedAsACircle(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue("a", options(.replace))
    #expect(
      harness.reason { try harness.enqueue("a", options(.replace) { $0.dependsOn = [first] }) }
        == .circularPrerequisite(first))
    #expect(try harness.state(first) == .waiting)
  }

  @Test(arguments: Engine.available) func replacedWhileExecuting_byOneThatWaitsForItsOwnDependent_isRefused(
    on engine: Engine
  ) throws {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    let dependent = try harness.enqueue("b", JobOptions(dependsOn: [old]))
    let further = try harness.enqueue("b", JobOptions(dependsOn: [dependent]))
    func reason(_ prerequisites: JobID...) -> JobError.Reason? {
      harness.reason { try harness.enqueue("a", options(.replace) { $0.dependsOn = prerequisites }) }
    }
    #expect(reason(dependent) == .circularPrerequisite(dependent))
    #expect(reason(further, old) == .circularPrerequisite(further))
    #expect(try harness.counts()[.blocked] == 2)
    // It may wait for the one in whose place it comes.
    #expect(reason(old) == nil)
    // So may one that replaces it in turn, and no more.
    #expect(reason(old) == nil)
    #expect(reason(further) == .circularPrerequisite(further))
    try harness.end(old, .dead("no"))
    #expect(try harness.state(dependent) == .blocked)
    let new = try #require(try harness.record(dependent)?.prerequisites.first)
    try harness.session { try $0.delete(new) }
    #expect(try harness.state(dependent) == .cancelled)
  }

  @Test(arguments: Engine.available, [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]])
  func replacedWhileExecuting_byOneThatWaitsForItsDependentThroughAnother_isRefused(on engine: Engine, _ order: [Int])
    throws
  {
    let harness = try StoreHarness(on: engine)
    let old = try harness.enqueue("a", options(.replace))
    #expect(try harness.claimed() == [old])
    func jobs(_ prerequisite: JobID?) -> [JobRequest] {
      let place = { (job: Int) in JobID.inSameCall(order.firstIndex(of: job) ?? 0) }
      let all = [
        StoreHarness.job("b", JobOptions(dependsOn: prerequisite.map { [$0] } ?? [])),
        StoreHarness.job("b", JobOptions(dependsOn: [place(0)])),
        StoreHarness.job("a", options(.replace) { $0.dependsOn = [place(1)] }),
      ]
      return order.map { all[$0] }
    }
    let reason = harness.reason { _ = try harness.enqueue(all: jobs(old)) }
    guard case .circularPrerequisite? = reason else {
      Issue.record("It was not refused: \(reason as Any)")
      return
    }
    #expect(try harness.counts().total == 1)
    // Nothing is wrong with the rest.
    #expect(harness.reason { _ = try harness.enqueue(all: jobs(nil)) } == nil)
  }

  @Test(arguments: Engine.available) func retriedWhileAnotherHasItsKey_isRefused(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue("a", options())
    try harness.run(first, .dead("no"))
    let second = try harness.enqueue("a", options())
    let error = try #require(throws: JobError.self) { try harness.session { try $0.retry(first) } }
    #expect(error.reason == .duplicate(second))
    #expect(error.description.contains("Job #1 will not run again: job #2 has its unique key by now"), "\(error)")
    #expect(try harness.retryAll(.dead) == 0)
    try harness.run(second, .dead("no"))
    // Of two that could, the later one.
    #expect(try harness.retryAll(.dead) == 1)
    #expect(try harness.state(first) == .dead)
    #expect(try harness.state(second) == .waiting)
  }
}
