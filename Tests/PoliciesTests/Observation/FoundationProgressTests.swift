import CompositeOperations
import Foundation
import TestSupport
import Testing

/// `operation.progress`: its values, and the effects of its cancel and pause.
@Suite("8 Foundation's progress", .hangLimit)
struct FoundationProgressTests {
  @Test func progress_showsTheFraction() {
    let operation = HeldOperation<Int>()
    let progress = operation.progress
    #expect(progress === operation.progress)
    #expect(progress.isIndeterminate && progress.isCancellable && progress.isPausable)
    operation.start()
    operation.reportProgress(0.75)
    #expect(!progress.isIndeterminate && progress.fractionCompleted == 0.75)
    operation.finish(with: 1)
    #expect(progress.fractionCompleted == 1 && progress.isFinished)
  }

  @Test func progress_askedLate_showsTheFraction() {
    let operation = succeeding(1)
    operation.start()
    #expect(operation.progress.fractionCompleted == 1 && operation.progress.isFinished)
    let failed = HeldOperation<Int>()
    failed.start()
    failed.reportProgress(0.5)
    failed.reject(with: TestError.first)
    #expect(failed.progress.fractionCompleted == 0.5 && !failed.progress.isFinished && failed.progress.isCancelled)
  }

  @Test func progress_cancelled_hasCancelledWhenItReturns() {
    let operation = HeldOperation<Int>(settlesWhenCancelled: true)
    operation.start()
    operation.progress.cancel()
    #expect(operation.isCancelled && operation.outcome?.isCancelled == true)
  }

  /// Foundation calls its handler on another thread, which may come first.
  @Test func progress_cancelledOften_hasCancelledWhenEachReturns() {
    var late = 0
    for _ in 0..<20_000 {
      let operation = HeldOperation<Int>(settlesWhenCancelled: true)
      operation.start()
      operation.progress.cancel()
      if operation.outcome?.isCancelled != true { late += 1 }
    }
    #expect(late == 0)
  }

  @Test func progress_pausedAndResumedOften_holdsAndLetsGoBeforeEachReturns() {
    var late = 0
    for _ in 0..<20_000 {
      let composite = CompositeOperation(operations: [HeldOperation<Int>()])
      composite.progress.pause()
      if !Patience.isHeldBack(composite) { late += 1 }
      composite.progress.resume()
      if Patience.isHeldBack(composite) { late += 1 }
      composite.cancel()
    }
    #expect(late == 0)
  }

  @Test func progress_pausedAndResumedOften_reachesCompositesInsideBeforeEachReturns() async {
    let leaf = HeldOperation<Int>()
    let inner = CompositeOperation(operations: [leaf])
    let outer = CompositeOperation(operations: [inner])
    let progress = outer.progress
    async let outcome = outcomeOfStarting(outer)
    await leaf.started.wait()
    var late = 0
    for _ in 0..<5_000 {
      progress.pause()
      if !Patience.isHeldBack(inner) { late += 1 }
      progress.resume()
      if Patience.isHeldBack(inner) { late += 1 }
    }
    #expect(late == 0)
    leaf.finish(with: 1)
    _ = await outcome
  }

  @Test func progress_paused_startsNoChildAfterItReturned() async {
    for _ in 0..<100 {
      let children = [HeldOperation<Int>("first"), HeldOperation<Int>("second")]
      let composite = CompositeOperation(operations: children)
      composite.maxConcurrentOperationCount = 1
      let progress = composite.progress
      async let outcome = outcomeOfStarting(composite)
      await children[0].started.wait()
      progress.pause()
      children[0].finish(with: 1)
      await FoundationProgressTests.untilIdle()
      #expect(!children[1].started.isOpen)
      progress.resume()
      await children[1].started.wait()
      children[1].finish(with: 1)
      _ = await outcome
    }
  }

  /// Code that has only the `Progress` sees from it that the operation has ended.
  @Test(arguments: [false, true])
  func progress_ofUnsuccessfulOperation_isCancelledWithIt(asksLate: Bool) {
    let failing = HeldOperation<Int>()
    let cancelled = CountingCancels()
    let unstarted = HeldOperation<Int>()
    let operations: [SimpleOperation<Int>] = [failing, cancelled, unstarted]
    if !asksLate {
      for operation in operations { #expect(!operation.progress.isCancelled && !operation.progress.isFinished) }
    }
    failing.start()
    failing.reject(with: TestError.first)
    cancelled.start()
    cancelled.settle(with: .cancelled)
    unstarted.reject(with: TestError.first)
    for operation in operations {
      #expect(operation.progress.isCancelled && !operation.progress.isFinished && !operation.progress.isIndeterminate)
    }
    #expect(cancelled.cancelCount.current == 0)
  }

  private final class CountingCancels: SimpleOperation<Int>, @unchecked Sendable {  // immutable
    let cancelCount = Locked(0)

    override func main() {}

    override func cancel() {
      cancelCount.increment()
      super.cancel()
    }
  }

  @Test func progress_cancelled_cancelsTheOperation() async {
    let operation = HeldOperation<Int>(settlesWhenCancelled: true)
    operation.start()
    operation.progress.cancel()
    await operation.cancelRequested.wait()
    #expect(await settled(operation).isCancelled)
  }

  /// A sequence inside a parallel composite inside a workflow-like nest, paused at the root.
  @Test func progress_paused_holdsWaitingChildrenOfTheWholeTree() async {
    let first = HeldOperation<Int>("first")
    let second = HeldOperation<Int>("second")
    let third = HeldOperation<Int>("third")
    let later = HeldOperation<Int>("later")
    let sequence = CompositeOperation(sequence: ListSequence([first, second]))
    let inner = CompositeOperation(operations: [third, later])
    inner.maxConcurrentOperationCount = 1
    let root = CompositeOperation(operations: [sequence, inner])
    async let outcome = outcomeOfStarting(root)
    await first.started.wait()
    await third.started.wait()
    root.progress.pause()
    for composite in [sequence, inner] { #expect(Patience.isHeldBack(composite)) }
    first.finish(with: 1)
    third.finish(with: 1)
    await FoundationProgressTests.untilIdle()
    #expect(!second.started.isOpen && !later.started.isOpen)
    #expect(!sequence.isSuspended && !inner.isSuspended && !root.isSuspended)
    root.progress.resume()
    await second.started.wait()
    await later.started.wait()
    second.finish(with: 1)
    later.finish(with: 1)
    _ = await outcome
    #expect(root.progress.isFinished)
  }

  @Test func progress_resumed_leavesTheUsersSuspensionAlone() async {
    let child = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [child])
    composite.isSuspended = true
    composite.progress.pause()
    async let outcome = outcomeOfStarting(composite)
    composite.progress.resume()
    await FoundationProgressTests.untilIdle()
    #expect(!child.started.isOpen && composite.isSuspended)
    composite.isSuspended = false
    await child.started.wait()
    child.finish(with: 1)
    _ = await outcome
  }

  @Test func progress_pausedBeforeStart_holdsWhatStartsLater() async {
    let child = HeldOperation<Int>()
    let chain = child.map { $0 }.then { succeeding($0) }
    chain.progress.pause()
    #expect(Patience.isHeldBack(chain))
    async let outcome = outcomeOfStarting(chain)
    await FoundationProgressTests.untilIdle()
    #expect(!child.started.isOpen)
    chain.progress.resume()
    await child.started.wait()
    child.finish(with: 1)
    _ = await outcome
  }

  @Test func progress_pausedAtTwoLevels_goesOnWhenBothAreResumed() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let inner = CompositeOperation(sequence: ListSequence([first, second]))
    let outer = CompositeOperation(operations: [inner])
    async let outcome = outcomeOfStarting(outer)
    await first.started.wait()
    for composite in [inner, outer] {
      composite.progress.pause()
      #expect(Patience.isHeldBack(composite))
    }
    first.finish(with: 1)
    outer.progress.resume()
    await FoundationProgressTests.untilIdle()
    #expect(!second.started.isOpen)
    inner.progress.resume()
    await second.started.wait()
    second.finish(with: 1)
    _ = await outcome
  }

  @Test("Paused and resumed at once it continues, whatever the order of the handlers")
  func progress_pausedAndResumedAtOnce_goesOn() async {
    let composites = (0..<2_000).map { CompositeOperation(operations: [succeeding($0)]) }
    for composite in composites {
      composite.progress.pause()
      composite.progress.resume()
    }
    await FoundationProgressTests.untilIdle()
    await onWorker { for composite in composites { composite.start() } }
    #expect(await Patience.reached { composites.allSatisfy(\.isFinished) })
    // So that the held ones do not hang the test.
    for composite in composites { composite.cancel() }
  }

  @Test func composite_cancelledWhilePaused_settles() async {
    let composite = CompositeOperation(operations: [HeldOperation<Int>(), HeldOperation<Int>()])
    composite.progress.pause()
    #expect(Patience.isHeldBack(composite))
    async let outcome = outcomeOfStarting(composite)
    composite.cancel()
    #expect(await outcome.isCancelled)
  }

  @Test func progress_ofReleasedOperation_cancelsNothing() {
    let progress = succeeding(1).progress
    progress.pause()
    progress.cancel()
    #expect(progress.isCancelled)
  }

  /// Long enough for any operation that would start: there is no event for one that does not.
  private static func untilIdle() async {
    for _ in 0..<200 { await onWorker {} }
  }

  @Test func progress_ofWrapper_isDeterminateWhenTheOneInsideIs() async {
    let leaf = HeldOperation<Int>()
    let wrapper = CompositeOperation(operations: [leaf]).map { $0.count }
    let progress = wrapper.progress
    async let outcome = outcomeOfStarting(wrapper)
    await leaf.started.wait()
    #expect(await Patience.reached { !wrapper.isProgressIndeterminate && !progress.isIndeterminate })
    leaf.finish(with: 1)
    _ = await outcome
  }
}
