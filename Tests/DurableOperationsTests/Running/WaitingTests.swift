import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import Testing

@testable import DurableOperations

/// Waiting until one job has settled.
@Suite(.timeLimit(.minutes(30))) struct WaitingTests {
  @Test(arguments: Engine.available) func settles_theRecordIsGiven(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.register(Count.self) { job, _ async throws in if job.number == 2 { throw TestFailure() } }
    let done = try await queue.enqueue(Count(number: 1))
    let dead = try await queue.enqueue(Count(number: 2), options: JobOptions(maxAttempts: 1))
    let cancelled = try await queue.enqueue(Count(number: 3), options: JobOptions(startsHeld: true))
    async let first = queue.waitUntilSettled(done)
    async let second = queue.waitUntilSettled(dead)
    async let third = queue.waitUntilSettled(cancelled)
    queue.start()
    #expect(try await first?.state == .done)
    #expect(try await second?.lastError?.contains("it failed") == true)
    try await queue.cancel(cancelled)
    #expect(try await third?.state == .cancelled)
    #expect(try await queue.waitUntilSettled(done)?.state == .done, "at once")
    #expect(try await queue.waitUntilSettled(JobID(rawValue: 99)) == nil)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func nothingIsKept_isNil(on engine: Engine) async throws {
    var configuration = DurableQueue.Configuration()
    configuration.retention = .none
    let queue = try DurableQueue(location: engine.location(), configuration: configuration)
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    let id = try await queue.enqueue(Count(number: 1))
    async let record = queue.waitUntilSettled(id)
    queue.start()
    #expect(try await record == nil)
    await queue.stop()
  }

  @Test func runByAnotherProcess_isSeen() async throws {
    try await withDatabaseFile { file in
      let submitter = try DurableQueue.patient(file), runner = try DurableQueue.patient(file)
      try await runner.register(Count.self) { _, _ in BlockOperation {} }
      let id = try await submitter.enqueue(Count(number: 1))
      async let record = submitter.waitUntilSettled(id)
      runner.start()
      // The submitter was never started.
      #expect(try await record?.state == .done)
      await runner.stop()
    }
  }

  @Test(arguments: Engine.available) func taskCancelled_ends(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    let id = try await queue.enqueue(Count(number: 1))
    let waiting = Task { try await queue.waitUntilSettled(id) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test(arguments: Engine.available) func cancelledByTheJobThatReplacesIt_theRecordIsGiven(on engine: Engine)
    async throws
  {
    let queue = try queueThatDoesNotPoll(on: engine)
    let gone = try await queue.enqueue(Send(text: "a"), options: JobOptions(startsHeld: true))
    try await queue.cancel(gone)
    let key = UniqueKey("k", whenTaken: .replace)
    let id = try await queue.enqueue(Send(text: "b"), options: JobOptions(uniqueKey: key, startsHeld: true))
    async let record = queue.waitUntilSettled(id)
    await queue.hasWaiter()
    await queue.hasNothingUnderWay()
    let options = JobOptions(uniqueKey: key, dependsOn: [gone], whenPrerequisiteFails: .cancel)
    try await queue.enqueue(Send(text: "c"), options: options)
    #expect(try await record?.state == .cancelled)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func lastDueJobIsReplacedByOneThatIsHeld_theQueueIsIdle(on engine: Engine)
    async throws
  {
    let queue = try queueThatDoesNotPoll(on: engine), key = UniqueKey("k", whenTaken: .replace)
    try await queue.pause(kind: Send.kind)
    try await queue.enqueue(Send(text: "a"), options: JobOptions(uniqueKey: key))
    async let idle: Void = queue.waitUntilIdle()
    await queue.hasWaiter()
    await queue.hasNothingUnderWay()
    try await queue.enqueue(Send(text: "b"), options: JobOptions(uniqueKey: key, startsHeld: true))
    try await idle
    await queue.stop()
  }

  private func queueThatDoesNotPoll(on engine: Engine) throws -> DurableQueue {
    let queue = try Harness(engine.location(listens: false)) { $0.pollInterval = nil }.queue
    try queue.register(Send.self) { _, _ in BlockOperation {} }
    queue.start()
    return queue
  }
}
