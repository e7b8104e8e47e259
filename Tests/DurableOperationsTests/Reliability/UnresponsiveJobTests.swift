import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// DUR-6, DUR-7: jobs that do not end, and those that are dead.
@Suite(.timeLimit(.minutes(30))) struct UnresponsiveJobTests {
  @Test(arguments: Engine.available) func attemptThatDoesNotEnd_afterItsTimeout_isToldOf(on engine: Engine) async throws
  {
    let told = EventRecorder<String>(), operation = NeverFinishingOperation<Void>(holdsOn: true)
    let harness = try Harness(engine.location()) { $0.logHandler = { told.record($0.description) } }
    try await harness.queue.register(Count.self) { _, _ in operation }
    harness.queue.start()
    let id = try await harness.queue.enqueue(
      Count(number: 1), options: JobOptions(maxAttempts: 1, timeout: .milliseconds(300)))
    await operation.started.wait()
    await harness.clock.waitForSleeper(dueIn: .milliseconds(300))
    harness.clock.advance(by: .milliseconds(300))
    await operation.cancelRequested.wait()
    await harness.clock.waitForSleeper(dueIn: .seconds(10))
    harness.clock.advance(by: .seconds(10))
    await told.wait(forCount: 1)
    #expect(told.events == ["unresponsive: job \(id) (count)"])
    operation.release()
    #expect(try await harness.queue.waitUntilSettled(id)?.state == .dead)
    await told.wait(forCount: 2)
    #expect(told.events[1].hasPrefix("dead: job \(id) (count), "))
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func stop_withPatience_givesUpAJobThatDoesNotEnd(on engine: Engine) async throws {
    let told = EventRecorder<JobEvent.Kind>(), operation = NeverFinishingOperation<Void>(holdsOn: true)
    let harness = try Harness(engine.location()) { $0.logHandler = { told.record($0.kind) } }
    let queue = harness.queue
    let hasRun = Flag()
    try await queue.register(Count.self) { _, _ in
      if hasRun.isSet { return BlockOperation {} }
      hasRun.set()
      return operation
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    await operation.started.wait()
    async let stopped: Void = queue.stop(grace: .zero, givingUpAfter: .seconds(5))
    await operation.cancelRequested.wait()
    await harness.clock.waitForSleeper(dueIn: .seconds(5))
    harness.clock.advance(by: .seconds(5))
    await stopped
    #expect(told.events == [.abandoned])
    #expect(try await queue.job(id)?.state == .executing, "it is left to the lease")
    // When it ends after all, that is written after the next start.
    operation.release()
    queue.start()
    #expect(try await queue.waitUntilSettled(id)?.crashes == 0)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func stopsWithPatience_giveUpAJob_lastOneTellsOfIt_once(on engine: Engine)
    async throws
  {
    let told = EventRecorder<JobEvent.Kind>(), operation = NeverFinishingOperation<Void>(holdsOn: true)
    let harness = try Harness(engine.location()) { $0.logHandler = { told.record($0.kind) } }
    let queue = harness.queue
    try await queue.register(Count.self) { _, _ in operation }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    await operation.started.wait()
    let first = Task { await queue.stop(grace: .zero, givingUpAfter: .seconds(4)) }
    let second = Task { await queue.stop(grace: .zero, givingUpAfter: .seconds(8)) }
    await until(queue.core.withLock { $0.stopWaiters.count == 2 })
    harness.clock.advance(by: .seconds(4))
    await first.value
    #expect(told.events.isEmpty)
    harness.clock.advance(by: .seconds(4))
    await second.value
    await queue.stop(grace: .zero, givingUpAfter: .zero)
    #expect(told.events == [.abandoned])
    operation.release()
    await queue.stop()
  }

  @Test(arguments: Engine.available) func stop_withPatience_andJobsThatEnd_leavesNoTimer(on engine: Engine) async throws
  {
    let harness = try Harness(engine.location())
    try await harness.queue.register(Count.self) { _, _ async throws in }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1))
    _ = try await harness.queue.waitUntilSettled(id)
    await harness.queue.stop(grace: .seconds(5), givingUpAfter: .seconds(5))
    #expect(harness.queue.core.withLock { $0.stopWaiters.isEmpty && $0.grace == nil })
    // The alarm for the next look rings, and is not set again.
    harness.clock.advance(by: .seconds(5))
    await harness.clock.waitUntilIdle()
  }

  @Test(arguments: [WorkerLoss.crashed, .lapsed]) func abandonedJob_isChargedWithNothing_once(loss: WorkerLoss) throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    func lose() throws -> [SQLValue] {
      _ = try harness.change {
        try $0.rescue(from: harness.worker, after: loss, maxCrashes: 2, maxLapses: 2)
      }
      let sql = "SELECT state, crashes + lapses, flags, lane & 2 FROM durable_jobs"
      return try harness.store.connection.execute(sql)[0].values
    }
    let claim = try #require(try harness.claim().jobs.first?.claim)
    try harness.change { try $0.noteAbandoned(id, claim: claim) }
    #expect(try lose() == [.integer(0), .integer(0), .integer(0), .integer(0)])
    #expect(try harness.claimed() == [id])
    #expect(try lose()[1] == .integer(1))
    #expect(try harness.claimed() == [id])
    #expect(try lose()[0] == .integer(6))
  }

  #if os(macOS) || os(Linux)
  @Test func processWithAJobThatDoesNotEnd_endsAtSIGTERM_andAnotherRunsTheJob() async throws {
    try await withDatabaseFile { file in
      let child = try DurableChild(file, "poll=10", "patience=500")
      await child.tell("start", until: "started")
      child.tell("enqueue 1 deaf")
      await child.wait(for: "holds 1")
      child.signal(SIGTERM)
      await child.wait(for: "abandoned 1")
      await child.wait(for: DurableChild.end)
      let other = try DurableChild(file, "poll=10")
      await other.tell("start", until: "started")
      await other.wait(for: "holds 1")
      let charges = try Inspection(file).connection.execute(
        "SELECT crashes, lapses, attempts, lane & 2 FROM durable_jobs")
      #expect(charges[0].values == [.integer(0), .integer(0), .integer(0), .integer(0)], "it has ended in good order")
      other.tell("release")
      await other.wait(for: "done 1")
      await other.exit()
    }
  }
  #endif

  @Test(arguments: Engine.available) func jobThatDied_isReported_thoughNoStreamIsRead(on engine: Engine) async throws {
    let told = EventRecorder<String>()
    let harness = try Harness(engine.location()) { $0.logHandler = { told.record($0.description) } }
    try await harness.queue.register(Count.self) { _, _ async throws in throw TestFailure() }
    harness.queue.start()
    let ids = try await harness.queue.enqueue(contentsOf: [
      JobRequest(Count(number: 1), options: JobOptions(maxAttempts: 1)),
      JobRequest(Count(number: 2), options: JobOptions(dependsOn: [.inSameCall(0)], whenPrerequisiteFails: .die)),
    ])
    await told.wait(forCount: 2)
    #expect(told.events[0] == "dead: job \(ids[0]) (count), TestFailure(text: \"it failed\")")
    #expect(told.events[1].hasPrefix("dead: job \(ids[1]) (count), "))
    await harness.queue.stop()
  }

  @Test func failures_areKept_theLast20() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    for attempt in 1...25 {
      harness.now += 1000
      try harness.run(id, .again(after: .zero, isCharged: true, error: "error \(attempt)"))
    }
    var record = try #require(try harness.record(id))
    #expect(record.failures.map(\.error) == (6...25).map { "error \($0)" })
    #expect(record.failures.last?.failedAt == Date(milliseconds: harness.now))
    #expect(record.lastError == "error 25")
    try harness.run(id)
    record = try #require(try harness.record(id))
    #expect(record.failures.count == 20 && record.lastError == nil)
    try harness.change { try $0.delete(id) }
    #expect(try harness.store.connection.execute("SELECT 1 FROM durable_errors").isEmpty)
  }

  @Test func failures_ofAJobThatIsNotKept_goWithIt() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    try harness.run(id, .again(after: .zero, isCharged: true, error: "it failed"))
    try harness.run(id, keepsDone: false)
    #expect(try harness.store.connection.execute("SELECT 1 FROM durable_errors").isEmpty)
  }
}
