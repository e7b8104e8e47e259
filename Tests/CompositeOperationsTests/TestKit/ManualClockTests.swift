import CompositeOperations
import TestSupport
import Testing

@Suite("Test kit: ManualClock", .hangLimit)
struct ManualClockTests {
  private let clock = ManualClock()

  @Test("Waits for the clock's time end when their task is cancelled, before they began or later", arguments: 0..<3)
  func wait_cancelled_ends(_ kind: Int) async {
    let clock = ManualClock()
    let asleep = Task { try await clock.sleep(until: clock.now.advanced(by: .seconds(9))) }
    await clock.waitForSleeper(dueIn: .seconds(9))
    for round in 0..<200 {
      let waiting = Task {
        switch kind {
        case 0: await ManualClock().waitForSleeper()
        case 1: await clock.waitForSleeper(dueIn: .seconds(1))
        default: await clock.waitUntilIdle()
        }
      }
      if round.isMultiple(of: 2) { await Task.yield() }
      waiting.cancel()
      await waiting.value
    }
    asleep.cancel()
    await clock.waitUntilIdle()
  }

  private func sleeper(_ seconds: Int, _ woken: EventRecorder<Int>) -> Task<Void, any Error> {
    Task { [clock] in
      try await clock.sleep(until: .init(offset: .seconds(seconds)))
      woken.record(seconds)
    }
  }

  @Test("It stands still until it is advanced")
  func now_isWhatItWasMovedTo() {
    #expect(clock.now == .init())
    clock.advance(by: .seconds(2))
    clock.advance(to: .init(offset: .seconds(3)))
    clock.advance(to: .init(offset: .seconds(1)))
    #expect(clock.now.offset == .seconds(3))
    #expect(clock.advanceToNextSleeper() == nil)
  }

  @Test("Sleepers wake when the clock reaches their deadline, and not before")
  func sleepers_wake() async throws {
    let woken = EventRecorder<Int>()
    let tasks = [2, 1].map { sleeper($0, woken) }
    await clock.waitForSleeper(dueIn: .seconds(1))
    await clock.waitForSleeper(dueIn: .seconds(2))
    #expect(clock.sleeperCount == 2)
    #expect(clock.nextDeadline == .init(offset: .seconds(1)))
    #expect(clock.advanceToNextSleeper() == .seconds(1))
    await woken.wait(for: 1)
    #expect(clock.sleeperCount == 1)
    clock.advance(by: .seconds(1))
    for task in tasks { try await task.value }
    #expect(woken.events == [1, 2])
  }

  @Test("Sleeping until a past deadline returns at once")
  func sleep_past_returns() async throws {
    clock.advance(by: .seconds(5))
    try await clock.sleep(until: .init(offset: .seconds(5)))
    #expect(clock.sleeperCount == 0)
  }

  @Test("A cancelled task wakes with a CancellationError, whenever the cancel comes")
  func sleep_cancelled_throws() async {
    for waits in [true, false] {
      let task = sleeper(1, EventRecorder())
      if waits { await clock.waitForSleeper() }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(clock.sleeperCount == 0)
    }
  }

  #if os(macOS) || os(Linux)
  @Test("Moving the clock back traps")
  func advance_negative_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ManualClock().advance(by: .seconds(-1))
    }
    let message = try String(decoding: #require(result).standardErrorContent, as: UTF8.self)
    for word in ["ManualClock", "Time does not go back"] {
      #expect(message.contains(word), "“\(word)” is missing in: \(message)")
    }
  }
  #endif

  @Test("A pending timer is found, whatever else is on the clock")
  func waitForSleeper_dueLaterThanAnother_returns() async {
    let short = NeverFinishingOperation<Int>(), long = NeverFinishingOperation<Int>()
    let first = short.timeout(.seconds(3), clock: clock), second = long.timeout(.seconds(60), clock: clock)
    await onWorker { first.start() }
    await onWorker { second.start() }
    await clock.waitForSleeper(dueIn: .seconds(60))
    await clock.waitForSleeper(dueIn: .seconds(3))
    #expect(clock.nextDeadline == .init(offset: .seconds(3)))
    short.finish(with: 1)
    #expect(await settled(first).value == 1)
    await clock.waitForSleeper(dueIn: .seconds(60))
    #expect(clock.nextDeadline == .init(offset: .seconds(60)))
    #expect(clock.advanceToNextSleeper() == .seconds(60))
    #expect(await settled(second).error is OperationTimeout)
    await clock.waitUntilIdle()
    #expect(clock.nextDeadline == nil && clock.sleeperCount == 0)
  }

  @Test("It is not idle while a timer is pending, also just after an earlier one was due")
  func waitUntilIdle_pendingTimer_waits() async {
    for _ in 0..<20 {
      let clock = ManualClock(), idle = Gate()
      let short = DelayOperation(.seconds(5), clock: clock), long = DelayOperation(.seconds(60), clock: clock)
      await onWorker { short.start() }
      await onWorker { long.start() }
      await clock.waitForSleeper(dueIn: .seconds(5))
      await clock.waitForSleeper(dueIn: .seconds(60))
      clock.advance(by: .seconds(5))
      let waiting = Task {
        await clock.waitUntilIdle()
        idle.open()
      }
      for _ in 0..<20 { await Task.yield() }
      #expect(!idle.isOpen)
      long.cancel()
      await waiting.value
    }
  }

  @Test("A timer behind an earlier one is still found when it is set later")
  func waitForSleeper_beforeTheTimerIsSet_returns() async {
    let delay = DelayOperation(.seconds(3), clock: clock)
    await onWorker { delay.start() }
    await clock.waitForSleeper(dueIn: .seconds(3))
    async let found: Void = clock.waitForSleeper(dueIn: .seconds(60))
    let later = DelayOperation(.seconds(60), clock: clock)
    await onWorker { later.start() }
    await found
    later.cancel()
    #expect(clock.nextDeadline == .init(offset: .seconds(3)))
    delay.cancel()
    await clock.waitUntilIdle()
    #expect(clock.nextDeadline == nil)
  }

  @Test("Nothing sleeps until a moment that has come, so nobody waits for that", arguments: [0, -1])
  func waitForSleeper_dueNow_returns(seconds: Int) async {
    await clock.waitForSleeper(dueIn: .seconds(seconds))
  }

  @Test func waitForSleeper_momentComes_returns() async {
    let waiting = Task { [clock] in await clock.waitForSleeper(dueIn: .seconds(1)) }
    clock.advance(by: .seconds(1))
    clock.advance(by: .seconds(1))
    // Whenever the task begins: it waits for a moment that is at most one second away.
    let sleeper = sleeper(3, EventRecorder())
    await waiting.value
    sleeper.cancel()
  }
}
