import CompositeOperations
import CompositeOperationsTestKit
import DurableOperations
import Foundation
import Testing

@Suite(.timeLimit(.minutes(30))) struct RunningTests {
  @Test(arguments: Engine.available) func enqueued_started_runsAndIsDone(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let seen = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ in BlockOperation { seen.record(job.number) } }
    queue.start()
    let ids = try await queue.enqueue(contentsOf: (1...100).map { Count(number: $0) })
    try await queue.waitUntilIdle()
    #expect(seen.events.sorted() == Array(1...100))
    #expect(try await queue.counts()[.done] == 100)
    #expect(try await queue.job(ids[0])?.attempts == 1)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func registeredAfterStart_storedJobsRun(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    try await queue.waitUntilIdle()
    #expect(try await queue.job(id)?.state == .waiting)
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    try await queue.waitUntilIdle()
    #expect(try await queue.job(id)?.state == .done)
  }

  @Test(arguments: Engine.available) func fails_isRetriedAfterItsBackoff_thenDone(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    try await harness.queue.register(Count.self) { _, context async throws in
      if context.attempt < 3 { throw TestFailure() }
    }
    let events = harness.queue.events()
    harness.queue.start()
    let id = try await harness.queue.enqueue(
      Count(number: 1), options: JobOptions(backoff: .constant(.seconds(60), jitter: .none)))
    for attempt in 1...2 {
      await harness.advance(by: .seconds(60), when: .scheduled, of: id)
      #expect(try await harness.queue.job(id)!.attempts >= attempt)
    }
    try await harness.queue.waitUntilIdle()
    let record = try await #require(try harness.queue.job(id))
    #expect(record.state == .done)
    #expect(record.attempts == 3)
    #expect(record.lastError == nil)
    await harness.queue.stop()
    var failures: [Int] = []
    for await event in events {
      if event.kind == .failed {
        #expect(event.error as? TestFailure == TestFailure())
        failures.append(try #require(event.attempt))
      }
      if event.kind == .done { break }
    }
    #expect(failures == [1, 2])
  }

  @Test(arguments: Engine.available) func lastAttemptFails_isDeadWithItsError(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    try await harness.queue.register(Count.self) { _, _ async throws in throw TestFailure(text: "no way") }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    let held = try await harness.queue.enqueue(
      Count(number: 2), options: JobOptions(maxAttempts: 1, holdsAfterLastAttempt: true))
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .dead)
    #expect(try await harness.queue.job(id)?.lastError?.contains("no way") == true)
    #expect(try await harness.queue.job(held)?.state == .held)
    #expect(try await harness.queue.retryAll(.held) == 1)
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(held)?.attempts == 1)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func permanentFailure_isDeadAtOnce(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    try await harness.queue.register(Count.self) { _, _ async throws in
      throw PermanentJobFailure(TestFailure(text: "gone"))
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1))
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .dead)
    #expect(try await harness.queue.job(id)?.attempts == 1)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func snoozes_runsLaterWithoutLosingAnAttempt(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let runs = EventRecorder<Int>()
    try await harness.queue.register(Count.self) { _, context async throws in
      runs.record(context.attempt)
      if runs.count == 1 { throw JobSnooze(for: .seconds(300)) }
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    await harness.advance(by: .seconds(300), when: .scheduled, of: id)
    await runs.wait { $0.count == 2 }
    try await harness.queue.waitUntilIdle()
    #expect(runs.events == [1, 1])
    #expect(try await harness.queue.job(id)?.state == .done)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func takesTooLong_isCancelledAndHasFailed(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let started = Gate()
    try await harness.queue.register(Count.self) { _, _ in
      started.open()
      return NeverFinishingOperation<Void>()
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(
      Count(number: 1), options: JobOptions(maxAttempts: 1, timeout: .seconds(30)))
    await started.wait()
    await harness.clock.waitForSleeper()
    while try await harness.queue.job(id)?.state == .executing, !Task.isCancelled {
      harness.clock.advance(by: .seconds(1))
      await Task.yield()
    }
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .dead)
    #expect(try await harness.queue.job(id)?.lastError?.contains("timeout of 30.0 seconds") == true)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func scheduledForLater_runsWhenItsTimeComes(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    try await harness.queue.register(Count.self) { _, _ in BlockOperation {} }
    harness.queue.start()
    let later = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(start: .after(.seconds(3600))))
    let date = try await harness.queue.enqueue(
      Count(number: 2), options: JobOptions(start: .at(harness.start.addingTimeInterval(3_600_000))))
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(later)?.state == .scheduled)
    await harness.advance(by: .seconds(3600), until: .done, of: later)
    #expect(try await harness.queue.job(date)?.state == .scheduled)
    await harness.advance(by: .seconds(3_600_000), until: .done, of: date)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func priorities_runInTheirOrder(on engine: Engine) async throws {
    var configuration = DurableQueue.Configuration()
    configuration.maxConcurrentOperationCount = 1
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    let seen = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ in BlockOperation { seen.record(job.number) } }
    try await queue.enqueue(Count(number: 4), options: JobOptions(priority: .low))
    try await queue.enqueue(Count(number: 2), options: JobOptions(priority: JobPriority(minor: 11)))
    try await queue.enqueue(Count(number: 3))
    try await queue.enqueue(Count(number: 1), options: JobOptions(priority: .userInitiated))
    queue.start()
    try await queue.waitUntilIdle()
    #expect(seen.events == [1, 2, 3, 4])
    await queue.stop()
  }

  @Test(arguments: Engine.available) func kindWithALimit_neverRunsMoreAtOnce(on engine: Engine) async throws {
    var configuration = DurableQueue.Configuration()
    configuration.maxConcurrentOperationCount = 8
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    let running = Peak()
    try await queue.register(Count.self, maxConcurrent: 2) { _, _ async throws in
      running.enter()
      await Task.yield()
      running.leave()
    }
    try await queue.register(Send.self) { _, _ in BlockOperation {} }
    try await queue.enqueue(contentsOf: (1...200).map { Count(number: $0) })
    try await queue.enqueue(contentsOf: (1...50).map { Send(text: "\($0)") })
    queue.start()
    try await queue.waitUntilIdle()
    #expect(running.peak <= 2)
    #expect(try await queue.counts()[.done] == 250)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func operationCancelledByOthers_countsAsFailedAttempt(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location())
    try await harness.queue.register(Count.self) { _, _ in
      let operation = BlockOperation {}
      operation.cancel()
      return operation
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    try await harness.queue.waitUntilIdle()
    #expect(try await harness.queue.job(id)?.state == .dead)
    #expect(try await harness.queue.job(id)?.lastError?.contains("cancelled by another part of the program") == true)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func composite_runsAsOneJob(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let seen = EventRecorder<Int>()
    try await queue.register(Count.self) { job, _ in
      CompositeOperation(operations: (1...job.number).map { number in BlockOperation { seen.record(number) } })
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 5))
    try await queue.waitUntilIdle()
    #expect(seen.events.sorted() == [1, 2, 3, 4, 5])
    #expect(try await queue.job(id)?.state == .done)
    await queue.stop()
  }

  /// A clock that calls something when it is read.
  private final class AskingClock: Clock, Sendable {
    let whenAsked = LockBox<(@Sendable () -> Void)?>(nil)

    var now: ContinuousClock.Instant {
      whenAsked.withLock { $0 }?()
      return ContinuousClock.now
    }

    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
      try await ContinuousClock().sleep(until: deadline, tolerance: tolerance)
    }
  }

  @Test func clockOfTheUser_mayAskTheQueue() async throws {
    let clock = AskingClock()
    var configuration = DurableQueue.Configuration()
    configuration.clock = JobClock(clock)
    let queue = try DurableQueue(location: .memory, configuration: configuration)
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    clock.whenAsked.withLock { $0 = { [weak queue] in _ = queue?.registeredKinds } }
    queue.start()
    try await queue.enqueue(Count(number: 1))
    try await queue.waitUntilIdle()
    await queue.stop()
  }
}
