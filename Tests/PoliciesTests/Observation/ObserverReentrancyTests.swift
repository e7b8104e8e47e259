import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Observers that use their operation.
@Suite("8 Observers that interfere", .hangLimit)
struct ObserverReentrancyTests {
  @Test func observer_cancellingAtStart_isToldAfterItReturned() {
    let events = EventRecorder<String>()
    let operation = SimpleOperation<Int> { operation in
      events.record("main, cancelled: \(operation.isCancelled)")
      operation.finish(with: 1)
    }
    operation.addObserver { [weak operation] event in
      if event.kind == .started {
        operation?.cancel()
        events.record("takes effect at once: \(operation?.isCancelled == true)")
      }
      events.record("\(event)")
    }
    operation.start()
    #expect(
      events.events == [
        "takes effect at once: true", "started", "cancelled", "main, cancelled: true", "settled: cancelled",
      ])
  }

  @Test func observer_settlingAtStart_preventsMain() async {
    let events = EventRecorder<String>()
    let operation = SimpleOperation<Int> { _ in events.record("main") }
    operation.addObserver { [weak operation] event in
      if event.kind == .started { operation?.finish(with: 9) }
      events.record("\(event)")
    }
    let outcome = await outcomeOfStarting(operation)
    #expect(outcome.value == 9)
    #expect(events.events == ["started", "settled: success(9)"])
  }

  @Test func observer_cancellingCompositeAtStart_runsNoChild() async {
    let ran = Gate()
    let child = SimpleOperation<Int> { operation in
      ran.open()
      operation.finish(with: 1)
    }
    for composite in [
      CompositeOperation(operations: [child]), CompositeOperation(sequence: ListSequence([succeeding(1)])),
    ] {
      composite.addObserver { [weak composite] event in
        if event.kind == .started { composite?.cancel() }
      }
      #expect(await outcomeOfStarting(composite).isCancelled)
    }
    #expect(!ran.isOpen && child.isFinished)
  }

  @Test func observer_addingObservers_haveThemToldOfWhatComes() {
    let events = EventRecorder<String>()
    let operation = succeeding(1)
    operation.addObserver { [weak operation] event in
      let name = "\(event)"
      events.record(name)
      operation?.addObserver { events.record("added at \(name): \($0)") }
    }
    operation.start()
    #expect(
      events.events == [
        "started", "settled: success(1)", "added at started: settled: success(1)",
        "added at settled: success(1): settled: success(1)",
      ])
  }

  @Test func observer_settlingWhileToldOfProgress_isToldLater() {
    let events = EventRecorder<String>()
    let operation = HeldOperation<Int>()
    operation.addObserver { [weak operation] event in
      if event.kind == .progress {
        operation?.finish(with: 1)
        events.record("outcome: \(operation?.outcome?.value ?? 0), finished: \(operation?.isFinished == true)")
      }
      events.record("\(event)")
    }
    operation.start()
    operation.reportProgress(0.5)
    #expect(
      events.events == ["started", "outcome: 1, finished: true", "progress: 0.5", "settled: success(1)"])
  }

  @Test func observer_lettingGoOfTheOperation_isToldToTheEnd() async {
    let held = Locked<HeldOperation<Int>?>(HeldOperation<Int>())
    let events = EventRecorder<String>()
    let reference = held.withLock { WeakReference($0!) }
    held.withLock { operation in
      _ = operation!.addObserver { event in
        events.record("\(event)")
        if event.kind == .settled { held.withLock { $0.take() }.map { withExtendedLifetime($0) {} } }
      }
    }
    held.withLock { $0 }?.start()
    await onWorker { _ = held.withLock { $0 }?.finish(with: 1) }
    #expect(events.events == ["started", "settled: success(1)"])
    await untilReleased(reference)
  }

  @Test func parent_whileAnotherThreadTellsObservers_goesOnAfterwards() async {
    let entered = Gate()
    let leave = Gate()
    let events = EventRecorder<String>()
    let child = HeldOperation<Int>()
    child.addObserver { event in
      if event.kind == .cancelled {
        entered.open()
        leave.waitBlocking()
      }
      events.record("\(event)")
    }
    let parent = CompositeOperation(operations: [child])
    parent.completion = { _ in events.record("parent") }
    DispatchQueue.global().async { parent.start() }
    await child.started.wait()
    DispatchQueue.global().async { child.cancel() }
    await entered.wait()
    await onWorker { _ = child.finish(with: 1) }
    #expect(child.isFinished && !parent.isFinished)
    leave.open()
    _ = await settled(parent)
    #expect(events.events == ["started", "cancelled", "settled: cancelled", "parent"])
  }
}
