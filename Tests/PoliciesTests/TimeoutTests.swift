import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

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
    await clock.waitUntilIdle()
    let failed = failing(TestError.first, as: Int.self).timeout(.seconds(1), clock: clock)
    #expect(await outcomeOfStarting(failed).error is TestError)
    #expect(await outcomeOfStarting(cancelling(as: Int.self).timeout(.seconds(1), clock: clock)).isCancelled)
  }

  @Test("Time is up: it fails at once and is not cancelled; the operation is cancelled, and settles so")
  func timeout_elapsing_failsAtOnce() async throws {
    let held = HeldOperation<Int>("slow")
    let timed = held.timeout(.seconds(3), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper(dueIn: .seconds(3))
    await held.started.wait()
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
    await held.started.wait()
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
    await held.started.wait()
    clock.advance(by: .seconds(3))
    #expect(await settled(timed).error is OperationTimeout)
  }

  @Test("Cancelled from outside: the operation is cancelled, and it is cancelled when that has ended")
  func timeout_cancelled_isCancelled() async {
    let held = HeldOperation<Int>()
    let timed = held.timeout(.seconds(3), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    await held.started.wait()
    timed.cancel()
    await held.cancelRequested.wait()
    #expect(!timed.isFinished)
    held.finish(with: 1)
    #expect(await settled(timed).isCancelled)
    await clock.waitUntilIdle()
  }

  @Test("Cancelled from outside while it waits after its time: cancelled")
  func timeout_cancelledWhileWaiting_isCancelled() async {
    let held = HeldOperation<Int>()
    let timed = held.timeout(.seconds(3), .waitsForWork, clock: clock)
    await onWorker { timed.start() }
    await held.started.wait()
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

  @Test("A plain operation has no value, and can be timed too")
  func timeout_ofPlainOperation() async {
    #expect(
      await outcomeOfStarting(BlockOperation {}.asSimpleOperation().timeout(.seconds(1), clock: clock)).value != nil)
    let plain = AsyncPlainOperation()
    let timed: SimpleOperation<Void> = plain.asSimpleOperation().timeout(.seconds(1), clock: clock)
    await onWorker { timed.start() }
    await plain.started.wait()
    clock.advance(by: .seconds(1))
    #expect(await settled(timed).error is OperationTimeout)
    await plain.cancelRequested.wait()
  }

  @Test("An operation that other code started is awaited, and not cancelled when the time is up")
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
    await held.started.wait()
    clock.advance(by: .seconds(2))
    #expect((await settled(timed).error as? OperationTimeout)?.limit == .seconds(2))
    await held.cancelRequested.wait()
    held.settle(with: .cancelled)
    await clock.waitUntilIdle()
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

  @Test("Settled by other code, it cancels its timer at once, and cancels the operation")
  func timeout_settledFromOutside_cancelsTheWork() async {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    let timed = never.timeout(.seconds(3), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    await never.started.wait()
    #expect(timed.finish(with: 5))
    #expect(never.isCancelled)
    #expect(timed.outcome?.value == 5)
    await clock.waitUntilIdle()
    never.release()
    await finished(never)
    #expect(timed.outcome?.value == 5)
  }

  @Test("Cancelled, and settled by other code before the operation ends, it cancels its timer at once")
  func timeout_settledFromOutsideAfterACancel_givesItsTimerUp() async {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    let timed = never.timeout(.seconds(3), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    await never.started.wait()
    timed.cancel()
    #expect(!timed.finish(with: 5))
    #expect(timed.outcome?.isCancelled == true)
    await clock.waitUntilIdle()
    never.release()
    await finished(never)
  }

  @Test("Settled by other code, it has cancelled the operation when its parent continues")
  func timeout_settledFromOutside_cancelsTheWorkBeforeItsParentGoesOn() async {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    let timed = never.timeout(.seconds(3), clock: clock)
    let wasCancelled = Locked<Bool?>(nil)
    let parent = timed.map { value in
      wasCancelled.withLock { $0 = never.isCancelled }
      return value
    }
    await onWorker { parent.start() }
    await never.started.wait()
    #expect(timed.finish(with: 5))
    #expect(await settled(parent).value == 5)
    #expect(wasCancelled.current == true)
    never.release()
    await finished(never)
  }

  @Test("Settled by other code before it starts, the operation is cancelled and never runs")
  func timeout_settledBeforeStart_runsNothing() {
    let never = NeverFinishingOperation<Int>()
    let timed = never.timeout(.seconds(3), clock: clock)
    #expect(timed.finish(with: 5))
    #expect(never.outcome?.isCancelled == true)
    timed.start()
    #expect(timed.outcome?.value == 5)
    #expect(!never.started.isOpen)
    #expect(clock.sleeperCount == 0)
  }

  @Test("Composites can be timed, and their children are cancelled")
  func timeout_ofComposite_cancelsChildren() async {
    let children = (0..<3).map { _ in NeverFinishingOperation<Int>() }
    let timed = CompositeOperation(operations: children).timeout(.seconds(3), .waitsForWork, clock: clock)
    await onWorker { timed.start() }
    for child in children { await child.started.wait() }
    clock.advance(by: .seconds(3))
    #expect(await settled(timed).error is OperationTimeout)
    #expect(children.allSatisfy { $0.outcome?.isCancelled == true })
  }

  @Test("A failed composite names the late child")
  func timeout_inComposite_isOneFailure() async throws {
    let timed = NeverFinishingOperation<Int>(name: "slow").timeout(.seconds(3), clock: clock)
    let composite = CompositeOperation(operations: [timed])
    await onWorker { composite.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(3))
    let error = try #require(await settled(composite).error as? CompositeError)
    #expect(error.failures.count == 1 && error.failures[0].error is OperationTimeout)
    #expect(error.description.contains("“slow”"))
  }

  @Test("When it waits for work that other code started, it fails when that has ended", arguments: [true, false])
  func timeout_waitingForJoined_waits(isDeadline: Bool) async {
    let held = HeldOperation<Int>(), clock = ManualClock()
    await onWorker { held.start() }
    let timed =
      isDeadline
      ? held.deadline(clock.now.advanced(by: .seconds(-1)), clock: clock, .waitsForWork)
      : held.timeout(.seconds(3), .waitsForWork, clock: clock)
    await onWorker { timed.start() }
    await Patience.untilAwaited(held)
    if !isDeadline {
      await clock.waitForSleeper(dueIn: .seconds(3))
      clock.advance(by: .seconds(3))
    }
    await until(isExpired(timed))
    await settleDown()
    #expect(!timed.isFinished && !held.isCancelled)
    held.finish(with: 1)
    #expect(await settled(timed).error is OperationTimeout)
  }

  /// Whether a timer has done its part, on its own thread: no event tells that.
  private func isExpired(_ timed: SettlingOperation) -> Bool {
    if case .expired = (timed.composition as? TimeoutForm)?.time.withLock({ $0.phase }) { true } else { false }
  }

  /// Counts how often it is asked whether it has finished.
  private final class AskedOperation: Operation, ComposableOperation, @unchecked Sendable {  // the number is locked
    let asks = Locked(0)

    var outcome: Outcome<Void>? { super.isFinished ? .success(()) : nil }

    override var isFinished: Bool {
      asks.increment()
      return super.isFinished
    }
  }

  @Test("Time is up while observers are told that an operation which has ended is added: it settles like that one")
  func timeout_ofWhatHasEnded_isUpWhileThatIsAdded_settlesLikeIt() async {
    let ended = AskedOperation()
    ended.start()
    let timed: SimpleOperation<Void> = ended.timeout(.seconds(3), clock: clock)
    let isDecided = Locked(false)
    timed.addTreeObserver { [clock] operation, event in
      guard event.child === ended else { return }
      let asks = ended.asks.current
      clock.advance(by: .seconds(3))
      // The timer, on its own thread, asks the operation, or settles without that.
      let decided = Patience.isReached { ended.asks.current > asks || operation.isFinished }
      isDecided.withLock { $0 = decided }
    }
    await onWorker { timed.start() }
    #expect(await settled(timed).value != nil)
    #expect(isDecided.current)
  }

  @Test("Time is up while observers are told that it begins to wait for what other code started: the error says so")
  func timeout_ofJoined_isUpWhileItBeginsToWait_leavesItAlone() async throws {
    let held = HeldOperation<Int>("slow")
    await onWorker { held.start() }
    let timed = held.timeout(.seconds(3), clock: clock)
    let isDecided = Locked(false)
    timed.addTreeObserver { [clock, unowned timed] operation, event in
      guard operation === held, event.kind == .started else { return }
      clock.advance(by: .seconds(3))
      // The timer settles it, on its own thread.
      let decided = Patience.isReached { timed.isFinished }
      isDecided.withLock { $0 = decided }
    }
    await onWorker { timed.start() }
    let error = try #require(await settled(timed).error as? OperationTimeout)
    #expect(error.description.contains("other code had started it"))
    #expect(isDecided.current)
    await settleDown()
    #expect(!held.isCancelled)
    held.finish(with: 1)
  }

  @Test("Time is up, waiting for the work, while observers are told that it begins to wait: it waits for that")
  func timeout_waitingForJoined_isUpWhileItBeginsToWait_waits() async throws {
    let held = HeldOperation<Int>("slow")
    await onWorker { held.start() }
    let timed = held.timeout(.seconds(3), .waitsForWork, clock: clock)
    let told = Gate()
    timed.addTreeObserver { [clock, unowned timed] operation, event in
      guard operation === held, event.kind == .started else { return }
      clock.advance(by: .seconds(3))
      if Patience.isReached({ isExpired(timed) }) { told.open() }
    }
    await onWorker { timed.start() }
    await told.wait()
    await settleDown()
    #expect(!timed.isFinished && !held.isCancelled)
    held.finish(with: 1)
    let error = try #require(await settled(timed).error as? OperationTimeout)
    #expect(error.description.contains("other code had started it"))
  }

  #if os(macOS) || os(Linux)
  @Test("A timeout of zero or less traps", arguments: 0..<3)
  func timeout_notPositive_traps(which: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
      switch which {
      case 0: _ = SimpleOperation<Int>().timeout(.zero)
      case 1: _ = SimpleOperation<Int>().timeout(.seconds(-1))
      default: _ = BlockOperation {}.asSimpleOperation().timeout(.zero)
      }
    }
    try expect(result, says: "was given a timeout of", "positive")
  }
  #endif
}
