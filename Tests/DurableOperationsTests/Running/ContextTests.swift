import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// What an attempt receives besides the job, and returns besides success: keys, further jobs,
/// progress, wrapped errors.
@Suite(.timeLimit(.minutes(30))) struct ContextTests {
  @Test(arguments: Engine.available) func idempotencyKey_isThatOfTheJobInEachAttempt_andOfNoOther(on engine: Engine)
    async throws
  {
    let seen = EventRecorder<String>()
    func run(_ body: (DurableQueue) async throws -> Void) async throws {
      let queue = try DurableQueue(location: engine.location())
      try await queue.register(Count.self) { _, context async throws in
        seen.record(context.idempotencyKey)
        if context.attempt == 1 { throw TestFailure() }
      }
      try await body(queue)
      queue.start()
      try await until(try await queue.counts().total <= queue.counts()[.done])
      await queue.stop()
    }
    let options = JobOptions(backoff: .noDelay, uniqueKey: UniqueKey("key", whenTaken: .replace))
    try await run { _ = try await $0.enqueue(Count(number: 1), options: options) }
    // The same number, in another database.
    try await run { queue in
      _ = try await queue.enqueue(Count(number: 1), options: options)
      let again = try await queue.enqueue(Count(number: 2), options: options)
      #expect(again == JobID(rawValue: 1))
    }
    #expect(seen.count == 4)
    #expect(seen.events[0] == seen.events[1] && seen.events[2] == seen.events[3])
    #expect(seen.events[0].hasSuffix("-1-0") && seen.events[2].hasSuffix("-1-1"))
    #expect(seen.events[0].dropLast() != seen.events[2].dropLast())
  }

  @Test func replaced_theKeyIsAnother() throws {
    let harness = try StoreHarness()
    let options = JobOptions(uniqueKey: UniqueKey("key", whenTaken: .replace))
    let id = try harness.enqueue("a", options)
    #expect(try harness.claim().jobs[0].revision == 0)
    try harness.end(id, .again(after: .zero, isCharged: true, error: nil))
    #expect(try harness.enqueue("a", options) == id)
    #expect(try harness.claim().jobs[0].revision == 1)
  }

  @Test(arguments: Engine.available) func enqueues_withoutKeepingTheQueue(on engine: Engine) async throws {
    weak var released: DurableQueue?
    do {
      let queue = try DurableQueue(location: engine.location())
      released = queue
      try await queue.register(Count.self) { job, context async throws in
        try await context.enqueue(Send(text: "\(job.number)"))
        try await context.enqueue(contentsOf: [JobRequest(Send(text: "more")), JobRequest(Send(text: "most"))])
      }
      try await queue.register(Send.self) { job, context in
        guard job.text == "most" else { return BlockOperation {} }
        // The form for operations.
        return SimpleOperation<Void> { operation in
          do {
            try context.enqueue(Send(text: "last"))
            operation.finish(with: ())
          } catch {
            operation.reject(with: error)
          }
        }
      }
      queue.start()
      try await queue.enqueue(Count(number: 1))
      try await queue.waitUntilIdle()
      #expect(try await queue.jobs(kind: "send").map(\.state) == [.done, .done, .done, .done])
      await queue.stop()
    }
    #expect(released == nil)
  }

  @Test func operation_thatWaitsInAnotherQueue_isNotNamed() async throws {
    let elsewhere = OperationQueue()
    elsewhere.isSuspended = true
    let operation = SimpleOperation<Void> {}
    elsewhere.addOperation(operation)
    let harness = try Harness()
    let own = SimpleOperation<Void> {}
    try await harness.queue.register(Count.self) { job, _ -> Operation in job.number == 1 ? operation : own }
    harness.queue.start()
    let ids = try await harness.queue.enqueue(contentsOf: [Count(number: 1), Count(number: 2)])
    await harness.wait(for: .done, of: ids[1])
    await harness.wait(for: .executing, of: ids[0])
    elsewhere.isSuspended = false
    await harness.wait(for: .done, of: ids[0])
    #expect(operation.name == nil && own.name == "count \(ids[1])")
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func snoozeInsideOfOthers_costsNoAttempt(on engine: Engine) async throws {
    let harness = try Harness(engine.location())
    try await harness.queue.register(Count.self) { job, _ -> Operation in
      let snooze = { AsyncOperation<Void> { throw JobSnooze(for: .seconds(300)) } }
      switch job.number {
      case 1: return CompositeOperation { CompositeOperation { snooze() } }
      case 2: return CompositeOperation { [snooze(), snooze()] }
      case 3:
        let isOpen = Condition("open") { _ in throw JobSnooze(for: .seconds(300)) }
        return SimpleOperation<Void> {}.condition(isOpen)
      default:
        let composite = CompositeOperation { [snooze(), AsyncOperation<Void> { throw TestFailure() }] }
        composite.failurePolicy = .waitForAll
        return composite
      }
    }
    harness.queue.start()
    let options = JobOptions(backoff: .constant(.seconds(9), jitter: .none))
    let ids = try await harness.queue.enqueue(contentsOf: (1...4).map { Count(number: $0) }, options: options)
    for id in ids { await harness.wait(for: .scheduled, of: id) }
    // What fails besides is a failure.
    let records = try ids.map { try #require(try harness.queue.job($0)) }
    #expect(records.map(\.attempts) == [0, 0, 0, 1], "\(records.map(\.lastError))")
    #expect(try await harness.queue.job(ids[0])?.lastError == nil)
    await harness.queue.stop()
  }

  @Test(arguments: Engine.available) func permanentFailureInsideOfOthers_isDeadAtOnce(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.register(Count.self) { _, _ in
      CompositeOperation { AsyncOperation<Void> { throw PermanentJobFailure(TestFailure(text: "no such file")) } }
    }
    queue.start()
    let record = try await queue.waitUntilSettled(queue.enqueue(Count(number: 1)))
    #expect(record?.state == .dead && record?.attempts == 1)
    #expect(record?.lastError?.contains("no such file") == true)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func operationThatHasRunBefore_isAFailureThatSaysSo(on engine: Engine) async throws
  {
    let queue = try DurableQueue(location: engine.location())
    let shared = BlockOperation {}
    try await queue.register(Count.self, maxConcurrent: 1) { _, _ in shared }
    queue.start()
    let first = try await queue.enqueue(Count(number: 1), options: JobOptions(maxAttempts: 1))
    #expect(try await queue.waitUntilSettled(first)?.state == .done)
    let second = try await queue.enqueue(Count(number: 2), options: JobOptions(maxAttempts: 1))
    let record = try await queue.waitUntilSettled(second)
    #expect(record?.state == .dead)
    #expect(record?.lastError?.contains("an operation runs once") == true)
    await queue.stop()
  }

  @Test(arguments: Engine.available) func progressOfTheOperation_isTold(on engine: Engine) async throws {
    let queue = try DurableQueue(location: engine.location())
    try await queue.register(Count.self) { _, _ in
      let composite = CompositeOperation(
        operations: (0..<4).map { _ in SimpleOperation<Void> { $0.finish(with: ()) } })
      composite.maxConcurrentOperationCount = 1
      return composite
    }
    let events = queue.events()
    queue.start()
    let id = try await queue.enqueue(Count(number: 1))
    let told = await texts(of: events, through: "done \(id)").filter { $0.hasPrefix("progress") }
    #expect(told.contains("progress \(id) 0.25") && told.contains("progress \(id) 0.75"), "\(told)")
    await queue.stop()
  }
}
