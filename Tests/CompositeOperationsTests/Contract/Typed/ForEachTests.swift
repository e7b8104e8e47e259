import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("Typed: forEach", .hangLimit)
struct ForEachTests {
  @Test("forEach: the values in the order of the items")
  func forEach_succeeding_inOrder() async {
    let each = forEach(0..<100, maxConcurrent: 7) { number in
      AsyncOperation {
        if number.isMultiple(of: 2) { await Task.yield() }
        return number * 2
      }
    }
    #expect(await outcomeOfStarting(each).value == (0..<100).map { $0 * 2 })
  }

  @Test("forEach: of no items, an empty array, and nothing is made")
  func forEach_ofNone_succeeds() async {
    let made = Gate()
    let each = forEach([Int](), maxConcurrent: 3) { number in
      made.open()
      return succeeding(number)
    }
    #expect(await outcomeOfStarting(each).value == [])
    #expect(!made.isOpen)
  }

  @Test("forEach: any sequence of items, also a lazy or single-pass one")
  func forEach_ofLazySequence_succeeds() async {
    var number = 0
    let items = AnyIterator {
      number += 1
      return number <= 5 ? number : nil
    }
    let each = forEach(AnySequence(items), maxConcurrent: 2) { succeeding($0) }
    #expect(await outcomeOfStarting(each).value == [1, 2, 3, 4, 5])
  }

  @Test("forEach: operations are made only when they can run")
  func forEach_makesOperations_whenTheyCanRun() async {
    let made = EventRecorder<Int>()
    let held = (0..<6).map { _ in HeldOperation<Int>() }
    let each = forEach(0..<6, maxConcurrent: 2) { number in
      made.record(number)
      return held[number]
    }
    #expect(made.events.isEmpty)
    await onWorker { each.start() }
    await held[0].started.wait()
    await held[1].started.wait()
    #expect(Set(made.events) == [0, 1])  // by two workers at the same time
    held[1].finish(with: 1)
    await held[2].started.wait()
    #expect(made.events.count == 3)
    for number in [0, 2, 3, 4, 5] {
      await held[number].started.wait()
      held[number].finish(with: number)
    }
    #expect(await settled(each).value == [0, 1, 2, 3, 4, 5])
  }

  /// How the wait of an operation ends.
  enum WaitEnd: CaseIterable {
    case dependencyFinishes, dependencyInsideFinishes, dependencyIsRemoved
    case otherCodeSettlesIt, itIsCancelled, allIsCancelled
  }

  @Test("forEach: an operation that waits is made once", arguments: WaitEnd.allCases)
  func forEach_operationThatWaits_isMadeOnce(end: WaitEnd) async {
    let made = EventRecorder<Int>()
    let (held, waiting) = (HeldOperation<Int>(), succeeding(1))
    let second = Gate()
    waiting.addDependency(held)
    let each = forEach([1, 2], maxConcurrent: 1) { number in
      made.record(number)
      if number == 2 {
        second.open()
        return succeeding(2)
      }
      return end == .dependencyInsideFinishes ? waiting.condition(Condition { _ in true }) : waiting
    }
    await onWorker { each.start() }
    await second.wait()
    await onWorker {
      switch end {
      case .dependencyFinishes, .dependencyInsideFinishes:
        held.start()
        held.finish(with: 0)
      case .dependencyIsRemoved: waiting.removeDependency(held)
      case .otherCodeSettlesIt: waiting.finish(with: 1)
      case .itIsCancelled: waiting.cancel()
      case .allIsCancelled: each.cancel()
      }
    }
    let outcome = await settled(each)
    if end == .itIsCancelled || end == .allIsCancelled {
      #expect(outcome.isCancelled)
    } else {
      #expect(outcome.value == [1, 2])
    }
    #expect(made.events == [1, 2])
  }

  @Test("forEach: maxConcurrent is held, asynchronous work included", arguments: 1...3)
  func forEach_maxConcurrent_isHeld(limit: Int) async {
    let gauge = ConcurrencyGauge()
    let each = forEach(0..<100, maxConcurrent: limit) { number in
      AsyncOperation {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return number
      }
    }
    #expect(await outcomeOfStarting(each).value == Array(0..<100))
    #expect(gauge.maximum <= limit)
  }

  @Test("forEach: one fails: its own error, running ones are cancelled, no further one is made")
  func forEach_oneFailing_failsWithItsError() async {
    let made = EventRecorder<Int>()
    let held = (0..<5).map { _ in HeldOperation<Int>() }
    let each = forEach(0..<5, maxConcurrent: 2) { number in
      made.record(number)
      return held[number]
    }
    await onWorker { each.start() }
    await held[0].started.wait()
    await held[1].started.wait()
    held[0].reject(with: TestError.first)
    await held[1].cancelRequested.wait()
    #expect(each.outcome == nil)
    held[1].finish(with: 1)
    #expect(await settled(each).error as? TestError == .first)
    #expect(Set(made.events) == [0, 1])  // by two workers at the same time
  }

  @Test("forEach: an error that make throws is the failure, running ones are cancelled")
  func forEach_makeThrowing_fails() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let each = forEach(0..<5, maxConcurrent: 2) { number in
      guard number == 0 else { throw TestError.first }
      return held
    }
    #expect(await outcomeOfStarting(each).error as? TestError == .first)
    #expect(held.isFinished)
  }

  @Test("forEach: cancelling it cancels what runs, and no further one is made")
  func forEach_cancelled_makesNoMore() async {
    let made = EventRecorder<Int>()
    let each = forEach(0..<100, maxConcurrent: 2) { number in
      made.record(number)
      return HeldOperation<Int>(settlesWhenCancelled: true)
    }
    await onWorker { each.start() }
    await made.wait(forCount: 2)
    each.cancel()
    #expect(await settled(each).isCancelled)
    #expect(Set(made.events) == [0, 1])  // by two workers at the same time
  }

  @Test("forEach: one is cancelled from outside: it is .cancelled")
  func forEach_oneCancelled_isCancelled() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let each = forEach(0..<10, maxConcurrent: 1) { _ in held }
    await onWorker { each.start() }
    await held.started.wait()
    held.cancel()
    #expect(await settled(each).isCancelled)
  }

  @Test("forEach: composites can be made too, and nest")
  func forEach_ofComposites_nests() async {
    let each = forEach(1...3, maxConcurrent: 2) { count in
      forEach(0..<count, maxConcurrent: 2) { succeeding($0) }
    }
    #expect(await outcomeOfStarting(each).value == [[0], [0, 1], [0, 1, 2]])
  }

  @Test("forEach: without a limit all can run at once")
  func forEach_withoutLimit_runsAllAtOnce() async {
    let (all, count) = (Gate(), Locked(0))
    let each = forEach(0..<50) { number in
      AsyncOperation {
        if count.increment() == 50 { all.open() }
        await all.wait()
        return number
      }
    }
    #expect(await outcomeOfStarting(each).value == Array(0..<50))
  }
}
