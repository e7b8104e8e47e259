import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

@Suite("8 DelayOperation", .hangLimit)
struct DelayOperationTests {
  @Test("It succeeds when its time has passed, counted from its start, and not before")
  func delay_elapsing_succeeds() async {
    let clock = ManualClock()
    let delay = DelayOperation(.seconds(5), clock: clock)
    clock.advance(by: .seconds(100))
    delay.start()
    await clock.waitForSleeper(dueIn: .seconds(5))
    clock.advance(by: .seconds(4))
    #expect(clock.sleeperCount == 1)
    #expect(delay.isExecuting)
    clock.advance(by: .seconds(1))
    #expect(await settled(delay).value != nil)
  }

  @Test("Until an instant: an instant in the past is no wait")
  func delay_untilInstant() async {
    let clock = ManualClock()
    let deadline = clock.now.advanced(by: .seconds(3))
    let delay = DelayOperation(until: deadline, clock: clock)
    delay.start()
    await clock.waitForSleeper(dueIn: .seconds(3))
    clock.advance(to: deadline)
    #expect(await settled(delay).value != nil)
    let late = DelayOperation(until: deadline, clock: clock)
    late.start()
    #expect(late.isFinished)
  }

  @Test("Zero is no wait; it settles on the starting thread")
  func delay_ofZero_settlesAtOnce() {
    let delay = DelayOperation(.zero, clock: ManualClock())
    delay.start()
    #expect(delay.outcome?.value != nil)
  }

  @Test("Cancelled while it waits, it settles at once, and leaves no timer behind")
  func delay_cancelled_settlesAtOnce() async {
    let clock = ManualClock()
    let delay = DelayOperation(.seconds(5), clock: clock)
    delay.start()
    await clock.waitForSleeper()
    delay.cancel()
    #expect(delay.outcome?.isCancelled == true)
    await clock.waitUntilIdle()
  }

  @Test("Settled by other code, it cancels its timer at once and is released", arguments: 0..<4)
  func delay_settledFromOutside_isReleased(how: Int) async {
    let clock = ManualClock()
    let keeper = Timekeeper.of(clock)
    func run() async -> WeakReference<DelayOperation> {
      let delay = DelayOperation(.seconds(5), clock: clock)
      delay.start()
      await clock.waitForSleeper()
      #expect(keeper.pendingCount == 1)
      switch how {
      case 0: delay.finish()
      case 1: delay.reject(with: TestError.first)
      case 2: delay.settle(with: .cancelled)
      default: delay.cancel()
      }
      #expect(keeper.pendingCount == 0)
      #expect(delay.isFinished)
      return WeakReference(delay)
    }
    let reference = await run()
    await untilReleased(reference)
    #expect(reference.object == nil)
    await clock.waitUntilIdle()
  }

  @Test("Settled before it starts, it sets no timer when it is started")
  func delay_settledBeforeStart_setsNoTimer() {
    let clock = ManualClock()
    let delay = DelayOperation(.seconds(5), clock: clock)
    delay.finish()
    delay.start()
    #expect(Timekeeper.of(clock).pendingCount == 0)
  }

  @Test("The clock keeps a started operation without another reference")
  func delay_dropped_succeeds() async {
    let clock = ManualClock()
    let done = Gate()
    func start() {
      let delay = DelayOperation(.seconds(1), clock: clock)
      delay.completion = { _ in done.open() }
      delay.start()
    }
    start()
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    await done.wait()
  }

  @Test("In a composite's queue of one slot it takes none")
  func delay_inComposite_takesNoSlot() async {
    let clock = ManualClock()
    let ran = Gate()
    let queue = OperationQueue(limit: 1)
    let composite = CompositeOperation(
      operations: [DelayOperation(.seconds(1), clock: clock), BlockOperation { ran.open() }], operationQueue: queue)
    composite.start()
    await ran.wait()
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    #expect(await settled(composite).value != nil)
  }

  #if os(macOS) || os(Linux)
  @Test("A negative delay traps")
  func delay_negative_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = DelayOperation(.seconds(-1))
    }
    try expect(result, says: "DelayOperation", "in the past")
  }
  #endif
}

#if os(macOS) || os(Linux)
/// Expects that the ended process printed all of `words`.
func expect(_ result: ExitTest.Result?, says words: String...) throws {
  let message = try String(decoding: #require(result).standardErrorContent, as: UTF8.self)
  for word in words {
    #expect(message.lowercased().contains(word.lowercased()), "“\(word)” is missing in: \(message)")
  }
}
#endif
