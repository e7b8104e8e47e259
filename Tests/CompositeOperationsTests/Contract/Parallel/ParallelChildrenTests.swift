import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.2 Parallel: kinds of children and their order", .hangLimit)
struct ParallelChildrenTests {
  @Test("3.2 A plain child counts as success with ()")
  func plainChild_finishing_countsAsVoid() async throws {
    let ran = Gate()
    let composite = CompositeOperation(operations: [BlockOperation { ran.open() }])
    let values = try #require(await outcomeOfStarting(composite).value)
    #expect(ran.isOpen)
    #expect(values.count == 1)
    #expect(values[0] is Void)
  }

  @Test("3.2 A plain child that was cancelled counts as cancelled")
  func plainChild_cancelled_countsAsCancelled() async {
    let plain = BlockOperation {}
    plain.cancel()
    let composite = CompositeOperation(operations: [plain])
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(composite.childOutcomes.map { Ending($0) } == [.cancelled])
    #expect(plain.isFinished)
  }

  @Test("3.2 A child's unmet dependency on another child: it starts when that is met")
  func child_dependingOnSibling_startsAfterIt() async {
    let recorder = EventRecorder<String>()
    let second = succeeding(2, named: "second", recorder: recorder)
    let first = succeeding(1, named: "first", recorder: recorder)
    second.addDependency(first)
    let composite = CompositeOperation(operations: [second, first])
    #expect(await outcomeOfStarting(composite).value as? [Int] == [2, 1])
    #expect(recorder.events == ["first", "second"])
  }

  @Test("3.2 A child's unmet dependency outside the composite: it starts when that is met", arguments: [true, false])
  func child_dependingOnForeign_startsAfterIt(isPlain: Bool) async {
    let recorder = EventRecorder<String>()
    let foreign: Operation =
      isPlain
      ? BlockOperation { recorder.record("foreign") } : succeeding(0, named: "foreign", recorder: recorder)
    let child = succeeding(1, named: "child", recorder: recorder)
    child.addDependency(foreign)
    let other = succeeding(2)
    let composite = CompositeOperation(operations: [child, other])
    await onWorker { composite.start() }
    #expect(await settled(other).value == 2)
    #expect(recorder.events.isEmpty)
    OperationQueue().addOperation(foreign)
    #expect(await settled(composite).value as? [Int] == [1, 2])
    #expect(recorder.events == ["foreign", "child"])
  }

  @Test("3.2 A dependency is met by finishing, also when it failed or was cancelled")
  func child_dependingOnFailed_starts() async {
    let failed = failing(TestError.first)
    failed.start()
    let child = succeeding(1)
    child.addDependency(failed)
    #expect(await outcomeOfStarting(CompositeOperation(operations: [child])).value as? [Int] == [1])
  }

  @Test("3.2 An already finished child counts with its outcome")
  func child_finishedBefore_countsWithItsOutcome() async {
    let succeeded = succeeding(1)
    succeeded.start()
    let plain = BlockOperation {}
    plain.start()
    let composite = CompositeOperation(operations: [succeeded, Doubling(1), plain])
    let values = await outcomeOfStarting(composite).value
    #expect(values?[0] as? Int == 1)
    #expect(values?[1] as? Int == 2)
    #expect(values?[2] is Void)

    let failed = failing(TestError.first)
    failed.start()
    let failing = CompositeOperation(operations: [failed])
    _ = await outcomeOfStarting(failing)
    #expect(failing.failures == [.first])

    let cancelled = cancelling()
    cancelled.start()
    #expect(await outcomeOfStarting(CompositeOperation(operations: [cancelled])).isCancelled)
  }

  @Test("3.2 A child that settles before it is started counts with its outcome and its main never runs")
  func child_settledWhileWaiting_countsWithItsOutcome() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [first, second])
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    await first.started.wait()
    second.finish(with: 2)
    first.finish(with: 1)
    #expect(await settled(composite).value as? [Int] == [1, 2])
    #expect(!second.started.isOpen)
  }

  @Test("3.2 A child that will not run: .cancelled, completion called, isFinished announced to all waiters")
  func child_notRun_tellsEveryone() async {
    let recorder = EventRecorder<String>()
    let child = succeeding(1, named: "main", recorder: recorder)
    child.completion = { outcome in recorder.record("completion \(outcome.isCancelled)") }
    let blockRan = Gate()
    child.completionBlock = { blockRan.open() }
    let dependent = BlockOperation {}
    dependent.addDependency(child)
    OperationQueue().addOperation(dependent)
    let waiter = Task { try await child.value }
    let composite = CompositeOperation(operations: [failing(TestError.first), child])
    composite.maxConcurrentOperationCount = 1
    _ = await outcomeOfStarting(composite)
    #expect(child.isFinished)
    await #expect(throws: CancellationError.self) { try await waiter.value }
    await finished(dependent)
    await blockRan.wait()
    #expect(recorder.events == ["completion true"])
  }

  @Test("3.2 A plain child that will not run gets cancel(), then start()")
  func plainChild_notRun_isCancelledThenStarted() async {
    let recorder = EventRecorder<String>()
    let plain = RecordingPlainOperation("plain", recorder: recorder)
    let composite = CompositeOperation(operations: [failing(TestError.first), plain])
    composite.maxConcurrentOperationCount = 1
    _ = await outcomeOfStarting(composite)
    #expect(recorder.events == ["plain cancel", "plain start"])
    #expect(plain.isFinished)
    #expect(plain.isCancelled)
  }

  @Test("3.2 A child that has settled, and whose completion still runs, counts with its outcome")
  func child_whoseCompletionRuns_countsWithItsOutcome() async {
    let (completes, mayGoOn) = (Gate(), Gate())
    let child = succeeding(1)
    child.completion = { _ in
      completes.open()
      mayGoOn.waitBlocking()
    }
    async let started: Void = onWorker { child.start() }
    await completes.wait()
    let composite = CompositeOperation(operations: [child, succeeding(2)])
    await onWorker { composite.start() }
    #expect(!composite.isFinished)
    mayGoOn.open()
    #expect(await settled(composite).value as? [Int] == [1, 2])
    await started
  }

  @Test("3.2 Children start by queuePriority, then in order")
  func children_withPriorities_startByPriorityThenOrder() async {
    let recorder = EventRecorder<String>()
    let priorities: [Operation.QueuePriority] = [.low, .normal, .veryHigh, .normal, .veryLow, .high, .veryHigh]
    let children: [Operation] = priorities.enumerated().map { index, priority in
      let child = succeeding(index, named: "\(index)", recorder: recorder)
      child.queuePriority = priority
      return child
    }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = 1
    _ = await outcomeOfStarting(composite)
    #expect(recorder.events == ["2", "6", "5", "1", "3", "0", "4"])
    #expect(composite.results as? [Int] == Array(0..<7))
  }

  @Test("3.2 Children of equal priority start in order")
  func children_ofEqualPriority_startInOrder() async {
    let recorder = EventRecorder<Int>()
    let children = (0..<200).map { number in
      SimpleOperation<Void> { operation in
        recorder.record(number)
        operation.finish()
      }
    }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = 1
    _ = await outcomeOfStarting(composite)
    #expect(recorder.events == Array(0..<200))
  }
}
