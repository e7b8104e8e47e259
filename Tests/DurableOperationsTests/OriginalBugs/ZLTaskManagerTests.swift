import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// The bugs of ZLTaskManager, by the numbers of their list, and what happens here. The missing ones
/// cannot be written down here at all: unguarded flags (14), names (17). Its network that goes away
/// while a job runs (6) is in `NetworkJobTests`.
@Suite(.timeLimit(.minutes(30))) struct ZLTaskManagerTests {
  @Test("1: registering starts work, and so does retrying", arguments: Engine.available)
  func bug1(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let id = try await queue.enqueue(Count(number: 1))
    let held = try await queue.enqueue(Count(number: 2), options: JobOptions(startsHeld: true))
    queue.start()
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    try await queue.waitUntilIdle()
    #expect(try await queue.job(id)?.state == .done)
    try await queue.retryAll(.held)
    try await queue.waitUntilIdle()
    #expect(try await queue.job(held)?.state == .done)
    await queue.stop()
  }

  @Test("2: a stop before a job's operation has begun loses nothing", arguments: Engine.available)
  func bug2(on engine: Engine) async throws {
    let operations = OperationQueue()
    operations.isSuspended = true
    var configuration = DurableQueue.Configuration()
    configuration.operationQueue = operations
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    await until(operations.operationCount != 0)
    await queue.stop(grace: .zero)
    #expect(try await queue.job(id)?.state == .waiting)
    operations.isSuspended = false
    queue.start()
    try await queue.waitUntilIdle()
    #expect(try await queue.job(id)?.state == .done)
    await queue.stop()
  }

  @Test("3: no two take the same job: it is claimed in one statement")
  func bug3() async throws {
    try await withDatabaseFile { file in
      let seen = EventRecorder<Int>()
      let queues = try (0..<3).map { _ in try DurableQueue.patient(file) }
      for queue in queues {
        try await queue.register(Count.self) { job, _ in BlockOperation { seen.record(job.number) } }
        queue.start()
      }
      try await queues[0].enqueue(contentsOf: (0..<600).map { Count(number: $0) })
      await seen.wait(forCount: 600)
      for queue in queues { await queue.stop() }
      #expect(seen.events.sorted() == Array(0..<600))
      #expect(try await queues[0].counts()[.done] == 600)
    }
  }

  @Test(
    "4: the queue may be used from within a job, and from the closure that makes its operation",
    arguments: Engine.available)
  func bug4(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let compensated = EventRecorder<String>()
    try await queue.register(Count.self) { [weak queue] job, context async throws in
      guard context.isLastAttempt else { throw TestFailure() }
      try await queue?.enqueue(Send(text: "compensate \(job.number)"))
      throw TestFailure()
    }
    try await queue.register(Send.self) { [weak queue] job, _ in
      let counts = try queue?.counts()
      #expect(counts?["count"]?.total == 1)
      return BlockOperation { compensated.record(job.text) }
    }
    queue.start()
    let id = try await queue.enqueue(Count(number: 3), options: JobOptions(maxAttempts: 2, backoff: .noDelay))
    await compensated.wait(for: "compensate 3")
    try await queue.waitUntilIdle()
    #expect(try await queue.job(id)?.state == .dead)
    await queue.stop()
  }

  @Test("5: the last reference may go in a callback of the queue's own", arguments: [false, true])
  func bug5(inATransaction: Bool) async throws {
    let box = LockBox<DurableQueue?>(nil), isReleased = Gate()
    let release: @Sendable () -> Void = {
      let queue = box.withLock { $0.take() }
      withExtendedLifetime(queue) {}
      isReleased.open()
    }
    func begin() async throws {
      let queue = try DurableQueue(location: .memory)
      box.withLock { $0 = queue }
      if inATransaction {
        try await queue.register(Count.self) { _, context async throws in try await context.complete { _ in release() }
        }
      } else {
        try await queue.register(Count.self) { _, _ in BlockOperation { release() } }
      }
      try await queue.enqueue(Count(number: 1))
      queue.start()
    }
    try await begin()
    await isReleased.wait()
  }

  @Test("6: a retry waits, longer each time, spread by the generator that is given", arguments: Engine.available)
  func bug6(on engine: Engine) async throws {
    let harness = try Harness(engine.location()) { $0.randomNumberGenerator = { Fixed() } }
    try await harness.queue.register(Count.self) { _, _ async throws in throw TestFailure() }
    harness.queue.start()
    let backoff = Backoff.exponential(from: .seconds(64))
    let id = try await harness.queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 4, backoff: backoff))
    var delays: [Duration] = []
    for attempt in 1...3 {
      await harness.wait(for: .scheduled, of: id)
      let record = try await #require(try harness.queue.job(id))
      var generator = Fixed()
      let delay = backoff.jobDelay(afterAttempt: attempt, using: &generator)
      let waited = record.runAt!.timeIntervalSince(record.startedAt!)
      #expect(abs(waited - delay / .seconds(1)) < 0.1)
      delays.append(delay)
      await harness.advance(by: delay, when: .scheduled, of: id)
    }
    await harness.wait(for: .dead, of: id)
    #expect(delays.count == 3)
    #expect(delays == delays.sorted() && delays[0] > .zero)
    await harness.queue.stop()
  }

  @Test("7: a job that ends its process is dead after its crashes, which are counted apart")
  func bug7() throws {
    let harness = try StoreHarness()
    let id = try harness.enqueue()
    for _ in 0..<3 {
      _ = try harness.claim()
      _ = try harness.change { try $0.rescue(from: harness.worker, after: .crashed, maxCrashes: 3) }
    }
    let record = try #require(try harness.record(id))
    #expect(record.state == .dead && record.crashes == 3 && record.attempts == 0)
    #expect(record.lastError?.contains("3 processes ended") == true)
  }

  @Test("8: large numbers are kept, and attempts may be without end", arguments: Engine.available)
  func bug8(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.register(Count.self) { _, context async throws in
      if context.attempt <= 50 { throw TestFailure() }
    }
    queue.start()
    let large = try await queue.enqueue(
      Count(number: .max), options: JobOptions(priority: JobPriority(major: .max, minor: .min), maxAttempts: .max))
    let endless = try await queue.enqueue(
      Count(number: 1), options: JobOptions(maxAttempts: nil, backoff: .noDelay))
    let record = try await #require(try queue.job(large))
    #expect(record.maxAttempts == .max && record.priority == JobPriority(major: .max, minor: .min))
    #expect(try record.decoded(as: Count.self).number == .max)
    try await queue.cancel(large)
    try await queue.waitUntilIdle()
    #expect(try await queue.job(endless)?.state == .done)
    #expect(try await queue.job(endless)?.attempts == 51)
    await queue.stop()
  }

  @Test("9: the file is where it was asked to be")
  func bug9() async throws {
    try await withDatabaseFile { file in
      let inside = file.deletingLastPathComponent().appending(path: "new/folder/jobs.sqlite")
      let queue = try DurableQueue.patient(inside)
      #expect(queue.location == .file(inside))
      #expect(FileManager.default.fileExists(atPath: inside.path))
    }
  }

  @Test("10: a priority that is changed while the job runs stays", arguments: Engine.available)
  func bug10(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    let started = Gate(), proceed = Gate()
    try await harness.queue.register(Count.self) { _, _ async throws in
      started.open()
      await proceed.wait()
      throw TestFailure()
    }
    harness.queue.start()
    let id = try await harness.queue.enqueue(Count(number: 1))
    await started.wait()
    try await harness.queue.setPriority(.userInitiated, of: id)
    proceed.open()
    await harness.wait(for: .scheduled, of: id)
    #expect(try await harness.queue.job(id)?.priority == .userInitiated)
    await harness.queue.stop()
  }
}
