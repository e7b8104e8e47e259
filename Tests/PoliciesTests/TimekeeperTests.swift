import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

@Suite("Timers: the timekeeper", .hangLimit)
struct TimekeeperTests {
  private struct ValueClock: Clock, Equatable {
    let name: String
    var now: ContinuousClock.Instant { ContinuousClock().now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
  }

  /// A clock that a test moves, whose `sleep` ends at once.
  private final class SleeplessClock: Clock, Sendable {
    let manual = ManualClock()
    let sleeps = Locked(0)
    /// How many sleeps fail; the others are those of the manual clock.
    let failures: Int
    let throwing: Bool

    init(failures: Int, throwing: Bool) {
      self.failures = failures
      self.throwing = throwing
    }

    var now: ManualClock.Instant { manual.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
      if sleeps.increment() > failures { return try await manual.sleep(until: deadline, tolerance: tolerance) }
      if throwing { throw TestError.first }
    }
  }

  private struct StatelessClock: Clock {
    var now: ContinuousClock.Instant { ContinuousClock().now }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
  }

  /// A clock on which a second takes ten.
  private struct SlowClock: Clock {
    let start = ContinuousClock.now
    var now: ContinuousClock.Instant { start.advanced(by: start.duration(to: .now) / 10) }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {}
  }

  @Test("One for each clock: of the standard library, an object, a value that is Equatable or has no state")
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
    let stateless = (Timekeeper.of(StatelessClock()), Timekeeper.of(StatelessClock()))
    #expect(stateless.0 === stateless.1)
    #expect(values.0 !== stateless.0)
  }

  @Test("Asked for by many at once, there is one for each clock; of those that are gone nothing is left")
  func race_ofLookups() async {
    for _ in 0..<50 {
      let clocks = (0..<20).map { _ in ManualClock() }
      let found = await withTaskGroup(of: [Timekeeper].self) { group in
        for _ in 0..<4 { group.addTask { clocks.map { Timekeeper.of($0) } } }
        return await group.reduce(into: [[Timekeeper]]()) { $0.append($1) }
      }
      for keepers in found { #expect(zip(keepers, found[0]).allSatisfy { $0 === $1 }) }
    }
  }

  @Test("An action runs at the quality of service of its timer; on Linux, where that is none, beside what computes")
  func due_runsAtTheGivenQuality() async {
    #if canImport(Darwin)
    let qualityOfService = DispatchQoS.QoSClass.utility
    #else
    let qualityOfService = DispatchQoS.QoSClass.userInitiated
    #endif
    let clock = ManualClock()
    let seen = EventRecorder<String>()
    _ = Timekeeper.of(clock).after(.seconds(1), qualityOfService: .utility) { seen.record(currentWorkerClass()) }
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    await seen.wait(forCount: 1)
    let expected = await withCheckedContinuation { continuation in
      DispatchQueue.global(qos: qualityOfService).async { continuation.resume(returning: currentWorkerClass()) }
    }
    #expect(seen.events == [expected])
  }

  @Test(
    "A sleep that fails is begun anew after a pause that grows; what the clock shows decides", arguments: [true, false])
  func failingSleep_pauses(throwing: Bool) async {
    let clock = SleeplessClock(failures: 14, throwing: throwing)
    let pauses = EventRecorder<Duration>()
    let keeper = Timekeeper(clock: clock) { pauses.record($0) }
    let called = Gate()
    _ = keeper.after(.seconds(5)) { called.open() }
    await clock.manual.waitForSleeper(dueIn: .seconds(5))
    #expect(!called.isOpen)
    let expected = (0..<14).map { Duration.milliseconds(1 << min($0, 10)) }
    #expect(pauses.events == expected)
    clock.manual.advance(by: .seconds(5))
    await called.wait()
  }

  @Test("With a sleep that always fails timers are called when the clock shows their time, and cancelled ones are not")
  func alwaysFailingSleep_calls() async {
    let clock = SleeplessClock(failures: .max, throwing: true)
    let pause = Gate()
    let paused = EventRecorder<Duration>()
    let keeper = Timekeeper(clock: clock) {
      paused.record($0)
      await pause.wait()
    }
    let called = Gate()
    let cancelled = keeper.after(.seconds(4)) { Issue.record("a cancelled timer was called") }
    _ = keeper.after(.seconds(5)) { called.open() }
    await paused.wait(forCount: 1)
    keeper.cancel(cancelled)
    clock.manual.advance(by: .seconds(5))
    pause.open()
    await called.wait()
    #expect(keeper.pendingCount == 0)
  }

  @Test("Where a queue waits for the alarms, what the clock shows decides, too")
  func slowClock_onAQueue_callsWhenDue() async {
    let clock = SlowClock()
    let keeper = Timekeeper(clock: clock, keepsAlarms: true, alarmQueue: DispatchQueue(label: "alarms"))
    let due = clock.now.advanced(by: .milliseconds(5))
    let calls = EventRecorder<ContinuousClock.Instant>()
    let cancelled = keeper.after(.milliseconds(4)) { Issue.record("a cancelled timer was called") }
    _ = keeper.at(keeper.time(of: due)) { calls.record(clock.now) }
    keeper.cancel(cancelled)
    await calls.wait(forCount: 1)
    #expect(calls.events[0] >= due)
    #expect(keeper.pendingCount == 0)
  }

  @Test("An unreliable clock still lets a timeout happen")
  func alwaysFailingSleep_timesOut() async {
    let clock = SleeplessClock(failures: .max, throwing: true)
    let never = NeverFinishingOperation<Int>()
    let timed = never.timeout(.seconds(5), clock: clock)
    await onWorker { timed.start() }
    await never.started.wait()
    clock.manual.advance(by: .seconds(5))
    #expect(await settled(timed).error is OperationTimeout)
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

  @Test(
    "An early timer that comes and goes beside a late one begins no further sleep until the late one, where sleeps are kept"
  )
  func earlyTimers_besideALateOne_beginNoFurtherSleeps() async {
    let clock = SleeplessClock(failures: 0, throwing: false)
    let keeper = Timekeeper(clock: clock, keepsAlarms: true)
    let late = Gate()
    _ = keeper.after(.seconds(1_000)) { late.open() }
    await clock.manual.waitForSleeper(dueIn: .seconds(1_000))
    for _ in 0..<100 {
      let early = Gate()
      _ = keeper.after(.seconds(1)) { early.open() }
      await clock.manual.waitForSleeper(dueIn: .seconds(1))
      clock.manual.advance(by: .seconds(1))
      await early.wait()
    }
    #expect(clock.sleeps.current == 101)
    #expect(clock.manual.sleeperCount == 1)
    clock.manual.advance(by: .seconds(900))
    await late.wait()
  }

  @Test("A cancelled timer's action is released at once, and no task sleeps")
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
    await clock.waitUntilIdle()
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
    let suspending = Timekeeper.of(SuspendingClock())
    _ = suspending.at(suspending.time(of: SuspendingClock().now)) { past.open() }
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

  @Test("The longest duration means never, wherever a time is computed from it")
  func longestDuration_isNever() async throws {
    let longest = Duration(attoseconds: .max)
    let clock = ManualClock()
    clock.advance(by: .seconds(1))
    #expect(try await succeeding(1).timeout(longest, clock: clock).run() == 1)
    let delay = DelayOperation(longest, clock: clock)
    await onWorker { delay.start() }
    await clock.waitForSleeper()
    delay.cancel()
    let breaker = CircuitBreaker(failureThreshold: 1, resetAfter: longest, clock: clock)
    clock.advance(by: .seconds(1))
    breaker.trip()
    #expect(breaker.state == .open)
    let limit = SharedLimit(rate: .tokens(1, per: longest), clock: clock)
    #expect(try await succeeding(2).limited(by: limit).run() == 2)
    await clock.waitUntilIdle()
  }
}
