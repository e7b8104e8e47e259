import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.8 The default main and waiters", .hangLimit)
struct DefaultMainAndWaiterTests {
  @Test("3.1.8 The default main with no body succeeds for Void")
  func defaultMain_ofVoid_succeeds() {
    let operation = SimpleOperation<Void>()
    operation.start()
    #expect(operation.result != nil)
    #expect(operation.isFinished)
  }

  @Test("3.1.8 The default main with no body is a typed failure for any other value type")
  func defaultMain_ofOtherType_fails() throws {
    let operation = SimpleOperation<Int>()
    operation.name = "no body at all"
    operation.start()
    let error = try #require(operation.error)
    #expect(!(error is CancellationError))
    #expect(operation.isFinished)
    #expect("\(error)".contains("no body at all"))
    #expect("\(error)".contains("main"))
  }

  @Test("3.1.8 A subclass that does not override main inherits the default one")
  func defaultMain_ofSubclass_behavesTheSame() {
    let empty = EmptyOperation()
    empty.start()
    #expect(empty.result != nil)
    let other = OtherEmptyOperation()
    other.start()
    #expect(other.error != nil)
  }

  @Test("3.1.8 A waiter starts nothing and continues when other code settles the operation")
  func value_ofPendingOperation_waits() async throws {
    let operation = HeldOperation<Int>()
    let waiter = Task { try await operation.value }
    for _ in 0..<20 { await Task.yield() }
    #expect(!operation.started.isOpen)
    operation.finish(with: 2)
    #expect(try await waiter.value == 2)
  }

  @Test("3.1.8 Every waiter gets the value, the error or the cancellation")
  func value_ofManyWaiters_isGivenToEach() async {
    for settling in Settling.allCases {
      let operation = HeldOperation<String>()
      operation.start()
      let waiters = (0..<20).map { _ in Task { try await operation.value } }
      _ = settling.apply(to: operation, value: "value", error: .first)
      for waiter in waiters {
        switch (await waiter.result, operation.outcome) {
        case (.success(let value), .success(let expected)): #expect(value == expected)
        case (.failure(let error as TestError), .failure): #expect(error == .first)
        case (.failure(let error), .cancelled): #expect(error is CancellationError)
        default: Issue.record("a waiter got something else than the outcome")
        }
      }
    }
  }

  @Test("3.1.8 A waiter whose task is cancelled keeps waiting and does not cancel the operation")
  func value_inCancelledTask_keepsWaiting() async throws {
    let operation = HeldOperation<Int>()
    operation.start()
    let waiter = Task { try await operation.value }
    await Patience.untilAwaited(operation)
    waiter.cancel()
    #expect(!operation.isCancelled)
    operation.finish(with: 2)
    #expect(try await waiter.value == 2)
  }

  @Test("3.1.8 Cancelling the task of run() cancels the operation")
  func run_inCancelledTask_cancelsTheOperation() async {
    let operation = HeldOperation<Int>(settlesWhenCancelled: true)
    let runner = Task { try await operation.run() }
    await operation.started.wait()
    runner.cancel()
    await #expect(throws: CancellationError.self) { try await runner.value }
    #expect(operation.cancelRequested.isOpen)
    #expect(operation.outcome?.isCancelled == true)
  }

  @Test("3.1.8 run() in a task that was cancelled before does not run main")
  func run_inTaskCancelledBefore_doesNotRunMain() async {
    let operation = HeldOperation<Int>()
    let gate = Gate()
    let runner = Task {
      await gate.wait()
      return try await operation.run()
    }
    runner.cancel()
    gate.open()
    await #expect(throws: CancellationError.self) { try await runner.value }
    #expect(!operation.started.isOpen)
    #expect(operation.outcome?.isCancelled == true)
  }

  @Test("3.1.8 run() waits for the operation to wind down after the cancel")
  func run_inCancelledTask_waitsForTheBody() async {
    let operation = HeldOperation<Int>()
    let ended = Gate()
    let runner = Task {
      defer { ended.open() }
      return try await operation.run()
    }
    await operation.started.wait()
    runner.cancel()
    await operation.cancelRequested.wait()
    #expect(!ended.isOpen)
    operation.finish(with: 1)
    await #expect(throws: CancellationError.self) { try await runner.value }
  }

  @Test("3.1.8 Cancelling the task of OperationQueue.run cancels the operation, also while it waits in the queue")
  func queueRun_inCancelledTask_cancelsTheOperation() async {
    let queue = OperationQueue(limit: 1)
    let blocker = AsyncPlainOperation()
    queue.addOperation(blocker)
    await blocker.started.wait()
    let operation = HeldOperation<Int>()
    let runner = Task { try await queue.run(operation) }
    runner.cancel()
    await until(operation.isCancelled)
    blocker.complete()
    await #expect(throws: CancellationError.self) { try await runner.value }
    #expect(!operation.started.isOpen)
  }
}

private final class EmptyOperation: SimpleOperation<Void>, @unchecked Sendable {}
private final class OtherEmptyOperation: SimpleOperation<String>, @unchecked Sendable {}
