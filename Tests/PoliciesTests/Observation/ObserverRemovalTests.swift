import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Removed observers, and what is released with them.
@Suite("8 Observers that leave", .hangLimit)
struct ObserverRemovalTests {
  @Test func observer_removed_isToldNothingMoreAndReleased() async {
    let events = EventRecorder<String>()
    let operation = HeldOperation<Int>()
    let (token, probe) = ObserverRemovalTests.observe(operation, events)
    operation.start()
    token.remove()
    token.remove()
    await untilReleased(probe)
    operation.finish(with: 1)
    token.remove()
    #expect(events.events == ["started"])
  }

  private static func observe(
    _ operation: HeldOperation<Int>, _ events: EventRecorder<String>, onMainActor: Bool = false
  ) -> (ObservationToken, WeakReference<ReleaseProbe>) {
    let probe = ReleaseProbe(Gate())
    let observer: @Sendable (OperationEvent) -> Void = { event in
      probe.touch()
      events.record("\(event)")
    }
    let token =
      onMainActor ? operation.addMainActorObserver { observer($0) } : operation.addObserver(observer)
    return (token, WeakReference(probe))
  }

  @Test func observer_whoseTokenIsDropped_stays() {
    let events = EventRecorder<String>()
    let operation = succeeding(1)
    do {
      let token = operation.addObserver { events.record("\($0)") }
      withExtendedLifetime(token) {}
    }
    operation.start()
    #expect(events.count == 2)
  }

  @Test @MainActor
  func observer_removedWhileEventsWaitForTheMainActor_isReleasedAtOnceAndOthersAreTold() async {
    let events = EventRecorder<String>()
    let operation = HeldOperation<Int>()
    let (token, probe) = ObserverRemovalTests.observe(operation, events, onMainActor: true)
    operation.addMainActorObserver { events.record("second: \($0.kind)") }
    operation.start()
    token.remove()
    #expect(probe.object == nil)
    operation.finish(with: 1)
    await events.wait(forCount: 2)
    #expect(events.events == ["second: started", "second: settled"])
  }

  @Test func observer_removedByEarlierOneInTheSameEvent_isNotTold() {
    let events = EventRecorder<String>()
    let operation = succeeding(1)
    let second = Locked<ObservationToken?>(nil)
    operation.addObserver { _ in second.withLock { $0 }?.remove() }
    let token = operation.addObserver { events.record("\($0)") }
    second.withLock { $0 = token }
    operation.start()
    #expect(events.count == 0)
  }

  @Test func lastObserver_leaving_cancelsIfAskedTo() {
    for (asked, removed) in [(true, 2), (true, 1), (false, 2)] {
      let operation = HeldOperation<Int>()
      operation.cancelsWhenLastObserverLeaves = asked
      #expect(operation.cancelsWhenLastObserverLeaves == asked)
      operation.start()
      let tokens = [operation.addObserver { _ in }, operation.addObserver { _ in }]
      for token in tokens.prefix(removed) { token.remove() }
      #expect(operation.isCancelled == (asked && removed == 2))
      operation.finish(with: 1)
    }
  }

  @Test func lastObserver_leavingAfterTheEnd_cancelsNothing() {
    let operation = succeeding(1)
    operation.cancelsWhenLastObserverLeaves = true
    let token = operation.addObserver { _ in }
    operation.start()
    token.remove()
    #expect(!operation.isCancelled && operation.outcome?.value == 1)
  }

  @Test func lastObserver_leavingFromItsCallback_cancels() {
    let events = EventRecorder<String>()
    let token = Locked<ObservationToken?>(nil)
    let operation = SimpleOperation<Int> { $0.finish(with: $0.isCancelled ? 0 : 1) }
    operation.cancelsWhenLastObserverLeaves = true
    let made = operation.addObserver { event in
      events.record("\(event)")
      token.withLock { $0 }?.remove()
    }
    token.withLock { $0 = made }
    operation.start()
    #expect(events.events == ["started"])
    #expect(operation.outcome?.isCancelled == true)
  }

  @Test func streamReader_cancelledAsLast_cancels() async {
    let operation = HeldOperation<Int>(settlesWhenCancelled: true)
    operation.cancelsWhenLastObserverLeaves = true
    operation.start()
    let stream = operation.events()
    let token = operation.addObserver { _ in }
    let reader = Task { for await _ in stream {} }
    token.remove()
    #expect(!operation.isCancelled)
    reader.cancel()
    await operation.cancelRequested.wait()
    #expect(await settled(operation).isCancelled)
  }
}
