import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Delegates, transforms and `next` bodies run where the leaves run, never inside a `finish()` of
/// other code.
@Suite("3.3 Where delegates, transforms and children run", .hangLimit)
struct WhereDelegatesRunTests {
  @Test("3.3 A delegate never runs inside a finish() of other code")
  func delegate_runsOutsideFinish() async {
    let returned = Gate()
    let held = HeldOperation<Int>()
    let composite = CompositeOperation(
      sequence: ClosureSequence { previous in
        guard previous != nil else { return held }
        returned.waitBlocking()
        return nil
      })
    await onWorker { composite.start() }
    await held.started.wait()
    await onThread {
      held.finish(with: 1)
      returned.open()
    }
    #expect(await settled(composite).value as? [Int] == [1])
  }

  @Test("3.3 A transform never runs inside a finish() of other code")
  func transform_runsOutsideFinish() async {
    let returned = Gate()
    let held = HeldOperation<Int>()
    let mapped = held.map { value in
      returned.waitBlocking()
      return value
    }
    await onWorker { mapped.start() }
    await held.started.wait()
    await onThread {
      held.finish(with: 1)
      returned.open()
    }
    #expect(await settled(mapped).value == 1)
  }

  @Test("3.3 A next body and its operation never run inside a finish() of other code")
  func next_runsOutsideFinish() async {
    let returned = Gate()
    let held = HeldOperation<Int>()
    let composed = held.then { value in
      returned.waitBlocking()
      return succeeding(value)
    }
    await onWorker { composed.start() }
    await held.started.wait()
    await onThread {
      held.finish(with: 1)
      returned.open()
    }
    #expect(await settled(composed).value == 1)
  }

  @Test("3.3 A recover handler never runs inside a reject() of other code")
  func handler_runsOutsideReject() async {
    let returned = Gate()
    let held = HeldOperation<Int>()
    let composed = held.recover { _ in
      returned.waitBlocking()
      return succeeding(1)
    }
    await onWorker { composed.start() }
    await held.started.wait()
    await onThread {
      held.reject(with: TestError.first)
      returned.open()
    }
    #expect(await settled(composed).value == 1)
  }

  @Test("3.3 The next child of a parallel composite never runs inside a finish() of other code")
  func nextChild_runsOutsideFinish() async {
    let returned = Gate()
    let held = HeldOperation<Int>()
    let next = SimpleOperation<Int> { operation in
      returned.waitBlocking()
      operation.finish(with: 2)
    }
    let composite = CompositeOperation(operations: [held, next])
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    await held.started.wait()
    await onThread {
      held.finish(with: 1)
      returned.open()
    }
    #expect(await settled(composite).value as? [Int] == [1, 2])
  }

  @Test("3.3 start() of a composite returns without running a child on the caller's thread")
  func start_returns_withoutRunningChildren() async {
    let returned = Gate()
    let makeChild: @Sendable () -> SimpleOperation<Int> = {
      SimpleOperation { operation in
        returned.waitBlocking()
        operation.finish(with: 1)
      }
    }
    let composites = [
      CompositeOperation(operations: [makeChild()]),
      CompositeOperation(sequence: ListSequence([makeChild()])),
      CompositeOperation(
        sequence: ClosureSequence { _ in
          returned.waitBlocking()
          return nil
        }),
      CompositeOperation(operations: [CompositeOperation(operations: [makeChild()])]),
    ]
    await onThread {
      for composite in composites { composite.start() }
      returned.open()
    }
    for composite in composites { #expect(await settled(composite).value != nil) }
  }

  @Test("3.3 start() of a typed composition returns without running its parts on the caller's thread")
  func start_ofTyped_returnsWithoutRunning() async {
    let returned = Gate()
    let blocked = SimpleOperation<Int> { operation in
      returned.waitBlocking()
      operation.finish(with: 1)
    }
    let mapped = blocked.map { $0 + 1 }
    await onThread {
      mapped.start()
      returned.open()
    }
    #expect(await settled(mapped).value == 2)
  }

  @Test("3.3 In a given queue, delegates, steps and transforms run in that queue")
  func delegate_withQueue_runsInIt() async {
    let queue = OperationQueue()
    let seen = EventRecorder<Bool>()
    let note: @Sendable () -> Void = { seen.record(OperationQueue.current === queue) }
    let sequence = ClosureSequence { previous in
      note()
      guard previous == nil else { return nil }
      let upstream = SimpleOperation<Int> { operation in
        note()
        operation.finish(with: 1)
      }
      return upstream.map { value -> Int in
        note()
        return value
      }.then { value in
        note()
        return succeeding(value)
      }
    }
    let composite = CompositeOperation(sequence: sequence, operationQueue: queue)
    #expect(await outcomeOfStarting(composite).value as? [Int] == [1])
    #expect(seen.events == [true, true, true, true, true])
  }

  @Test("3.3 Without a queue, delegates and children run off the main thread and outside every task")
  func delegate_withoutQueue_runsOnWorkers() async {
    let seen = EventRecorder<Bool>()
    let note: @Sendable () -> Void = {
      seen.record(Thread.isMainThread || withUnsafeCurrentTask { $0 != nil })
    }
    let composite = CompositeOperation(
      sequence: ClosureSequence { previous in
        note()
        guard previous == nil else { return nil }
        return SimpleOperation<Int> { operation in
          note()
          operation.finish(with: 1)
        }
      })
    composite.start()
    #expect(await settled(composite).value as? [Int] == [1])
    #expect(seen.events == [false, false, false])
  }
}
