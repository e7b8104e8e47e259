import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.2 Parallel: cancellation", .hangLimit)
struct ParallelCancelTests {
  @Test("3.2 A child is cancelled from outside, none failed: the rest are cancelled, the composite is .cancelled")
  func child_cancelledFromOutside_cancelsTheRest() async {
    let recorder = EventRecorder<String>()
    let cancelled = HeldOperation<Int>(settlesWhenCancelled: true)
    let running = HeldOperation<Int>()
    let waiting = succeeding(3, named: "waiting", recorder: recorder)
    let composite = CompositeOperation(operations: [cancelled, running, waiting])
    composite.maxConcurrentOperationCount = 2
    await onWorker { composite.start() }
    await cancelled.started.wait()
    await running.started.wait()
    cancelled.cancel()
    await running.cancelRequested.wait()
    running.finish(with: 2)
    #expect(await settled(composite).isCancelled)
    #expect(composite.isCancelled)
    #expect(recorder.events.isEmpty)
    #expect(composite.errors.isEmpty)
    #expect(composite.childOutcomes.map { Ending($0) } == [.cancelled, .cancelled, .cancelled])
  }

  @Test("3.2 A child that is cancelled before the composite starts counts as cancelled from outside")
  func child_cancelledBefore_cancelsTheComposite() async {
    let cancelled = succeeding(1)
    cancelled.cancel()
    let composite = CompositeOperation(operations: [cancelled, Doubling(2)])
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(composite.isCancelled)
  }

  @Test("3.2 Composite cancelled: every running child is cancelled, waiting ones never run, .cancelled at the end")
  func composite_cancelled_cancelsItsChildren() async {
    let recorder = EventRecorder<String>()
    let running = (0..<2).map { _ in HeldOperation<Int>() }
    let waiting = (0..<20).map { succeeding($0, named: "waiting", recorder: recorder) }
    let composite = CompositeOperation(operations: running + waiting)
    composite.maxConcurrentOperationCount = 2
    await onWorker { composite.start() }
    for child in running { await child.started.wait() }
    composite.cancel()
    for child in running {
      await child.cancelRequested.wait()
      #expect(composite.outcome == nil)
      child.finish(with: 1)
    }
    #expect(await settled(composite).isCancelled)
    #expect(recorder.events.isEmpty)
    #expect(waiting.allSatisfy { $0.outcome?.isCancelled == true && $0.isFinished })
  }

  @Test("3.2 Composite cancelled: the running children are cancelled when cancel() returns")
  func composite_cancelled_hasToldChildrenAtReturn() async {
    let running = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [running])
    await onWorker { composite.start() }
    await running.started.wait()
    composite.cancel()
    #expect(running.isCancelled)
    #expect(running.cancelRequested.isOpen)
    running.finish(with: 1)
    #expect(await settled(composite).isCancelled)
  }

  @Test("3.2 Composite cancelled: wins over failures", arguments: [FailurePolicy.cancelRemaining, .waitForAll])
  func composite_cancelledAfterFailure_isCancelled(policy: FailurePolicy) async {
    let failing = HeldOperation<Int>()
    let running = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [failing, running])
    composite.failurePolicy = policy
    await onWorker { composite.start() }
    await failing.started.wait()
    await running.started.wait()
    failing.reject(with: TestError.first)
    composite.cancel()
    await running.cancelRequested.wait()
    running.finish(with: 1)
    #expect(await settled(composite).isCancelled)
    #expect(composite.isCancelled)
    #expect(composite.errors as? [TestError] == [.first])
    #expect(composite.childOutcomes.map { Ending($0) } == [.failure, .cancelled])
  }

  @Test("3.2 Composite cancelled before it started: .cancelled, no child runs, each is settled")
  func composite_cancelledBeforeStart_runsNoChild() async {
    let recorder = EventRecorder<String>()
    let children = (0..<3).map { succeeding($0, named: "\($0)", recorder: recorder) }
    let composite = CompositeOperation(operations: children)
    composite.cancel()
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(recorder.events.isEmpty)
    #expect(children.allSatisfy { $0.isFinished && $0.outcome?.isCancelled == true })
    #expect(composite.childOutcomes.map { Ending($0) } == [.cancelled, .cancelled, .cancelled])
  }

  @Test("3.2 Composite cancelled while all children succeeded already but one: .cancelled, values stay readable")
  func composite_cancelledLate_keepsChildOutcomes() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(operations: [succeeding(1), held])
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    await held.started.wait()
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(composite.results as? [Int] == [1])
    #expect(composite.childOutcomes.map { Ending($0) } == [.success, .cancelled])
  }

  @Test("3.2 A failure, then an outside cancel: .failure")
  func outsideCancel_afterFailure_isFailure() async {
    let (failing, cancelled, composite) = await runningPair(policy: .waitForAll)
    failing.reject(with: TestError.first)
    cancelled.cancel()
    #expect(await settled(composite).error is CompositeError)
    #expect(composite.failures == [.first])
    #expect(!composite.isCancelled)
    #expect(composite.childOutcomes.map { Ending($0) } == [.failure, .cancelled])
  }

  @Test("3.2 An outside cancel, then a failure: .failure")
  func failure_afterOutsideCancel_isFailure() async {
    let (failing, cancelled, composite) = await runningPair(policy: .waitForAll)
    cancelled.cancel()
    await cancelled.cancelRequested.wait()
    failing.reject(with: TestError.first)
    #expect(await settled(composite).error is CompositeError)
    #expect(composite.failures == [.first])
    #expect(!composite.isCancelled)
  }

  @Test("3.2 Under .waitForAll an outside cancel of one child does not cancel the rest")
  func outsideCancel_underWaitForAll_letsTheRestRun() async {
    let recorder = EventRecorder<String>()
    let cancelled = HeldOperation<Int>(settlesWhenCancelled: true)
    let rest = (0..<5).map { succeeding($0, named: "rest", recorder: recorder) }
    let composite = CompositeOperation(operations: [cancelled] + rest)
    composite.failurePolicy = .waitForAll
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    await cancelled.started.wait()
    cancelled.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(composite.isCancelled)
    #expect(recorder.count == 5)
    #expect(rest.allSatisfy { $0.result != nil && !$0.isCancelled })
  }

  @Test("3.2 Cancel reaches every level of nested composites")
  func composite_cancelled_cancelsNestedOnes() async {
    let leaf = HeldOperation<Int>(settlesWhenCancelled: true)
    let inner = CompositeOperation(sequence: ListSequence([leaf, succeeding(2)]))
    let middle = CompositeOperation(operations: [inner])
    let outer = CompositeOperation(operations: [middle])
    await onWorker { outer.start() }
    await leaf.started.wait()
    outer.cancel()
    #expect(await settled(outer).isCancelled)
    for operation in [leaf, inner, middle, outer] as [Operation] {
      #expect(operation.isCancelled && operation.isFinished)
    }
  }

  @Test("3.2 onCancel and didCancel of a composite are called once when it is cancelled while running")
  func composite_cancelled_callsItsHook() async {
    let calls = Locked(0)
    let leaf = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(operations: [leaf])
    composite.onCancel = { calls.increment() }
    await onWorker { composite.start() }
    await leaf.started.wait()
    composite.cancel()
    composite.cancel()
    _ = await settled(composite)
    #expect(calls.current == 1)
  }

  private func runningPair(
    policy: FailurePolicy
  ) async -> (failing: HeldOperation<Int>, cancelled: HeldOperation<Int>, composite: CompositeOperation) {
    let failing = HeldOperation<Int>()
    let cancelled = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(operations: [failing, cancelled])
    composite.failurePolicy = policy
    await onWorker { composite.start() }
    await failing.started.wait()
    await cancelled.started.wait()
    return (failing, cancelled, composite)
  }
}
