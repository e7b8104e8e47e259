import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@Suite("8 Timeout and deadline", .hangLimit)
struct TimeoutTests {
  private let clock = ManualClock()

  @Test("An operation that ends in time decides, and leaves no timer behind")
  func timeout_inTime_settlesLikeIt() async {
    let held = HeldOperation<Int>()
    let timed = held.timeout(.seconds(3), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper(dueIn: .seconds(3))
    held.finish(with: 7)
    #expect(await settled(timed).value == 7)
    await clock.waitUntilNobodySleeps()
    #expect(await outcomeOfStarting(failing(TestError.first, as: Int.self).timeout(.seconds(1))).error is TestError)
    #expect(await outcomeOfStarting(cancelling(as: Int.self).timeout(.seconds(1))).isCancelled)
  }

  @Test("Time is up: it fails at once and is not cancelled; the operation is cancelled, and settles so")
  func timeout_elapsing_failsAtOnce() async throws {
    let held = HeldOperation<Int>("slow")
    let timed = held.timeout(.seconds(3), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper(dueIn: .seconds(3))
    clock.advance(by: .seconds(3))
    let error = try #require(await settled(timed).error as? OperationTimeout)
    #expect(error.limit == .seconds(3))
    #expect(error.description.contains("“slow”"))
    #expect(!timed.isCancelled)
    await held.cancelRequested.wait()
    #expect(!held.isFinished)
    #expect(!held.finish(with: 1))
    #expect(held.outcome?.isCancelled == true)
  }

  @Test("Time is up, waiting for the work: it fails when the work has ended, whatever with")
  func timeout_waiting_failsWhenTheWorkEnded() async {
    let held = HeldOperation<Int>()
    let timed = held.timeout(.seconds(3), .waitsForWork, clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(3))
    await held.cancelRequested.wait()
    #expect(!timed.isFinished)
    held.finish(with: 1)
    #expect(await settled(timed).error is OperationTimeout)
    #expect(!timed.isCancelled)
  }

  @Test("Work that settles in its cancel does not turn the timeout into a cancellation", arguments: [true, false])
  func timeout_workSettlingInCancel_fails(waits: Bool) async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let timed = held.timeout(.seconds(3), waits ? .waitsForWork : .settlesAtOnce, clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(3))
    #expect(await settled(timed).error is OperationTimeout)
  }

  @Test("Cancelled from outside: the operation is cancelled, and it is cancelled when that has ended")
  func timeout_cancelled_isCancelled() async {
    let held = HeldOperation<Int>()
    let timed = held.timeout(.seconds(3), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    timed.cancel()
    await held.cancelRequested.wait()
    #expect(!timed.isFinished)
    held.finish(with: 1)
    #expect(await settled(timed).isCancelled)
    await clock.waitUntilNobodySleeps()
  }

  @Test("Cancelled from outside while it waits after its time: cancelled")
  func timeout_cancelledWhileWaiting_isCancelled() async {
    let held = HeldOperation<Int>()
    let timed = held.timeout(.seconds(3), .waitsForWork, clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(3))
    await held.cancelRequested.wait()
    timed.cancel()
    held.finish(with: 1)
    #expect(await settled(timed).isCancelled)
  }

  @Test("Cancelled before it starts, nothing runs and no timer is set")
  func timeout_cancelledBeforeStart() async {
    let held = HeldOperation<Int>()
    let timed = held.timeout(.seconds(3), clock: clock)
    timed.cancel()
    timed.start()
    #expect(await settled(timed).isCancelled)
    #expect(held.outcome?.isCancelled == true)
    #expect(!held.started.isOpen)
    #expect(clock.sleeperCount == 0)
  }

  @Test("The time runs when a slot is free, not while the operation waits for one")
  func timeout_inQueue_countsFromTheSlot() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let composite = CompositeOperation(
      operations: [first, second.timeout(.seconds(3), clock: clock)], operationQueue: OperationQueue(limit: 1))
    composite.start()
    await first.started.wait()
    clock.advance(by: .seconds(100))
    #expect(clock.sleeperCount == 0)
    first.finish(with: 1)
    await second.started.wait()
    await clock.waitForSleeper(dueIn: .seconds(3))
    second.finish(with: 2)
    #expect(await settled(composite).value as? [Int] == [1, 2])
  }

  @Test(
    "After a timeout at once the slot is taken until the work has ended",
    .disabled("It hangs with no thread busy; the cause is not known yet"))
  func timeout_atOnce_keepsTheSlot() async {
    let queue = OperationQueue(limit: 1)
    let held = HeldOperation<Int>()
    let next = HeldOperation<Int>()
    let composite = CompositeOperation(
      operations: [held.timeout(.seconds(3), clock: clock), next], operationQueue: queue)
    composite.failurePolicy = .waitForAll
    composite.start()
    await held.started.wait()
    await clock.waitForSleeper()
    clock.advance(by: .seconds(3))
    await held.cancelRequested.wait()
    #expect(!next.started.isOpen)
    held.settle(with: .cancelled)
    await next.started.wait()
    next.finish(with: 1)
    #expect((await settled(composite).error as? CompositeError)?.failures.first?.error is OperationTimeout)
  }

  @Test(
    "A deadline that has passed: the operation is not started",
    .disabled("It hangs: a wrapper that waits for a lane of a queue of one slot has not set its timer yet"))
  func deadline_passed_doesNotStart() async {
    clock.advance(by: .seconds(10))
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let first = HeldOperation<Int>()
    let timed = held.deadline(ManualClock.Instant(offset: .seconds(12)), clock: clock)
    let composite = CompositeOperation(operations: [first, timed], operationQueue: OperationQueue(limit: 1))
    composite.failurePolicy = .waitForAll
    composite.start()
    await first.started.wait()
    await clock.waitForSleeper(dueIn: .seconds(2))
    clock.advance(by: .seconds(2))
    #expect(await settled(timed).error is OperationTimeout)
    first.finish(with: 1)
    _ = await settled(composite)
    #expect(!held.started.isOpen)
    #expect(held.outcome?.isCancelled == true)
  }

  @Test("A plain operation has no value, and can be timed too")
  func timeout_ofPlainOperation() async {
    #expect(await outcomeOfStarting(BlockOperation {}.timeout(.seconds(1))).value != nil)
    let plain = AsyncPlainOperation()
    let timed: SimpleOperation<Void> = plain.timeout(.seconds(1), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    #expect(await settled(timed).error is OperationTimeout)
    await plain.cancelRequested.wait()
  }

  @Test("An operation of somebody else's is waited for, and not cancelled when the time is up")
  func timeout_ofJoined_doesNotCancelIt() async {
    let held = HeldOperation<Int>()
    held.start()
    let timed = held.timeout(.seconds(1), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    #expect(await settled(timed).error is OperationTimeout)
    #expect(!held.isCancelled)
    held.finish(with: 1)
  }

  @Test("Timeouts nest: the first whose time is up decides")
  func timeout_ofTimeout() async {
    let held = HeldOperation<Int>()
    let timed = held.timeout(.seconds(5), clock: clock).timeout(.seconds(2), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper(dueIn: .seconds(2))
    clock.advance(by: .seconds(2))
    #expect((await settled(timed).error as? OperationTimeout)?.limit == .seconds(2))
    await held.cancelRequested.wait()
    held.settle(with: .cancelled)
    await clock.waitUntilNobodySleeps()
  }

  @Test("When it has settled, its timer keeps nothing")
  func timeout_settled_isReleased() async {
    func run() async -> (WeakReference<HeldOperation<Int>>, WeakReference<SimpleOperation<Int>>) {
      let held = HeldOperation<Int>()
      let timed = held.timeout(.seconds(3), clock: clock)
      await onWorker { timed.start() }
      await held.started.wait()
      held.finish(with: 1)
      _ = await settled(timed)
      return (WeakReference(held), WeakReference(timed))
    }
    let (held, timed) = await run()
    await untilReleased(held)
    await untilReleased(timed)
    #expect(held.object == nil && timed.object == nil)
  }

  @Test("Settling and elapsing at the same moment gives one outcome")
  func timeout_race_settlesOnce() async {
    for _ in 0..<300 {
      let clock = ManualClock()
      let held = HeldOperation<Int>()
      let timed = held.timeout(.seconds(1), clock: clock)
      let spy = CompletionSpy<Int>()
      timed.completion = spy.completion
      await onWorker { timed.start() }
      await clock.waitForSleeper()
      async let finish: Void = onWorker { _ = held.finish(with: 1) }
      clock.advance(by: .seconds(1))
      await finish
      let outcome = await settled(timed)
      #expect(outcome.value == 1 || outcome.error is OperationTimeout)
      #expect(spy.count == 1)
    }
  }

  @Test("A timeout of zero traps")
  func timeout_ofZero_traps() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = SimpleOperation<Int>().timeout(.zero)
    }
    try expect(result, says: "timeout of 0", "positive")
  }
}
