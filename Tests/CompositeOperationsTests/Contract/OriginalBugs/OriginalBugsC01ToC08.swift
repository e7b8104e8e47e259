import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Each bug of the Objective-C original, with the correct behaviour.
@Suite("The original's bugs C1 to C8", .hangLimit)
struct OriginalBugsC01ToC08 {
  @Test("C1 A losing second settle neither traps nor leaves anything behind")
  func c1_settlingTwice_leavesNoTrace() {
    let operation = HeldOperation<Int>()
    operation.start()
    #expect(operation.finish(with: 1))
    #expect(!operation.reject(with: TestError.first))
    #expect(!operation.finish(with: 2))
    #expect(operation.result == 1)
    #expect(operation.error == nil)
  }

  @Test("C2 completion is called when it was cancelled before it started, and by the default main")
  func c2_completion_isCalledOnEveryPath() {
    let cancelled = CompletionSpy<Int>()
    let first = succeeding(1)
    first.completion = cancelled.completion
    first.cancel()
    first.start()
    #expect(cancelled.outcomes.map { $0.isCancelled } == [true])

    let empty = CompletionSpy<Void>()
    let second = SimpleOperation<Void>()
    second.completion = empty.completion
    second.start()
    #expect(empty.outcomes.map { $0.value != nil } == [true])
  }

  @Test("C3 Cancel reaches the children, parallel and sequential, at every depth")
  func c3_cancel_reachesTheChildren() async {
    let leaves = (0..<3).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let composite = CompositeOperation(operations: [
      leaves[0], CompositeOperation(sequence: ListSequence([leaves[1]])),
      CompositeOperation(operations: [CompositeOperation(operations: [leaves[2]])]),
    ])
    await onWorker { composite.start() }
    for leaf in leaves { await leaf.started.wait() }
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    for leaf in leaves { #expect(leaf.isCancelled && leaf.isFinished) }
  }

  @Test(
    "C4 What happens to the siblings of a failed child is a policy",
    arguments: [FailurePolicy.cancelRemaining, .waitForAll])
  func c4_siblingsOfFailure_followThePolicy(policy: FailurePolicy) async {
    let sibling = succeeding(1)
    let composite = CompositeOperation(operations: [failing(TestError.first), sibling])
    composite.maxConcurrentOperationCount = 1
    composite.failurePolicy = policy
    #expect(await outcomeOfStarting(composite).error is CompositeError)
    #expect(sibling.outcome?.isCancelled == (policy == .cancelRemaining))
  }

  @Test("C5 No queued sibling starts after a failure, with and without a queue", arguments: [true, false])
  func c5_queuedSibling_neverStartsAfterFailure(hasQueue: Bool) async {
    for _ in 0..<50 {
      let ran = Locked(0)
      let failing = HeldOperation<Int>()
      let siblings = (0..<20).map { _ in
        SimpleOperation<Int> { operation in
          ran.increment()
          operation.finish(with: 1)
        }
      }
      let composite = CompositeOperation(
        operations: [failing] + siblings, operationQueue: hasQueue ? OperationQueue(limit: 1) : nil)
      composite.maxConcurrentOperationCount = 1
      await onWorker { composite.start() }
      await failing.started.wait()
      failing.reject(with: TestError.first)
      _ = await settled(composite)
      #expect(ran.current == 0)
    }
  }

  @Test("C6 A child that is cancelled from outside makes the composite .cancelled, not failed with placeholders")
  func c6_childCancelled_isNotAFailure() async {
    let child = HeldOperation<Int>(settlesWhenCancelled: true)
    for composite in [
      CompositeOperation(operations: [child]), CompositeOperation(sequence: ListSequence([cancelling()])),
    ] {
      await onWorker { composite.start() }
      await child.started.wait()
      child.cancel()
      #expect(await settled(composite).isCancelled)
      #expect(composite.isCancelled)
      #expect(composite.errors.isEmpty)
    }
  }

  @Test("C7 One typed slot per child: no value, failed, succeeded and cancelled are distinct")
  func c7_childOutcomes_areToldApart() async {
    let composite = CompositeOperation(operations: [
      BlockOperation {}, succeeding(1), failing(TestError.first), cancelling(),
    ])
    composite.failurePolicy = .waitForAll
    _ = await outcomeOfStarting(composite)
    #expect(composite.childOutcomes.map { Ending($0) } == [.success, .success, .failure, .cancelled])
    #expect(composite.childOutcomes[0]?.value is Void)
    #expect(composite.childOutcomes[1]?.value as? Int == 1)
    #expect(composite.failures == [.first])
    #expect(composite.errors.count == 1)
  }

  @Test("C8 A sequential composite without a reference runs to its end and calls its completion")
  func c8_sequentialDropped_completes() async {
    let spy = CompletionSpy<[any Sendable]>()
    let gate = Gate()
    await onWorker {
      let composite = CompositeOperation(
        sequence: LinearSequence(
          { _ in SimpleOperation<Int> { operation in gate.whenOpen { operation.finish(with: 1) } } },
          { _ in AsyncOperation { 2 } }))
      composite.completion = spy.completion
      composite.start()
    }
    gate.open()
    #expect(await spy.first().value as? [Int] == [1, 2])
  }
}
