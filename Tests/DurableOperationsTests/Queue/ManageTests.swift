import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite(.timeLimit(.minutes(30))) struct ManageTests {
  /// A queue that runs nothing, and a job in each of the states that can be had without running.
  private func queue(on engine: Engine) throws -> (
    DurableQueue, waiting: JobID, scheduled: JobID, blocked: JobID, held: JobID
  ) {
    let queue = try DurableQueue(location: engine.location())
    let waiting = try queue.enqueue(Count(number: 1))
    let scheduled = try queue.enqueue(Count(number: 2), options: JobOptions(start: .after(.seconds(9000))))
    let blocked = try queue.enqueue(Count(number: 3), options: JobOptions(dependsOn: [waiting]))
    let held = try queue.enqueue(Count(number: 4), options: JobOptions(startsHeld: true))
    return (queue, waiting, scheduled, blocked, held)
  }

  @Test(arguments: Engine.available) func cancelled_whateverItWaitsFor(on engine: Engine) throws {
    let (queue, waiting, scheduled, blocked, held) = try queue(on: engine)
    for id in [scheduled, blocked, held, waiting] {
      try queue.cancel(id)
      let record = try #require(try queue.job(id))
      #expect(record.state == .cancelled && record.finishedAt != nil)
      try queue.cancel(id)
    }
    #expect(jobErrorReason { try queue.cancel(JobID(rawValue: 99)) } == .unknownJob)
  }

  @Test(arguments: Engine.available) func cancelledWhileExecuting_operationIsCancelled(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let never = NeverFinishingOperation<Void>(), started = Gate(), proceed = Gate()
    try await queue.register(Count.self) { _, _ in never }
    try await queue.register(Send.self) { _, context async throws in
      started.open()
      await proceed.wait()
      // That it is cancelled is read after it is stored.
      await until(context.isCancelled)
      try await context.complete { _ in }
    }
    queue.start()
    let first = try await queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    let second = try await queue.enqueue(Send(text: "stubborn"))
    await never.started.wait()
    await started.wait()
    for id in [first, second] { try await queue.cancel(id) }
    await never.cancelRequested.wait()
    #expect(try await queue.job(second)?.state == .executing)
    #expect(try await queue.job(second)?.isCancelRequested == true)
    #expect(jobErrorReason { try queue.delete(second) } == .wrongState(.executing))
    #expect(jobErrorReason { try queue.hold(second) } == .wrongState(.executing))
    #expect(jobErrorReason { try queue.retry(second) } == .wrongState(.executing))
    proceed.open()
    try await queue.waitUntilIdle()
    #expect(try await queue.job(first)?.state == .cancelled)
    #expect(try await queue.job(first)?.attempts == 0)
    // It succeeded all the same.
    #expect(try await queue.job(second)?.state == .done)
    #expect(try await queue.job(second)?.isCancelRequested == false)
    #expect(jobErrorReason { try queue.cancel(second) } == .wrongState(.done))
    #expect(jobErrorReason { try queue.retry(second) } == .wrongState(.done))
    await queue.stop()
  }

  @Test(arguments: Engine.available) func retriedAtOnce_scheduledHeldAndCancelled(on engine: Engine) throws {
    let (queue, waiting, scheduled, blocked, held) = try queue(on: engine)
    #expect(jobErrorReason { try queue.retry(waiting) } == .wrongState(.waiting))
    #expect(jobErrorReason { try queue.retry(blocked) } == .wrongState(.blocked))
    let time = try #require(try queue.job(scheduled)?.runAt)
    try queue.retry(scheduled)
    try queue.retry(held)
    #expect(try queue.job(scheduled)?.state == .waiting)
    #expect(try #require(try queue.job(scheduled)?.runAt) < time)
    #expect(try queue.job(held)?.state == .waiting)
    try queue.cancel(blocked)
    try queue.retry(blocked)
    #expect(try queue.job(blocked)?.state == .blocked)
  }

  @Test(arguments: Engine.available) func held_doesNotRunUntilRetried(on engine: Engine) async throws {
    let (queue, waiting, scheduled, blocked, held) = try queue(on: engine)
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    for id in [waiting, scheduled, blocked, held] { try await queue.hold(id) }
    let free = try await queue.enqueue(Count(number: 5))
    queue.start()
    try await queue.waitUntilIdle()
    #expect(try await queue.job(free)?.state == .done)
    #expect(try await queue.counts()[.held] == 4)
    #expect(jobErrorReason { try queue.hold(free) } == .wrongState(.done))
    #expect(try await queue.retryAll(.held, kind: "send") == 0)
    #expect(try await queue.retryAll(.held) == 4)
    try await queue.waitUntilIdle()
    #expect(try await queue.counts()[.done] == 5)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func drained_onlyWhatRunsIsLeft(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let never = NeverFinishingOperation<Void>()
    try await queue.register(Send.self) { _, _ in never }
    queue.start()
    let running = try await queue.enqueue(Send(text: "runs"))
    await never.started.wait()
    let first = try await queue.enqueue(Count(number: 1), options: JobOptions(startsHeld: true))
    try await queue.enqueue(contentsOf: (0..<2500).map { Count(number: $0) }, options: JobOptions(dependsOn: [first]))
    try await queue.enqueue(contentsOf: [
      JobRequest(Count(number: 1), options: JobOptions(dependsOn: [.inSameCall(1)])), JobRequest(Count(number: 2)),
    ])
    let dependent = try await queue.enqueue(Send(text: "waits"), options: JobOptions(dependsOn: [first]))
    #expect(try await queue.deleteUnstarted(kind: "count") == 2503)
    #expect(try await queue.counts()["count"]?.total ?? 0 == 0)
    #expect(try await queue.job(dependent)?.state == .cancelled)
    #expect(try await queue.deleteUnstarted() == 0)
    #expect(try await queue.job(running)?.state == .executing)
    #expect(try await queue.deleteAll(in: [.executing]) == 0)
    #expect(try await queue.deleteAll(in: [.executing, .cancelled]) == 1)
    await queue.stop(grace: .zero)
  }

  @Test(arguments: Engine.available) func drainedInSeveralParts_nothingIsLeft(on engine: Engine) throws {
    let queue = try DurableQueue(location: engine.location())
    // The prerequisite comes last, and its dependents before it.
    let dependents = (0..<1500).map {
      JobRequest(Count(number: $0), options: JobOptions(dependsOn: [.inSameCall(1500)]))
    }
    try queue.enqueue(contentsOf: dependents + [JobRequest(Count(number: 1500))])
    #expect(try queue.deleteUnstarted() == 1501)
    #expect(try queue.counts().total == 0)
  }

  @Test(arguments: Engine.available, [PrerequisiteFailure.cancel, .die])
  func cancelAll_dependentBeforeItsPrerequisite_isCancelledToo(
    on engine: Engine, _ policy: PrerequisiteFailure
  ) throws {
    let queue = try DurableQueue(location: engine.location())
    let ids = try queue.enqueue(contentsOf: [
      JobRequest(Count(number: 1), options: JobOptions(dependsOn: [.inSameCall(1)], whenPrerequisiteFails: policy)),
      JobRequest(Count(number: 2)),
    ])
    let other = try queue.enqueue(
      Send(text: "waits"), options: JobOptions(dependsOn: [ids[0]], whenPrerequisiteFails: policy))
    #expect(try queue.cancelAll(kind: "count") == 2)
    #expect(try ids.map { try queue.job($0)?.state } == [.cancelled, .cancelled])
    #expect(try queue.counts()["count"]?[.cancelled] == 2)
    // Those of other kinds fail as their options say.
    #expect(try queue.job(other)?.state == (policy == .die ? .dead : .cancelled))
  }

  @Test(arguments: Engine.available) func thousands_areRetriedAndGivenAnotherPriority(on engine: Engine) throws {
    let queue = try DurableQueue(location: engine.location())
    try queue.enqueue(contentsOf: (0..<2100).map { Count(number: $0) }, options: JobOptions(startsHeld: true))
    #expect(try queue.setPriority(.low, kind: "count") == 2100)
    #expect(try queue.retryAll(.held) == 2100)
    #expect(try queue.counts()[.waiting] == 2100)
    #expect(try queue.jobs(limit: 3000).allSatisfy { $0.priority == .low })
  }

  @Test(arguments: Engine.available) func priorityChanged_decidesWhatRunsNext(on engine: Engine) async throws {
    var configuration = DurableQueue.Configuration()
    configuration.maxConcurrentOperationCount = 1
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    let seen = EventRecorder<String>()
    try await queue.register(Count.self) { job, _ in BlockOperation { seen.record("\(job.number)") } }
    try await queue.register(Send.self) { job, _ in BlockOperation { seen.record(job.text) } }
    try await queue.enqueue(contentsOf: [Count(number: 1), Count(number: 2)])
    let third = try await queue.enqueue(Count(number: 3))
    try await queue.enqueue(contentsOf: [Send(text: "a"), Send(text: "b")])
    try await queue.setPriority(.userInitiated, of: third)
    #expect(try await queue.setPriority(JobPriority(major: 20), kind: "send") == 2)
    #expect(try await queue.setPriority(.low, kind: "nobody") == 0)
    #expect(jobErrorReason { try queue.setPriority(.low, of: JobID(rawValue: 99)) } == .unknownJob)
    queue.start()
    try await queue.waitUntilIdle()
    #expect(seen.events == ["3", "a", "b", "1", "2"])
    await queue.stop()
  }

  @Test(arguments: Engine.available) func listed_inPages_byKindAndState(on engine: Engine) throws {
    let queue = try DurableQueue(location: engine.location())
    let ids = try queue.enqueue(contentsOf: (0..<25).map { Count(number: $0) })
    let others = try queue.enqueue(contentsOf: [Send(text: "a"), Send(text: "b")])
    try queue.hold(others[0])
    var pages: [[JobID]] = []
    var last: JobID?
    repeat {
      let page = try queue.jobs(kind: "count", after: last, limit: 10).map(\.id)
      pages.append(page)
      last = page.last
    } while last != nil
    #expect(pages.map(\.count) == [10, 10, 5, 0])
    #expect(Array(pages.joined()) == ids)
    #expect(try queue.jobs(in: [.held]).map(\.id) == [others[0]])
    #expect(try queue.jobs(in: []).isEmpty)
    #expect(try queue.jobs(kind: "nobody").isEmpty)
    #expect(try queue.jobs(limit: 0).isEmpty)
    let counts = try queue.counts()
    #expect(counts["send"]?[.held] == 1 && counts["send"]?[.waiting] == 1 && counts["count"]?.total == 25)
    #expect(counts.total == 27 && counts[.waiting] == 26)
    #expect(counts.kinds.map(\.kind) == ["count", "send"])
  }

  @Test(arguments: Engine.available) func record_tellsWhatIsKnown(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let first = try await harness.queue.enqueue(Count(number: 1))
    let id = try await harness.queue.enqueue(
      Count(number: 2),
      options: JobOptions(
        priority: JobPriority(major: 3, minor: 4), start: .after(.seconds(5)), maxAttempts: nil, timeout: .seconds(6),
        requiresNetwork: true, uniqueKey: UniqueKey("k"), dependsOn: [first], holdsAfterLastAttempt: true))
    let record = try await #require(try harness.queue.job(id))
    #expect(record.id == id && record.kind == "count" && record.state == .blocked)
    #expect(record.priority == JobPriority(major: 3, minor: 4))
    #expect(record.attempts == 0 && record.maxAttempts == nil && record.crashes == 0 && record.lastError == nil)
    #expect(record.enqueuedAt == harness.start && record.runAt == harness.start.addingTimeInterval(5))
    #expect(record.startedAt == nil && record.finishedAt == nil)
    #expect(record.requiresNetwork && record.timeout == .seconds(6) && record.uniqueKey == "k")
    #expect(record.prerequisites == [first] && record.unmetPrerequisites == 1)
    #expect(record.holdsAfterLastAttempt && record.checkpointSize == nil && record.version == 1)
    #expect(try record.decoded(as: Count.self) == Count(number: 2))
    #expect(throws: DecodingError.self) { try record.decoded(as: Send.self) }
    #expect(try await harness.queue.jobs(Count.self, uniqueKey: "k").map(\.id) == [id])
    #expect(try await harness.queue.jobs(Send.self, uniqueKey: "k").isEmpty)
    #expect(try await harness.queue.job(JobID(rawValue: 99)) == nil)
  }

  @Test(arguments: Engine.available) func exported_eachLineIsJSON(on engine: Engine) throws {
    let queue = try DurableQueue(location: engine.location())
    let texts = ["plain", "two\nlines\r\n", "“\u{2028}” \u{85} \u{0}", "é 👩‍👩‍👧", "\"quoted\" \\ /"]
    // A text of PostgreSQL's has no U+0000; a payload may say it.
    let keys = texts.map { engine == .postgres ? $0.replacing("\0", with: "") : $0 }
    for (text, key) in zip(texts, keys) {
      try queue.enqueue(Send(text: text), options: JobOptions(uniqueKey: UniqueKey(key)))
    }
    try queue.enqueue(contentsOf: (0..<1200).map { Count(number: $0) })
    var lines: [String] = []
    #expect(try queue.export { lines.append($0) } == 1205)
    for (line, (text, key)) in zip(lines, zip(texts, keys)) {
      #expect(!line.utf8.contains { $0 == 10 || $0 == 13 })
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      #expect((object["payload"] as? [String: Any])?["text"] as? String == text)
      #expect(object["uniqueKey"] as? String == key)
      #expect(object["state"] as? String == "waiting")
    }
    #expect(lines.count == 1205)
    #expect(lines.allSatisfy { !$0.contains("prerequisites") && $0.contains("\"holdsAfterLastAttempt\":false") })
    let first = try queue.enqueue(Send(text: "1")), second = try queue.enqueue(Send(text: "2"))
    let last = try queue.enqueue(
      Send(text: "3"), options: JobOptions(dependsOn: [second, first], holdsAfterLastAttempt: true))
    let line = try #require(try queue.job(last)?.jsonLine)
    #expect(line.contains("\"prerequisites\":[\(first.rawValue),\(second.rawValue)]"))
    #expect(line.contains("\"holdsAfterLastAttempt\":true"))
    #expect(try queue.export(kind: "send", in: [.held]) { _ in } == 0)
    #expect(throws: TestFailure()) { try queue.export { _ in throw TestFailure() } }
  }

  /// The form that `async` functions get: where they are, and each line when the one before is
  /// written.
  @MainActor @Test(arguments: Engine.available) func exported_byAnAsyncFunction(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.enqueue(contentsOf: (0..<1200).map { Count(number: $0) })
    var lines: [String] = []
    let count = try await queue.export { line in
      await Task.yield()
      lines.append(line)
    }
    let records = try await queue.jobs(limit: .max)
    #expect(count == 1200 && lines == records.map(\.jsonLine))
    lines = []
    try await queue.export { lines.append($0) }
    #expect(lines == records.map(\.jsonLine))
    await #expect(throws: TestFailure()) { try await queue.export { _ in throw TestFailure() } }
  }

  @Test(arguments: Engine.available) func retentionNone_nothingOfADoneOrCancelledJobIsKept(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location()) { $0.retention = .none }
    try await harness.queue.register(Count.self) { _, _ in BlockOperation {} }
    let cancelled = try await harness.queue.enqueue(Count(number: 0))
    try await harness.queue.cancel(cancelled)
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1))
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id) == nil)
    harness.clock.advance(by: .seconds(2))
    while try await harness.queue.job(cancelled) != nil, !Task.isCancelled {
      harness.clock.advance(by: .seconds(1))
      await Task.yield()
    }
    #expect(
      jobErrorReason { try harness.queue.enqueue(contentsOf: [Count(number: 2)], options: JobOptions(dependsOn: [id])) }
        == .unknownPrerequisite(id))
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func retentionOver_thousandsGo(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) { $0.retention = .keep(.seconds(3600)) }
    try await harness.queue.register(Count.self) { _, _ in BlockOperation {} }
    harness.queue.start()
    try await harness.queue.enqueue(contentsOf: (0..<2500).map { Count(number: $0) })
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.counts()[.done] == 2500)
    harness.clock.advance(by: .seconds(3700))
    while try await harness.queue.counts().total > 0, !Task.isCancelled {
      harness.clock.advance(by: .seconds(1))
      await Task.yield()
    }
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func retentionOver_doneAndCancelledGo_deadAndHeldStay(on engine: Engine)
    async throws
  {
    for isForever in [false, true] {
      let harness = try Harness(engine.location()) { $0.retention = isForever ? .forever : .keep(.seconds(3600)) }
      try await harness.queue.register(Count.self) { job, _ async throws in if job.number == 2 { throw TestFailure() } }
      harness.queue.start()
      let done = try await harness.queue.enqueue(Count(number: 1))
      let dead = try await harness.queue.enqueue(Count(number: 2), options: JobOptions(maxAttempts: 1))
      let held = try await harness.queue.enqueue(Count(number: 3), options: JobOptions(startsHeld: true))
      let cancelled = try await harness.queue.enqueue(Count(number: 4), options: JobOptions(startsHeld: true))
      try await harness.queue.cancel(cancelled)
      try await harness.queue.waitUntilIdle()
      harness.clock.advance(by: .seconds(3000))
      let witness = try await harness.queue.enqueue(Count(number: 5), options: JobOptions(start: .after(.seconds(1))))
      // In small steps: the retention must not be over, however long the witness takes.
      await harness.advance(by: .seconds(1), when: .scheduled, of: witness)
      await harness.wait(for: .done, of: witness)
      #expect(try await harness.queue.job(done)?.state == .done)
      harness.clock.advance(by: .seconds(700))
      if !isForever {
        while try await [harness.queue.job(done), harness.queue.job(cancelled)] != [nil, nil], !Task.isCancelled {
          harness.clock.advance(by: .seconds(1))
          await Task.yield()
        }
      }
      let states = try [done, dead, held, cancelled].map { try harness.queue.job($0)?.state }
      #expect(states == [isForever ? .done : nil, .dead, .held, isForever ? .cancelled : nil])
      await harness.queue.stop()
    }
  }
}
