import CompositeOperationsTestKit
import TestSupport
import Testing

@testable import CompositeOperations

@Suite("Timers: the timekeeper", .hangLimit)
struct TimekeeperTests {
  private struct ValueClock: Clock, Hashable {
    let name: String
    var now: ContinuousClock.Instant { ContinuousClock().now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
  }

  @Test("One for each clock: of the standard library, an object, a value that is Hashable")
  func of_sameClock_isTheSame() {
    #expect(Timekeeper.of(ContinuousClock()) === Timekeeper.of(ContinuousClock()))
    #expect(Timekeeper.of(SuspendingClock()) === Timekeeper.of(SuspendingClock()))
    #expect(Timekeeper.of(SuspendingClock()) !== Timekeeper.of(ContinuousClock()))
    let (first, second) = (ManualClock(), ManualClock())
    let keepers = (Timekeeper.of(first), Timekeeper.of(second), Timekeeper.of(first))
    #expect(keepers.0 === keepers.2)
    #expect(keepers.0 !== keepers.1)
    let values = (Timekeeper.of(ValueClock(name: "a")), Timekeeper.of(ValueClock(name: "a")))
    #expect(values.0 === values.1)
    #expect(Timekeeper.of(ValueClock(name: "b")) !== values.0)
  }

  @Test("Many timers are one sleep; each is called when it is due, and not before")
  func timers_areCalledWhenDue() async {
    let clock = ManualClock()
    let keeper = Timekeeper.of(clock)
    let recorder = EventRecorder<Int>()
    for second in (1...5).reversed() { _ = keeper.after(.seconds(second)) { recorder.record(second) } }
    await clock.waitForSleeper(dueIn: .seconds(1))
    #expect(keeper.pendingCount == 5)
    for second in 1...5 {
      clock.advance(by: .seconds(1))
      await recorder.wait(for: second)
      if second < 5 { await clock.waitForSleeper(dueIn: .seconds(1)) }
    }
    #expect(recorder.events == [1, 2, 3, 4, 5])
    #expect(keeper.pendingCount == 0)
  }

  @Test("A cancelled timer's action is released at once, and nobody sleeps any more")
  func cancel_releasesActionAndSleep() async {
    let clock = ManualClock()
    let released = Gate()
    let keeper = Timekeeper.of(clock)
    func set() -> Timekeeper.Timer {
      let probe = ReleaseProbe(released)
      return keeper.after(.seconds(1)) { probe.touch() }
    }
    let timer = set()
    await clock.waitForSleeper()
    #expect(!released.isOpen)
    keeper.cancel(timer)
    #expect(released.isOpen)
    await clock.waitUntilNobodySleeps()
  }

  @Test("A timer's action is released when it was called, and the timekeeper with its last timer")
  func fired_releasesActionAndTimekeeper() async {
    let clock = ManualClock()
    let released = Gate()
    func set() -> WeakReference<Timekeeper> {
      let keeper = Timekeeper.of(clock)
      let probe = ReleaseProbe(released)
      _ = keeper.after(.seconds(1)) { probe.touch() }
      return WeakReference(keeper)
    }
    let keeper = set()
    await clock.waitForSleeper()
    #expect(keeper.object != nil)
    clock.advance(by: .seconds(1))
    await released.wait()
    await untilReleased(keeper)
    #expect(keeper.object == nil)
  }

  @Test("A real clock: a timer in the past, or near, is called")
  func realClock_calls() async {
    let gate = Gate()
    let past = Gate()
    _ = Timekeeper.of(ContinuousClock()).after(.milliseconds(1)) { gate.open() }
    _ = Timekeeper.of(SuspendingClock()).at(SuspendingClock().now) { past.open() }
    await gate.wait()
    await past.wait()
  }

  @Test("Set and cancelled by many threads, each timer is called once or not at all")
  func race_ofCancelAndAdvance() async {
    let clock = ManualClock()
    let keeper = Timekeeper.of(clock)
    let called = EventRecorder<Int>()
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<8 {
        group.addTask {
          for index in 0..<500 {
            let timer = keeper.after(.seconds(1 + (index * 7 + worker) % 13)) { called.record(index) }
            if index % 2 == 0 { keeper.cancel(timer) }
          }
        }
      }
    }
    #expect(keeper.pendingCount == 2000)
    await clock.waitForSleeper()
    clock.advance(by: .seconds(20))
    await called.wait(forCount: 2000)
    #expect(keeper.pendingCount == 0)
    #expect(called.count == 2000)
  }
}
