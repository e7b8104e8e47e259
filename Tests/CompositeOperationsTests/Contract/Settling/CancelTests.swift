import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.4 cancel()", .hangLimit)
struct CancelTests {
  @Test("3.1.4 Cancelled before it started: settles .cancelled when it is started, main never runs")
  func cancel_beforeStart_settlesAtStart() {
    let operation = HeldOperation<Int>()
    operation.cancel()
    #expect(operation.isCancelled)
    #expect(operation.outcome == nil)
    #expect(!operation.isFinished)
    operation.start()
    #expect(operation.outcome?.isCancelled == true)
    #expect(operation.isFinished)
    #expect(!operation.started.isOpen)
  }

  @Test("3.1.4 Cancelled before it started: no cancel hook is called, there is no work to stop")
  func cancel_beforeStart_callsNoHook() {
    let operation = HeldOperation<Int>()
    let hook = Gate()
    operation.onCancel = { hook.open() }
    operation.cancel()
    operation.start()
    #expect(!hook.isOpen)
    #expect(!operation.cancelRequested.isOpen)
  }

  @Test("3.1.4 A queue starts a cancelled operation at once, whatever its dependencies")
  func cancel_whileQueuedWithUnmetDependency_settlesAtOnce() async {
    let never = BlockOperation {}
    let operation = HeldOperation<Int>()
    operation.addDependency(never)
    let queue = OperationQueue()
    queue.addOperation(operation)
    operation.cancel()
    #expect(await settled(operation).isCancelled)
    await finished(operation)
    #expect(!operation.started.isOpen)
  }

  @Test("3.1.4 Cancelled while running: isCancelled is true and it stays executing until its body settles")
  func cancel_whileExecuting_staysExecuting() {
    let operation = HeldOperation<Int>()
    operation.start()
    operation.cancel()
    #expect(operation.isCancelled)
    #expect(operation.isExecuting)
    #expect(!operation.isFinished)
    #expect(operation.outcome == nil)
    operation.finish(with: 1)
    #expect(!operation.isExecuting)
    #expect(operation.isFinished)
  }

  @Test("3.1.4 Cancelled while running: a value that the body gives is discarded, that call returns false")
  func cancel_whileExecuting_discardsResult() {
    let operation = HeldOperation<Int>()
    operation.start()
    operation.cancel()
    #expect(!operation.finish(with: 1))
    #expect(operation.outcome?.isCancelled == true)
    #expect(operation.result == nil)
  }

  @Test("3.1.4 Cancelled while running: an error that the body gives is discarded, that call returns false")
  func cancel_whileExecuting_discardsError() {
    let operation = HeldOperation<Int>()
    operation.start()
    operation.cancel()
    #expect(!operation.reject(with: TestError.first))
    #expect(operation.outcome?.isCancelled == true)
    #expect(operation.error == nil)
  }

  @Test("3.1.4 Cancelled while running: settle with a success or a failure is discarded")
  func cancel_whileExecuting_discardsSettle() {
    for outcome: Outcome<Int> in [.success(1), .failure(TestError.first)] {
      let operation = HeldOperation<Int>()
      operation.start()
      operation.cancel()
      #expect(!operation.settle(with: outcome))
      #expect(operation.outcome?.isCancelled == true)
    }
  }

  @Test("3.1.4 didCancel and onCancel are called exactly once, however often it is cancelled")
  func cancel_repeatedly_callsHooksOnce() {
    let calls = EventRecorder<String>()
    let operation = HookedOperation { calls.record("didCancel") }
    operation.onCancel = { calls.record("onCancel") }
    operation.start()
    operation.cancel()
    operation.cancel()
    operation.settle(with: .cancelled)
    operation.cancel()
    #expect(calls.events.sorted() == ["didCancel", "onCancel"])
  }

  @Test("3.1.4 The hooks have been called when cancel() returns, and see isCancelled")
  func cancel_returns_afterHooks() {
    let operation = HeldOperation<Int>()
    let seen = Locked<Bool?>(nil)
    operation.onCancel = { [unowned operation] in seen.withLock { $0 = operation.isCancelled } }
    operation.start()
    operation.cancel()
    #expect(seen.current == true)
    #expect(operation.cancelRequested.isOpen)
    operation.settle(with: .cancelled)
  }

  @Test("3.1.4 Cancelled by many threads at once, the hooks are called once")
  func cancel_racing_callsHooksOnce() async {
    for _ in 0..<200 {
      let calls = Locked(0)
      let operation = HeldOperation<Int>()
      operation.onCancel = { calls.increment() }
      operation.start()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<4 { group.addTask { operation.cancel() } }
      }
      operation.finish(with: 1)
      #expect(calls.current == 1)
    }
  }

  @Test("3.1.4 Cancel after it settled has no effect")
  func cancel_afterSettling_hasNoEffect() {
    let hook = Gate()
    let succeeded = HeldOperation<Int>()
    succeeded.onCancel = { hook.open() }
    succeeded.start()
    succeeded.finish(with: 1)
    succeeded.cancel()
    #expect(succeeded.result == 1)
    #expect(!succeeded.isCancelled)
    #expect(!hook.isOpen)
    #expect(!succeeded.cancelRequested.isOpen)

    let failed = failing(TestError.first)
    failed.start()
    failed.cancel()
    #expect(failed.error as? TestError == .first)
    #expect(!failed.isCancelled)
  }

  @Test("3.1.4 Cancel after a composite settled has no effect")
  func cancel_afterCompositeSettled_hasNoEffect() async {
    let child = succeeding(1)
    let composite = CompositeOperation(operations: [child])
    _ = await outcomeOfStarting(composite)
    composite.cancel()
    #expect(composite.results as? [Int] == [1])
    #expect(!composite.isCancelled)
    #expect(!child.isCancelled)
  }

  @Test("3.1.4 A cancel that races with finish leaves one consistent outcome, and calls its hook if it came first")
  func cancel_racingWithFinish_isConsistent() async {
    for _ in 0..<500 {
      let calls = Locked(0)
      let operation = HeldOperation<Int>()
      operation.onCancel = { calls.increment() }
      operation.start()
      async let cancelling: Void = onWorker { operation.cancel() }
      async let finishing = onWorker { operation.finish(with: 1) }
      let (_, didFinish) = await (cancelling, finishing)
      #expect(operation.isFinished)
      #expect((operation.result == 1) == didFinish)
      #expect(operation.outcome?.isCancelled == !didFinish)
      #expect(operation.isCancelled == !didFinish)
      #expect(calls.current == (didFinish ? 0 : 1))
      #expect(operation.cancelRequested.isOpen == !didFinish)
    }
  }
}

/// A subclass with an override of `didCancel`.
final class HookedOperation: SimpleOperation<Int>, @unchecked Sendable {
  private let hook: @Sendable () -> Void

  init(_ hook: @escaping @Sendable () -> Void) {
    self.hook = hook
    super.init()
  }

  override func main() {}

  override func didCancel() { hook() }
}
