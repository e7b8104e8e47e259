import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.3 Sequential: how the delegate is asked", .hangLimit)
struct DelegateTests {
  @Test("3.3 It is asked with nil, then with each operation that finished")
  func delegate_isAskedWithPrevious() async {
    let steps = [succeeding(1, named: "a"), failing(TestError.first, named: "b"), succeeding(3, named: "c")]
    let recorder = EventRecorder<String>()
    let composite = CompositeOperation(
      sequence: ClosureSequence { previous in
        recorder.record("\(previous?.name ?? "nil") \(previous?.isFinished ?? true)")
        guard let previous else { return steps[0] }
        let index = steps.firstIndex { $0 === previous } ?? steps.endIndex
        return index + 1 < steps.count ? steps[index + 1] : nil
      })
    _ = await outcomeOfStarting(composite)
    #expect(recorder.events == ["nil true", "a true", "b true", "c true"])
  }

  @Test("3.3 It is asked after failures and cancellations too")
  func delegate_isAskedAfterFailures() async {
    let recorder = EventRecorder<String>()
    let composite = CompositeOperation(
      sequence: ClosureSequence { previous in
        switch previous?.anyOutcome {
        case nil: return failing(TestError.first)
        case .failure:
          recorder.record("after failure")
          return cancelling()
        case .cancelled:
          recorder.record("after cancel")
          return succeeding("fallback")
        case .success: return nil
        }
      })
    #expect(await outcomeOfStarting(composite).value as? [String] == ["fallback"])
    #expect(recorder.events == ["after failure", "after cancel"])
  }

  @Test("3.3 It is asked one call at a time, and the steps run one at a time")
  func delegate_isNeverAskedTwiceAtOnce() async {
    let gauge = ConcurrencyGauge()
    let asked = Locked(0)
    let composite = CompositeOperation(
      sequence: ClosureSequence { _ in
        gauge.enter()
        defer { gauge.leave() }
        guard asked.increment() <= 300 else { return nil }
        return AsyncOperation<Void> {
          gauge.enter()
          await Task.yield()
          gauge.leave()
        }
      })
    #expect(await outcomeOfStarting(composite).value?.count == 300)
    #expect(gauge.maximum == 1)
    #expect(asked.current == 301)
  }

  @Test("3.3 A mutating delegate keeps its state between calls")
  func delegate_mutating_keepsItsState() async {
    struct Countdown: CompositeOperation.Sequence {
      var remaining: Int
      mutating func nextOperation(after previous: Operation?) -> Operation? {
        guard remaining > 0 else { return nil }
        defer { remaining -= 1 }
        return succeeding(remaining)
      }
    }
    let composite = CompositeOperation(sequence: Countdown(remaining: 3))
    #expect(await outcomeOfStarting(composite).value as? [Int] == [3, 2, 1])
  }

  @Test("3.3 Each composite has its own copy of a value-type sequence")
  func sequence_usedTwice_startsAfresh() async {
    let linear = LinearSequence({ _ in succeeding(1) }, { _ in succeeding(2) })
    for _ in 0..<3 {
      #expect(await outcomeOfStarting(CompositeOperation(sequence: linear)).value as? [Int] == [1, 2])
    }
  }

  @Test("3.3 operations is the current child, childOutcomes has all children")
  func operations_whileRunning_isTheCurrentChild() async {
    let second = HeldOperation<Int>("second")
    let composite = CompositeOperation(sequence: ListSequence([succeeding(1, named: "first"), second, Doubling(2)]))
    #expect(composite.operations.isEmpty)
    await onWorker { composite.start() }
    await second.started.wait()
    #expect(composite.operations.map(\.name) == ["second"])
    #expect(composite.childOutcomes.map { $0?.value as? Int } == [1, nil])
    second.finish(with: 2)
    _ = await settled(composite)
    #expect(composite.childOutcomes.map { $0?.value as? Int } == [1, 2, 4])
  }

  @Test("3.4 A step is released when the next one has begun, and its value is kept")
  func step_thatHasSucceeded_isReleased() async {
    let second = HeldOperation<Int>("second"), first = Locked<WeakReference<Operation>?>(nil)
    let composite = CompositeOperation(
      sequence: ClosureSequence { previous in
        guard let previous else {
          let made = succeeding(1)
          first.withLock { $0 = WeakReference(made) }
          return made
        }
        return previous === second ? nil : second
      })
    await onWorker { composite.start() }
    await second.started.wait()
    await until(first.current?.object == nil)
    second.finish(with: 2)
    #expect(await settled(composite).value as? [Int] == [1, 2])
  }

  @Test("3.3 A step with unmet dependencies starts when they are met")
  func step_withUnmetDependency_waits() async {
    let dependency = HeldOperation<Int>()
    let step = succeeding(1)
    step.addDependency(dependency)
    let composite = CompositeOperation(sequence: ListSequence([step]))
    await onWorker { composite.start() }
    dependency.start()
    #expect(composite.outcome == nil)
    dependency.finish(with: 0)
    #expect(await settled(composite).value as? [Int] == [1])
  }

  @Test("3.3 Steps of every kind: plain, asynchronous plain, conforming, composite")
  func steps_ofEveryKind_run() async {
    let composite = CompositeOperation(
      sequence: ListSequence([
        BlockOperation {}, AsyncPlainOperation { $0.complete() }, ConformingOperation<Int> { .success(3) },
        CompositeOperation(operations: [succeeding(4)]), AsyncOperation { 5 },
      ]))
    let values = await outcomeOfStarting(composite).value
    #expect(values?.count == 5)
    #expect(values?[2] as? Int == 3)
    #expect((values?[3] as? [any Sendable])?.first as? Int == 4)
    #expect(values?[4] as? Int == 5)
  }

  @Test("3.3 isSuspended: no further step starts until it is false again")
  func suspended_whileRunning_startsNoFurtherStep() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let composite = CompositeOperation(sequence: ListSequence([first, second]))
    await onWorker { composite.start() }
    await first.started.wait()
    composite.isSuspended = true
    first.finish(with: 1)
    _ = await outcomeOfStarting(CompositeOperation(sequence: ListSequence([succeeding(1), succeeding(2)])))
    #expect(!second.started.isOpen)
    composite.isSuspended = false
    await second.started.wait()
    second.finish(with: 2)
    #expect(await settled(composite).value as? [Int] == [1, 2])
  }

  @Test("3.3 A delegate that suspends the composite: the operation that it returns waits", arguments: [true, false])
  func suspended_byItsDelegate_holdsTheChild(isCancelled: Bool) async {
    let held = HeldOperation<Int>()
    let box = Locked<CompositeOperation?>(nil)
    let hasSuspended = Gate()
    let composite = CompositeOperation(
      sequence: ClosureSequence { previous in
        guard previous == nil else { return nil }
        box.current?.isSuspended = true
        hasSuspended.open()
        return held
      })
    box.withLock { $0 = composite }
    await onWorker { composite.start() }
    await hasSuspended.wait()
    await settleDown()
    #expect(!held.started.isOpen)
    if isCancelled {
      composite.cancel()
      #expect(await settled(composite).isCancelled && held.isFinished && !held.started.isOpen)
    } else {
      composite.isSuspended = false
      await held.started.wait()
      held.finish(with: 1)
      #expect(await settled(composite).value as? [Int] == [1])
    }
    box.withLock { $0 = nil }
  }
}
