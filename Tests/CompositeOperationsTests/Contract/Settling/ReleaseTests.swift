import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Every closure the API takes is released once it has run, so an operation that is captured by it
/// leaks nothing.
@Suite("3.1.2 Closures are released", .hangLimit)
struct ReleaseTests {
  @Test("3.1.2 completion is released when it returned, while the operation lives on")
  func completion_afterItRan_isReleased() {
    let operation = HeldOperation<Int>()
    let released = Gate()
    setCompletion(of: operation, capturing: ReleaseProbe(released))
    operation.start()
    operation.finish(with: 1)
    #expect(released.isOpen)
    #expect(operation.completion == nil)
    #expect(operation.isFinished)
  }

  @Test("3.1.2 completion is released on the cancelled-before-start path")
  func completion_cancelledBeforeStart_isReleased() {
    let operation = HeldOperation<Int>()
    let released = Gate()
    setCompletion(of: operation, capturing: ReleaseProbe(released))
    operation.cancel()
    operation.start()
    #expect(released.isOpen)
  }

  @Test("3.1.2 onCancel is released when the operation settled without a cancel")
  func onCancel_afterSettling_isReleased() {
    let operation = HeldOperation<Int>()
    let released = Gate()
    setOnCancel(of: operation, capturing: ReleaseProbe(released))
    operation.start()
    operation.finish(with: 1)
    #expect(released.isOpen)
    #expect(operation.isFinished)
  }

  @Test("3.1.2 onCancel is released when it ran and the operation settled")
  func onCancel_afterItRan_isReleased() {
    let operation = HeldOperation<Int>()
    let released = Gate()
    setOnCancel(of: operation, capturing: ReleaseProbe(released))
    operation.start()
    operation.cancel()
    operation.finish(with: 1)
    #expect(released.isOpen)
    #expect(operation.isFinished)
  }

  @Test("3.1.2 A body is released once the operation settled")
  func body_afterSettling_isReleased() async {
    let released = Gate()
    let operation = operationWithBody(capturing: ReleaseProbe(released))
    #expect(await outcomeOfStarting(operation).value == 1)
    await released.wait()
    #expect(operation.isFinished)
  }

  @Test("3.1.2 A body that never ran is released when the operation settled cancelled")
  func body_cancelledBeforeStart_isReleased() async {
    let released = Gate()
    let operation = operationWithBody(capturing: ReleaseProbe(released))
    operation.cancel()
    #expect(await outcomeOfStarting(operation).isCancelled)
    await released.wait()
    #expect(operation.isFinished)
  }

  @Test("3.1.2 The work of an AsyncOperation is released once it settled")
  func work_afterSettling_isReleased() async {
    let released = Gate()
    let operation = asyncOperation(capturing: ReleaseProbe(released))
    #expect(await outcomeOfStarting(operation).value == 1)
    await released.wait()
    #expect(operation.isFinished)
  }

  @Test("3.1.2 A completion that captures its operation leaks nothing")
  func completion_capturingItsOperation_leaksNothing() async {
    let released = Gate()
    await {
      let operation = operationWithBody(capturing: ReleaseProbe(Gate()))
      let probe = ReleaseProbe(released)
      operation.completion = { _ in
        probe.touch()
        _ = operation.outcome
      }
      operation.onCancel = { _ = operation.outcome }
      _ = await outcomeOfStarting(operation)
    }()
    await released.wait()
  }

  @Test("3.1.2 An operation captured by its own completion and onCancel is itself released", arguments: SimplePath.all)
  func operation_capturedByItself_isReleased(path: SimplePath) async {
    let reference = await {
      let operation = path.make()
      operation.completion = { _ in _ = operation.isFinished }
      operation.onCancel = { _ = operation.isFinished }
      await path.run(operation)
      _ = await settled(operation)
      return WeakReference(operation)
    }()
    await untilReleased(reference)
  }

  @Test("3.1.2 A composite captured by its own completion and onCancel is released", arguments: CompositePath.all)
  func composite_capturedByItself_isReleased(path: CompositePath) async {
    let reference = await {
      let operation = path.make()
      operation.completion = { _ in _ = operation.isFinished }
      operation.onCancel = { _ = operation.isFinished }
      await path.run(operation)
      _ = await settled(operation)
      return WeakReference(operation)
    }()
    await untilReleased(reference)
  }

  // Functions of their own, so that no temporary of the test keeps the probe.
  private func setCompletion(of operation: SimpleOperation<Int>, capturing probe: ReleaseProbe) {
    operation.completion = { _ in probe.touch() }
  }

  private func setOnCancel(of operation: SimpleOperation<Int>, capturing probe: ReleaseProbe) {
    operation.onCancel = { probe.touch() }
  }

  private func operationWithBody(capturing probe: ReleaseProbe) -> SimpleOperation<Int> {
    SimpleOperation { operation in
      probe.touch()
      operation.finish(with: 1)
    }
  }

  private func asyncOperation(capturing probe: ReleaseProbe) -> AsyncOperation<Int> {
    AsyncOperation {
      probe.touch()
      return 1
    }
  }
}
