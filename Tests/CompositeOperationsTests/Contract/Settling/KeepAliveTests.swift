import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Releasing references never stops running work; an operation that no code can settle is released.
@Suite("3.1.5 What keeps an operation alive", .hangLimit)
struct KeepAliveTests {
  @Test("3.1.5 A body's captures keep the operation: dropped while executing, it completes")
  func drop_whileBodyHoldsIt_completes() async {
    let spy = CompletionSpy<Int>()
    let gate = Gate()
    do {
      let operation = SimpleOperation<Int> { operation in gate.whenOpen { operation.finish(with: 1) } }
      operation.completion = spy.completion
      operation.start()
    }
    gate.open()
    #expect(await spy.first().value == 1)
  }

  @Test("3.1.5 Its task keeps an AsyncOperation: dropped while executing, it completes")
  func drop_whileTaskRuns_completes() async {
    let spy = CompletionSpy<Int>()
    let gate = Gate()
    let started = Gate()
    do {
      let operation = AsyncOperation<Int> {
        started.open()
        await gate.wait()
        return 1
      }
      operation.completion = spy.completion
      operation.start()
    }
    await started.wait()
    gate.open()
    #expect(await spy.first().value == 1)
  }

  @Test("3.1.5 Its running children keep a parallel composite: dropped, it completes")
  func drop_whileParallelRuns_completes() async {
    let spy = CompletionSpy<[any Sendable]>()
    let gate = Gate()
    let started = Gate()
    await onWorker {
      let child = SimpleOperation<Int> { operation in
        started.open()
        gate.whenOpen { operation.finish(with: 1) }
      }
      let composite = CompositeOperation(operations: [child, succeeding(2)])
      composite.completion = spy.completion
      composite.start()
    }
    await started.wait()
    gate.open()
    #expect(await spy.first().value as? [Int] == [1, 2])
  }

  @Test("3.1.5 Its running step keeps a sequential composite: dropped, every later step runs")
  func drop_whileSequenceRuns_completes() async {
    let spy = CompletionSpy<[any Sendable]>()
    let gate = Gate()
    let started = Gate()
    await onWorker {
      let first: @Sendable (Operation?) -> Operation? = { _ in
        SimpleOperation<Int> { operation in
          started.open()
          gate.whenOpen { operation.finish(with: 1) }
        }
      }
      let composite = CompositeOperation(
        sequence: LinearSequence(first, { _ in succeeding(2) }, { _ in AsyncOperation { 3 } }, { _ in succeeding(4) }))
      composite.completion = spy.completion
      composite.start()
    }
    await started.wait()
    gate.open()
    #expect(await spy.first().value as? [Int] == [1, 2, 3, 4])
  }

  @Test("3.1.5 A running upstream keeps the released composition, which completes")
  func drop_whileUpstreamRuns_completes() async {
    let spy = CompletionSpy<String>()
    let gate = Gate()
    let started = Gate()
    await onWorker {
      let upstream = SimpleOperation<Int> { operation in
        started.open()
        gate.whenOpen { operation.finish(with: 1) }
      }
      let composed = upstream.map { $0 + 1 }.then { succeeding("\($0)") }
      composed.completion = spy.completion
      composed.start()
    }
    await started.wait()
    gate.open()
    #expect(await spy.first().value == "2")
  }

  @Test("3.1.5 A queue keeps its operations")
  func drop_whileQueued_completes() async {
    let spy = CompletionSpy<Int>()
    let queue = OperationQueue(limit: 1, suspended: true)
    await onWorker {
      let operation = succeeding(1)
      operation.completion = spy.completion
      queue.addOperation(operation)
    }
    queue.isSuspended = false
    #expect(await spy.first().value == 1)
  }

  @Test("3.1.5 Nothing keeps an operation that never started")
  func drop_beforeStart_isReleased() async {
    let references: [WeakReference<Operation>] = {
      let simple = HeldOperation<Int>()
      let composite = CompositeOperation(operations: [simple, BlockOperation {}])
      let sequence = CompositeOperation(sequence: ListSequence([succeeding(1)]))
      let mapped = succeeding(1).map { $0 }
      let zipped = zip(succeeding(1), succeeding("a"))
      return [simple, composite, sequence, mapped, zipped].map { WeakReference($0) }
    }()
    for reference in references { await untilReleased(reference) }
  }

  @Test("3.1.5 Nothing keeps an operation that settled", arguments: SimplePath.all)
  func drop_afterSettling_isReleased(path: SimplePath) async {
    let reference = await {
      let operation = path.make()
      await path.run(operation)
      _ = await settled(operation)
      return WeakReference(operation)
    }()
    await untilReleased(reference)
  }

  @Test("3.1.5 A composite keeps its running child: the caller may drop both handles of the child")
  func dropChild_whileCompositeRuns_completes() async {
    let reference = Locked<WeakReference<HeldOperation<Int>>?>(nil)
    let composite = {
      let child = HeldOperation<Int>()
      reference.withLock { $0 = WeakReference(child) }
      return CompositeOperation(operations: [child])
    }()
    await onWorker { composite.start() }
    let child = reference.current?.object
    await child?.started.wait()
    child?.finish(with: 1)
    #expect(await settled(composite).value as? [Int] == [1])
  }
}
