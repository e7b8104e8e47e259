import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.3 start()", .hangLimit)
struct StartTests {
  @Test("3.1.3 start() on an executing operation does nothing")
  func start_whileExecuting_doesNothing() {
    let runs = Locked(0)
    let operation = SimpleOperation<Int> { _ in runs.increment() }
    operation.start()
    operation.start()
    #expect(runs.current == 1)
    #expect(operation.isExecuting)
    operation.finish(with: 1)
    #expect(operation.result == 1)
  }

  @Test("3.1.3 start() on a finished operation does nothing")
  func start_whenFinished_doesNothing() {
    let runs = Locked(0)
    let operation = SimpleOperation<Int> { operation in
      operation.finish(with: runs.increment())
    }
    operation.start()
    operation.start()
    #expect(runs.current == 1)
    #expect(operation.result == 1)
  }

  @Test("3.1.3 start() from inside main does nothing")
  func start_insideMain_doesNothing() {
    let runs = Locked(0)
    let operation = SimpleOperation<Int> { operation in
      runs.increment()
      operation.start()
      operation.finish(with: 1)
    }
    operation.start()
    #expect(runs.current == 1)
  }

  @Test("3.1.3 start() from two threads at once runs main once")
  func start_racing_runsMainOnce() async {
    for _ in 0..<300 {
      let runs = Locked(0)
      let operation = SimpleOperation<Int> { operation in operation.finish(with: runs.increment()) }
      async let first: Void = onWorker { operation.start() }
      async let second: Void = onWorker { operation.start() }
      _ = await (first, second)
      #expect(await settled(operation).value == 1)
      #expect(runs.current == 1)
    }
  }

  @Test("3.1.3 start() on a composite that already started does nothing")
  func start_ofExecutingComposite_doesNothing() async {
    let held = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [held])
    await onWorker { composite.start() }
    await held.started.wait()
    composite.start()
    held.finish(with: 1)
    #expect(await settled(composite).value as? [Int] == [1])
    composite.start()
    #expect(composite.results as? [Int] == [1])
  }

  @Test("3.1.3 Settling before start is allowed and finishes the operation")
  func finish_beforeStart_finishes() {
    let operation = HeldOperation<Int>()
    let spy = CompletionSpy<Int>()
    operation.completion = spy.completion
    #expect(operation.finish(with: 5))
    #expect(operation.isFinished)
    #expect(!operation.isExecuting)
    #expect(operation.result == 5)
    #expect(spy.count == 1)
  }

  @Test("3.1.3 start() after settling does not run main")
  func start_afterSettlingBefore_doesNotRunMain() {
    let operation = HeldOperation<Int>()
    operation.finish(with: 5)
    operation.start()
    #expect(!operation.started.isOpen)
    #expect(operation.result == 5)
  }

  @Test("3.1.3 Settling before start resumes the waiters")
  func finish_beforeStart_tellsWaitersAndDependents() async {
    let operation = HeldOperation<Int>()
    let dependent = BlockOperation {}
    dependent.addDependency(operation)
    let queue = OperationQueue()
    queue.addOperation(dependent)
    let waiter = Task { try await operation.value }
    async let waited = onThread {
      operation.waitUntilFinished()
      return operation.result
    }
    operation.finish(with: 5)
    await finished(dependent)
    #expect(await waited == 5)
    #expect(await waiter.result.get(or: 0) == 5)
  }

  @Test("3.1.3 An operation that settles while it waits in a queue leaves the queue without running main")
  func finish_whileQueued_leavesTheQueue() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let operation = HeldOperation<Int>()
    let next = BlockOperation {}
    queue.addOperation(operation)
    queue.addOperation(next)
    operation.finish(with: 5)
    queue.isSuspended = false
    await finished(next)
    await finished(operation)
    #expect(!operation.started.isOpen)
    #expect(operation.result == 5)
  }
}

extension Result {
  /// The value, or `other` for a failure.
  func get(or other: Success) -> Success {
    (try? get()) ?? other
  }
}
