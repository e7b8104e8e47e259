import CompositeOperations
import Foundation
import TestSupport
import Testing

/// `operation.progress`: its values, and the effect of its cancel.
@Suite("8 Foundation's progress", .hangLimit)
struct FoundationProgressTests {
  @Test func progress_showsTheFraction() {
    let operation = HeldOperation<Int>()
    let progress = operation.progress
    #expect(progress === operation.progress)
    #expect(progress.isIndeterminate && progress.isCancellable && !progress.isPausable)
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

  @Test func progress_ofReleasedOperation_cancelsNothing() {
    let progress = succeeding(1).progress
    progress.cancel()
    #expect(progress.isCancelled)
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
