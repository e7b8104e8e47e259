import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("6 Foundation: waitUntilFinished and completionBlock", .hangLimit)
struct WaitingTests {
  @Test("waitUntilFinished of each kind of operation returns when it settled", arguments: SimplePath.all)
  func waitUntilFinished_ofSimple_returns(path: SimplePath) async {
    let operation = path.make()
    async let waited = onThread {
      operation.waitUntilFinished()
      return Ending(operation.outcome)
    }
    await path.run(operation)
    #expect(await waited == path.ending)
  }

  @Test("waitUntilFinished of a composite returns when it settled", arguments: CompositePath.all)
  func waitUntilFinished_ofComposite_returns(path: CompositePath) async {
    let operation = path.make()
    async let waited = onThread {
      operation.waitUntilFinished()
      return Ending(operation.outcome)
    }
    await path.run(operation)
    #expect(await waited == path.ending)
  }

  @Test("waitUntilFinished on a settled operation returns at once")
  func waitUntilFinished_whenSettled_returns() async {
    let operation = succeeding(1)
    operation.start()
    #expect(
      await onThread {
        operation.waitUntilFinished()
        return operation.result == 1
      })
  }

  @Test("Several threads may wait for one operation")
  func waitUntilFinished_ofMany_returns() async {
    let operation = HeldOperation<Int>()
    operation.start()
    async let first = onThread {
      operation.waitUntilFinished(); return operation.result
    }
    async let second = onThread {
      operation.waitUntilFinished(); return operation.result
    }
    DispatchQueue.global().async { operation.finish(with: 1) }
    let results = await (first, second)
    #expect(results == (1, 1))
  }

  @Test("completionBlock is called once on each path", arguments: SimplePath.all)
  func completionBlock_ofSimple_isCalledOnce(path: SimplePath) async {
    let operation = path.make()
    let calls = Locked(0)
    let called = Gate()
    operation.completionBlock = {
      calls.increment()
      called.open()
    }
    await path.run(operation)
    await called.wait()
    _ = await settled(operation)
    operation.start()
    #expect(calls.current == 1)
  }

  @Test("completionBlock of a composite is called once on each path", arguments: CompositePath.all)
  func completionBlock_ofComposite_isCalledOnce(path: CompositePath) async {
    let operation = path.make()
    let calls = Locked(0)
    let called = Gate()
    operation.completionBlock = {
      calls.increment()
      called.open()
    }
    await path.run(operation)
    await called.wait()
    #expect(operation.isFinished)
    #expect(calls.current == 1)
  }

  @Test("completionBlock runs after completion")
  func completionBlock_runs_afterCompletion() async {
    let recorder = EventRecorder<String>()
    let operation = succeeding(1)
    operation.completion = { _ in recorder.record("completion") }
    operation.completionBlock = { recorder.record("completionBlock") }
    operation.start()
    await recorder.wait(forCount: 2)
    #expect(recorder.events == ["completion", "completionBlock"])
  }

  @Test("The children's own completionBlock and completion are theirs: never overwritten")
  func completionBlock_ofChildren_isKept() async {
    let recorder = EventRecorder<String>()
    let own = succeeding(1)
    own.completion = { _ in recorder.record("own completion") }
    own.completionBlock = { recorder.record("own block") }
    let plain = BlockOperation {}
    plain.completionBlock = { recorder.record("plain block") }
    let asynchronous = AsyncPlainOperation { $0.complete() }
    asynchronous.completionBlock = { recorder.record("asynchronous block") }
    let step = succeeding(2)
    step.completionBlock = { recorder.record("step block") }
    let composite = CompositeOperation(operations: [
      own, plain, asynchronous, CompositeOperation(sequence: ListSequence([step])),
    ])
    #expect(await outcomeOfStarting(composite).value?.count == 4)
    await recorder.wait(forCount: 5)
    #expect(
      recorder.events.sorted()
        == ["asynchronous block", "own block", "own completion", "plain block", "step block"])
  }

  @Test("isReady, isExecuting, isFinished and isAsynchronous through its life")
  func states_throughItsLife() {
    let operation = HeldOperation<Int>()
    #expect(operation.isReady && !operation.isExecuting && !operation.isFinished)
    operation.start()
    #expect(operation.isExecuting && !operation.isFinished)
    operation.finish(with: 1)
    #expect(!operation.isExecuting && operation.isFinished)
    #expect(operation.isAsynchronous)
    #expect(CompositeOperation(operations: []).isAsynchronous)
  }
}
