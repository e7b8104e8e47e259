import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.1.8 Hooks set late", .hangLimit)
struct LateHookTests {
  @Test("3.1.8 completion set after settling is called at once, on the setting thread", arguments: Settling.allCases)
  func completion_setAfterSettling_isCalledAtOnce(settling: Settling) {
    let operation = HeldOperation<String>()
    operation.start()
    _ = settling.apply(to: operation, value: "value", error: .first)
    let spy = CompletionSpy<String>()
    operation.completion = spy.completion
    #expect(spy.count == 1)
    #expect(Ending(spy.outcomes.first) == Ending(operation.outcome))
  }

  @Test("3.1.8 completion set after a composite settled is called at once")
  func completion_setAfterCompositeSettled_isCalledAtOnce() async {
    let composite = CompositeOperation(operations: [succeeding(1)])
    _ = await outcomeOfStarting(composite)
    let spy = CompletionSpy<[any Sendable]>()
    composite.completion = spy.completion
    #expect(spy.outcomes.first?.value as? [Int] == [1])
  }

  @Test("3.1.8 completion set after settling is released when it returned")
  func completion_setAfterSettling_isReleased() {
    let operation = succeeding(1)
    operation.start()
    let released = Gate()
    do {
      let probe = ReleaseProbe(released)
      operation.completion = { _ in probe.touch() }
    }
    #expect(released.isOpen)
  }

  @Test("3.1.8 completion set while another thread settles is called exactly once")
  func completion_setWhileSettling_isCalledOnce() async {
    for _ in 0..<500 {
      let operation = HeldOperation<Int>()
      let spy = CompletionSpy<Int>()
      operation.start()
      async let settling = onWorker { operation.finish(with: 1) }
      async let setting: Void = onWorker { operation.completion = spy.completion }
      _ = await (settling, setting)
      #expect(await spy.first().value == 1)
      #expect(spy.count == 1)
    }
  }

  @Test("3.1.8 onCancel set while already cancelled and executing is called at once, once")
  func onCancel_setWhileCancelledAndExecuting_isCalledAtOnce() {
    let calls = Locked(0)
    let operation = SimpleOperation<Int> { _ in }
    operation.start()
    operation.cancel()
    operation.onCancel = { calls.increment() }
    #expect(calls.current == 1)
    operation.cancel()
    operation.finish(with: 1)
    #expect(calls.current == 1)
  }

  @Test("3.1.8 onCancel set inside main of an operation that is cancelled at that moment is called once")
  func onCancel_setWhileCancelling_isCalledOnce() async {
    for _ in 0..<500 {
      let calls = Locked(0)
      let called = Gate()
      let operation = SimpleOperation<Int> { _ in }
      operation.start()
      async let cancelling: Void = onWorker { operation.cancel() }
      async let setting: Void = onWorker {
        operation.onCancel = {
          calls.increment()
          called.open()
        }
      }
      _ = await (cancelling, setting)
      await called.wait()
      operation.finish(with: 1)
      #expect(calls.current == 1)
    }
  }

  @Test("3.1.8 onCancel set after settling is not called")
  func onCancel_setAfterSettling_isNotCalled() {
    let hook = Gate()
    let cancelled = HeldOperation<Int>()
    cancelled.start()
    cancelled.cancel()
    cancelled.finish(with: 1)
    cancelled.onCancel = { hook.open() }
    #expect(!hook.isOpen)
  }

  @Test("3.1.8 didCancel may run while main runs")
  func didCancel_whileMainRuns_unblocksIt() async {
    let operation = BlockedUntilCancelled()
    async let started: Void = onThread { operation.start() }
    async let cancelled: Void = onThread {
      operation.entered.waitBlocking()
      operation.cancel()
    }
    _ = await (started, cancelled)
    #expect(operation.outcome?.isCancelled == true)
  }

  @Test("3.1.8 After settling, isCancelled and a .cancelled outcome agree", arguments: SimplePath.all)
  func isCancelled_afterSettling_agrees(path: SimplePath) async {
    let operation = path.make()
    await path.run(operation)
    let outcome = await settled(operation)
    #expect(operation.isCancelled == outcome.isCancelled)
    operation.cancel()
    #expect(operation.isCancelled == outcome.isCancelled)
  }
}

/// An operation whose `main` blocks until `didCancel`.
private final class BlockedUntilCancelled: SimpleOperation<Int>, @unchecked Sendable {
  let entered = Gate()
  private let cancelled = Gate()

  override func main() {
    entered.open()
    cancelled.waitBlocking()
    finish(with: 1)
  }

  override func didCancel() { cancelled.open() }
}
