import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.3 run() and OperationQueue.run", .hangLimit)
struct RunTests {
  @Test("3.1.3 run() starts a pending operation and returns its value")
  func run_whenPending_startsAndReturns() async throws {
    #expect(try await succeeding(4).run() == 4)
    #expect(try await Doubling(4).run() == 8)
  }

  @Test("3.1.3 run() throws the operation's error, and CancellationError for a cancelled one")
  func run_whenNotSuccessful_throws() async {
    await #expect(throws: TestError.first) { try await failing(TestError.first).run() }
    await #expect(throws: CancellationError.self) { try await cancelling().run() }
    let cancelled = succeeding(1)
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.run() }
  }

  @Test("3.1.3 run() on a settled operation returns its outcome")
  func run_whenSettled_returnsItsOutcome() async throws {
    let succeeded = succeeding(4)
    succeeded.start()
    #expect(try await succeeded.run() == 4)
    #expect(try await succeeded.run() == 4)
    let failed = failing(TestError.first)
    failed.start()
    await #expect(throws: TestError.first) { try await failed.run() }
    let settledBeforeStart = HeldOperation<Int>()
    settledBeforeStart.finish(with: 6)
    #expect(try await settledBeforeStart.run() == 6)
    #expect(!settledBeforeStart.started.isOpen)
  }

  @Test("3.1.3 run() on an executing operation waits for it")
  func run_whileExecuting_waits() async throws {
    let operation = HeldOperation<Int>()
    operation.start()
    async let value = operation.run()
    operation.finish(with: 4)
    #expect(try await value == 4)
  }

  @Test("3.1.3 run() on a queued operation waits for it; the queue runs it")
  func run_whileQueued_waits() async throws {
    let queue = OperationQueue(limit: 1, suspended: true)
    let ranIn = Locked<OperationQueue?>(nil)
    let operation = SimpleOperation<Int> { operation in
      ranIn.withLock { $0 = OperationQueue.current }
      operation.finish(with: 4)
    }
    queue.addOperation(operation)
    let isRunning = Gate()
    let value = Task {
      isRunning.open()
      return try await operation.run()
    }
    await isRunning.wait()
    // Other tasks of the pool run after the call: run() has been entered by then.
    for _ in 0..<100 { await Task.yield() }
    queue.isSuspended = false
    #expect(try await value.value == 4)
    #expect(ranIn.current === queue)
  }

  @Test("3.1.3 run() by several tasks at once runs main once and gives each the value")
  func run_byMany_givesEachTheValue() async throws {
    let runs = Locked(0)
    let operation = SimpleOperation<Int> { $0.finish(with: runs.increment()) }
    let values = try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { try await operation.run() } }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    #expect(values == Array(repeating: 1, count: 50))
  }

  @Test("3.1.3 OperationQueue.run adds a pending operation to the queue and waits")
  func queueRun_whenPending_runsInTheQueue() async throws {
    let queue = OperationQueue()
    let ranIn = Locked<OperationQueue?>(nil)
    let operation = SimpleOperation<Int> { operation in
      ranIn.withLock { $0 = OperationQueue.current }
      operation.finish(with: 4)
    }
    #expect(try await queue.run(operation) == 4)
    #expect(ranIn.current === queue)
  }

  @Test("3.1.3 OperationQueue.run on a settled operation returns its outcome")
  func queueRun_whenSettled_returnsItsOutcome() async throws {
    let queue = OperationQueue()
    let succeeded = succeeding(4)
    succeeded.start()
    #expect(try await queue.run(succeeded) == 4)
    let failed = failing(TestError.first)
    failed.start()
    await #expect(throws: TestError.first) { try await queue.run(failed) }
  }

  @Test("3.1.3 OperationQueue.run on an executing operation waits for it")
  func queueRun_whileExecuting_waits() async throws {
    let queue = OperationQueue()
    let operation = HeldOperation<Int>()
    operation.start()
    async let value = queue.run(operation)
    operation.finish(with: 4)
    #expect(try await value == 4)
  }

  @Test("3.1.3 OperationQueue.run on an operation that is queued there already waits for it")
  func queueRun_whileQueuedInIt_waits() async throws {
    let queue = OperationQueue(limit: 1, suspended: true)
    let operation = succeeding(4)
    queue.addOperation(operation)
    async let value = queue.run(operation)
    queue.isSuspended = false
    #expect(try await value == 4)
  }

  @Test("3.1.3 OperationQueue.run on an operation that is queued elsewhere waits for it")
  func queueRun_whileQueuedElsewhere_waits() async throws {
    let other = OperationQueue(limit: 1, suspended: true)
    let ranIn = Locked<OperationQueue?>(nil)
    let operation = SimpleOperation<Int> { operation in
      ranIn.withLock { $0 = OperationQueue.current }
      operation.finish(with: 4)
    }
    other.addOperation(operation)
    let value = Task { try await OperationQueue().run(operation) }
    for _ in 0..<100 { await Task.yield() }
    other.isSuspended = false
    #expect(try await value.value == 4)
    #expect(ranIn.current === other)
  }

  @Test("3.1.3 OperationQueue.run of one operation by many tasks never traps")
  func queueRun_byMany_givesEachTheValue() async throws {
    let queue = OperationQueue()
    for _ in 0..<50 {
      let operation = succeeding(4)
      let values = try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 { group.addTask { try await queue.run(operation) } }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(values == Array(repeating: 4, count: 8))
    }
  }
}
