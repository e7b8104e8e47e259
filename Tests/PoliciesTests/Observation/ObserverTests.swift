import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The events of observers, their order and their place.
@Suite("8 Observers", .hangLimit)
struct ObserverTests {
  @Test func observer_ofSuccess_isToldOfStartBeforeMainAndOfEndBeforeParent() async {
    let recorder = EventRecorder<String>()
    let child = SimpleOperation<Int> { operation in
      recorder.record("main")
      operation.finish(with: 7)
    }
    child.completion = { _ in recorder.record("completion") }
    child.addObserver { [weak child] event in
      recorder.record("\(event), finished: \(child?.isFinished == true)")
    }
    let parent = child.map { value in
      recorder.record("parent")
      return value
    }
    _ = await outcomeOfStarting(parent)
    #expect(
      recorder.events == [
        "started, finished: false", "main", "completion", "settled: success(7), finished: true", "parent",
      ])
  }

  @Test func observer_ofCompositionCancelledBeforeStart_isToldOfCancelAndEndOnly() {
    for operation in [CompositeOperation(operations: [succeeding(1)]), succeeding(1).map { $0 }] as [SettlingOperation]
    {
      let events = EventRecorder<String>()
      operation.addObserver { events.record("\($0.kind)") }
      operation.addTreeObserver { inner, event in
        if inner !== operation { events.record("inside: \(event.kind)") }
      }
      operation.cancel()
      operation.start()
      #expect(events.events == ["cancelled", "settled"])
    }
  }

  @Test func observer_ofCompositionThatHasNotStarted_isToldOfNoProgress() {
    let running = HeldOperation<Int>()
    running.start()
    let whole = all([running])
    let events = EventRecorder<String>()
    whole.addObserver { events.record("\($0)") }
    running.reportProgress(0.5)
    #expect(events.events == [])
    whole.start()
    #expect(events.events.prefix(2) == ["started", "progress: 0.5"])
    running.finish(with: 1)
  }

  @Test func observer_ofFailureAndCancel_isToldOfEach() async {
    let events = EventRecorder<String>()
    let failing = SimpleOperation<Int> { $0.reject(with: TestError.first) }
    failing.addObserver { events.record("\($0)") }
    failing.start()
    #expect(events.events == ["started", "settled: failure(test error first)"])

    let cancelled = EventRecorder<String>()
    let held = HeldOperation<Int>()
    held.addObserver { cancelled.record("\($0)") }
    held.onCancel = { cancelled.record("onCancel") }
    held.start()
    held.cancel()
    held.cancel()
    held.finish(with: 1)
    held.cancel()
    #expect(cancelled.events == ["started", "cancelled", "onCancel", "settled: cancelled"])
  }

  @Test func observer_ofOperationCancelledBeforeStart_isToldOfCancelAndEnd() {
    let events = EventRecorder<String>()
    let operation = SimpleOperation<Int> { $0.finish(with: 1) }
    operation.addObserver { events.record("\($0)") }
    operation.cancel()
    #expect(events.events == ["cancelled"])
    operation.start()
    #expect(events.events == ["cancelled", "settled: cancelled"])
  }

  @Test func observer_ofOperationSettledBeforeStart_isToldOfEndOnce() {
    let events = EventRecorder<String>()
    let operation = SimpleOperation<Int>()
    operation.addObserver { events.record("\($0)") }
    operation.finish(with: 1)
    operation.start()
    #expect(events.events == ["settled: success(1)"])
  }

  @Test func observer_ofOperationThatSettlesAsCancelled_isToldOfEndOnly() {
    let events = EventRecorder<String>()
    let operation: SimpleOperation<Int> = cancelling()
    operation.addObserver { events.record("\($0)") }
    operation.start()
    #expect(events.events == ["started", "settled: cancelled"])
  }

  @Test func observer_ofOperationSettledWhileItWaitsInQueue_isToldOfEndWhenFinished() async {
    let events = EventRecorder<String>()
    let queue = OperationQueue(limit: 1, suspended: true)
    let operation = SimpleOperation<Int>()
    operation.addObserver { [weak operation] event in events.record("\(event) \(operation?.isFinished == true)") }
    queue.addOperation(operation)
    operation.finish(with: 1)
    queue.isSuspended = false
    await finished(operation)
    await events.wait(forCount: 1)
    #expect(events.events == ["settled: success(1) true"])
  }

  @Test func observer_addedWhileRunning_isToldOfWhatComes() {
    let events = EventRecorder<String>()
    let operation = HeldOperation<Int>()
    operation.start()
    operation.addObserver { events.record("\($0)") }
    #expect(events.events == [])
    operation.finish(with: 2)
    #expect(events.events == ["settled: success(2)"])
  }

  @Test func observer_addedToSettledOperation_isToldOfEndAtOnce() {
    let events = EventRecorder<String>()
    let operation = succeeding(3)
    operation.start()
    operation.addObserver { events.record("\($0)") }
    #expect(events.events == ["settled: success(3)"])
  }

  @Test func observers_several_areToldInTheOrderOfAdding() {
    let events = EventRecorder<String>()
    let operation = succeeding(1)
    for name in ["a", "b"] { operation.addObserver { events.record("\(name) \($0)") } }
    operation.start()
    #expect(events.events == ["a started", "b started", "a settled: success(1)", "b settled: success(1)"])
  }

  @Test func observer_ofComposites_isToldOfChildren() async {
    for isSequence in [false, true] {
      let events = EventRecorder<String>()
      let children = [succeeding(1, named: "one"), succeeding(2, named: "two")]
      let composite =
        isSequence
        ? CompositeOperation(sequence: ListSequence(children)) : CompositeOperation(operations: children)
      composite.addObserver { event in
        switch event.kind {
        case .childAdded: events.record(event.child?.name ?? "")
        case .started, .cancelled, .settled: events.record("\(event.kind)")
        default: break
        }
      }
      _ = await outcomeOfStarting(composite)
      #expect(events.events == ["started", "one", "two", "settled"])
    }
  }

  @Test func observers_onTheMainActor_areToldInTheOrderOfAdding() async {
    for _ in 0..<500 {
      let operation = succeeding(1).map { $0 + 1 }
      let calls = EventRecorder<String>()
      for number in 0..<4 { operation.addMainActorObserver { calls.record("\($0.kind) \(number)") } }
      operation.start()
      await calls.wait { $0.count { $0.hasPrefix("settled") } == 4 }
      for kind in ["started", "settled"] {
        let told = calls.events.filter { $0.hasPrefix(kind) }
        #expect(told == (0..<4).map { "\(kind) \($0)" })
      }
    }
  }
}
