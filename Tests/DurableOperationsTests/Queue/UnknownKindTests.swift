import CompositeOperationsTestKit
import Foundation
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct UnknownKindTests {
  @Test(arguments: Engine.available) func left_untilItsKindIsRegistered(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let events = harness.queue.events()
    let id = try await harness.queue.enqueue(Send(text: "x"))
    harness.queue.start()
    #expect(await texts(of: events, through: "unknownKind send").last == "unknownKind send")
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .waiting)
    let counts = try await #require(try harness.queue.counts()["send"])
    #expect(!counts.isRegistered && counts[.waiting] == 1)
    try await harness.queue.register(Send.self) { _, _ in BlockOperation {} }
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .done)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func deadAfterATime_withTheReason(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) { $0.unknownKinds = .dead(after: .seconds(60)) }
    let old = try await harness.queue.enqueue(Send(text: "x"))
    let dependent = try await harness.queue.enqueue(
      Count(number: 1), options: JobOptions(dependsOn: [old], whenPrerequisiteFails: .die))
    harness.clock.advance(by: .seconds(500))
    harness.queue.start()
    // Its kind might have been registered a moment after the start.
    await harness.advance(by: .seconds(50), until: .dead, of: old)
    #expect(harness.clock.now.offset >= .seconds(550))
    #expect(try await harness.queue.job(old)?.lastError?.contains("no process had registered its kind") == true)
    #expect(try await harness.queue.job(dependent)?.state == .dead)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func diesWithAnUnknownOne_dependentThatRunsAllTheSame_runs(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location()) { $0.unknownKinds = .dead(after: .seconds(60)) }
    try await harness.queue.register(Count.self) { _, _ in BlockOperation {} }
    let old = try await harness.queue.enqueue(Send(text: "x"))
    let dependent = try await harness.queue.enqueue(
      Count(number: 1), options: JobOptions(dependsOn: [old], whenPrerequisiteFails: .run))
    harness.queue.start()
    await harness.advance(by: .seconds(1), until: .done, of: dependent)
    #expect(try await harness.queue.job(old)?.state == .dead)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func registeredAMomentAfterTheStart_oldJobsRun(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) { $0.unknownKinds = .dead(after: .seconds(60)) }
    let id = try await harness.queue.enqueue(Count(number: 1))
    // The program did not run for a day.
    harness.clock.advance(by: .seconds(86_400))
    harness.queue.start()
    await harness.queue.hasLookedAround()
    try await harness.queue.register(Count.self) { _, _ in BlockOperation {} }
    await harness.wait(for: .done, of: id)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func deadAfterATime_inAQueueThatDoesNotPoll(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) {
      $0.unknownKinds = .dead(after: .seconds(60))
      $0.pollInterval = nil
    }
    let old = try await harness.queue.enqueue(Send(text: "x"))
    harness.queue.start()
    var seconds = 0
    while try await harness.queue.job(old)?.state == .waiting, !Task.isCancelled {
      // Not from look to look: when it is dead there is none.
      harness.clock.advance(by: .seconds(1))
      await Task.yield()
      seconds += 1
    }
    #expect(try await harness.queue.job(old)?.state == .dead)
    #expect(seconds >= 60)
    await harness.queue.stop()
  }

  /// Also if the time is shorter than the pauses in which the other process says that it runs.
  @Test(arguments: [false, true], [60, 5])
  func backlogOfAnotherProcess_isNotKilled(_ isPaused: Bool, after seconds: Int) async throws {
    try await withDatabaseFile { file in
      let clock = ManualClock()
      let worker = try Harness(.file(file), clock: clock)
      let other = try Harness(.file(file), clock: clock) { $0.unknownKinds = .dead(after: .seconds(seconds)) }
      let release = Gate()
      try await worker.queue.register(Count.self, maxConcurrent: 1) { _, _ async throws in await release.wait() }
      // It claims nothing then, and knows the kind all the same.
      if isPaused { try await worker.queue.pause(kind: Count.kind) }
      worker.queue.start()
      let ids = try await worker.queue.enqueue(contentsOf: (0..<3).map { Count(number: $0) })
      other.queue.start()
      for _ in 0..<200 {
        await clock.waitForSleeper()
        clock.advance(by: .seconds(1))
        for queue in [worker.queue, other.queue] { await queue.hasLookedAround() }
      }
      #expect(try !ids.map { try worker.queue.job($0)?.state }.contains(.dead))
      release.open()
      await other.queue.stop()
      await worker.queue.stop()
    }
  }

  @Test func time_countsFromWhenTheJobIsDue() throws {
    let harness = try StoreHarness()
    let later = try harness.enqueue("old", JobOptions(start: .after(.seconds(1000))))
    let retried = try harness.enqueue("old", JobOptions(startsHeld: true))
    let waiting = try harness.enqueue("old")
    harness.now += 1_000_000
    _ = try harness.change { try $0.promote() }
    try harness.change { try $0.retry(retried) }
    func giveUp() throws -> [JobState?] {
      try harness.change { store in
        let ids = try store.jobs(ofKind: store.kindID("old"), dueBefore: harness.now - 60_000)
        try store.giveUp(ids, kind: "old")
      }
      return try [later, retried, waiting].map(harness.state)
    }
    #expect(try giveUp() == [.waiting, .waiting, .dead])
    harness.now += 60_001
    #expect(try giveUp() == [.dead, .dead, .dead])
  }

  @Test(arguments: Engine.available) func time_countsFromWhenItsPrerequisitesAreDone(on engine: Engine) throws {
    let harness = try StoreHarness(on: engine)
    let first = try harness.enqueue()
    let dependents = try [JobStart.atOnce, .after(.seconds(10))].map { start in
      try harness.enqueue("old", JobOptions(start: start, dependsOn: [first]))
    }
    let waiting = try harness.enqueue("old")
    #expect(try harness.claimed() == [first])
    harness.now += 1_000_000
    try harness.end(first, .done)
    for id in dependents { #expect(try harness.record(id)?.runAt == Date(milliseconds: harness.now)) }
    let kind = UnknownKind(id: try harness.session { try $0.number(ofKind: "old") }, name: "old", knownAt: 0)
    func giveUp() throws -> [JobState?] {
      while try harness.session({ try $0.giveUp(kind, dueFor: .seconds(60)) }) {}
      return try (dependents + [waiting]).map(harness.state)
    }
    #expect(try giveUp() == [.waiting, .waiting, .dead])
    harness.now += 60_001
    #expect(try giveUp() == [.dead, .dead, .dead])
  }

  @Test func jobThatIsToRunAlone_countsToo() throws {
    let harness = try StoreHarness()
    try harness.enqueue("old")
    _ = try harness.claim(["old": 1])
    _ = try harness.change { try $0.rescue(from: harness.worker, after: .crashed, maxCrashes: nil) }
    #expect(try harness.store.unknownKinds(besides: []).map(\.name) == ["old"])
  }
}
