import TestSupport
import Testing

@Suite("Test kit: ManualClock", .hangLimit)
struct ManualClockTests {
  private let clock = ManualClock()

  private func sleeper(_ seconds: Int, _ woken: EventRecorder<Int>) -> Task<Void, any Error> {
    Task { [clock] in
      try await clock.sleep(until: .init(offset: .seconds(seconds)))
      woken.record(seconds)
    }
  }

  @Test("It stands still, and shows what it was moved by")
  func now_isWhatItWasMovedTo() {
    #expect(clock.now == .init())
    clock.advance(by: .seconds(2))
    clock.advance(to: .init(offset: .seconds(3)))
    clock.advance(to: .init(offset: .seconds(1)))
    #expect(clock.now.offset == .seconds(3))
    #expect(clock.advanceToNextSleeper() == nil)
  }

  @Test("Sleepers wake when it was moved to their deadline, and not before")
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

  @Test("A deadline that has passed is no sleep")
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

  @Test("Going back traps")
  func advance_negative_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      ManualClock().advance(by: .seconds(-1))
    }
    try expect(result, says: "ManualClock", "Time does not go back")
  }
}
