import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

@Suite("8 Deadline", .hangLimit)
struct DeadlineTests {
  private let clock = ManualClock()

  private func instant(_ seconds: Int) -> ManualClock.Instant { .init(offset: .seconds(seconds)) }

  @Test("It fails when the clock shows the instant, and not before")
  func deadline_elapsing_fails() async throws {
    clock.advance(by: .seconds(10))
    let never = NeverFinishingOperation<Int>(name: "slow")
    let timed = never.deadline(instant(12), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper(dueIn: .seconds(2))
    await never.started.wait()
    clock.advance(by: .seconds(1))
    #expect(!timed.isFinished)
    clock.advance(by: .seconds(1))
    let error = try #require(await settled(timed).error as? OperationTimeout)
    #expect(error.limit == nil)
    #expect(error.description.contains("“slow”") && error.description.contains("deadline"))
    #expect(!timed.isCancelled)
    await never.cancelRequested.wait()
  }

  @Test("In time: it settles as the operation does, and leaves no timer")
  func deadline_inTime() async {
    #expect(await outcomeOfStarting(succeeding(1).deadline(instant(5), clock: clock)).value == 1)
    #expect(
      await outcomeOfStarting(BlockOperation {}.asSimpleOperation().deadline(instant(5), clock: clock)).value != nil)
    await clock.waitUntilIdle()
  }

  @Test("Passed before it is started: the operation is settled and never runs", arguments: [false, true], [0, 1])
  func deadline_passed_runsNothing(waits: Bool, by seconds: Int) async {
    clock.advance(by: .seconds(10 + seconds))
    let never = NeverFinishingOperation<Int>()
    let timed = never.deadline(instant(10), clock: clock, waits ? .waitsForWork : .settlesAtOnce)
    #expect(await outcomeOfStarting(timed).error is OperationTimeout)
    await finished(never)
    #expect(!timed.isCancelled)
    #expect(!never.started.isOpen)
    #expect(never.outcome?.isCancelled == true)
    #expect(Timekeeper.of(clock).pendingCount == 0)
  }

  @Test("Passed, and cancelled before the start: cancelled")
  func deadline_passedAndCancelled_isCancelled() async {
    clock.advance(by: .seconds(10))
    let never = NeverFinishingOperation<Int>()
    let timed = never.deadline(instant(10), clock: clock)
    timed.cancel()
    #expect(await outcomeOfStarting(timed).isCancelled)
    #expect(never.outcome?.isCancelled == true)
  }

  @Test(
    "Passing while its composite, which runs one child at a time, has not come to it: it fails when it is its turn",
    arguments: [false, true])
  func deadline_passedInCompositeBeforeItsTurn(hasQueue: Bool) async {
    let first = HeldOperation<Int>()
    let never = NeverFinishingOperation<Int>()
    let timed = never.deadline(instant(12), clock: clock)
    let composite = CompositeOperation(
      operations: [first, timed], operationQueue: hasQueue ? OperationQueue(limit: 1) : nil)
    composite.maxConcurrentOperationCount = 1
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    await first.started.wait()
    clock.advance(by: .seconds(12))
    #expect(!timed.isFinished)
    first.finish(with: 1)
    #expect((await settled(composite).error as? CompositeError)?.failures.first?.error is OperationTimeout)
    #expect(!never.started.isOpen)
    #expect(never.outcome?.isCancelled == true)
  }

  @Test("Passing while it waits for a slot: it fails at once, and what waited never runs")
  func deadline_passedWhileWaitingForSlot() async {
    let queue = OperationQueue(limit: 1)
    let blocker = HeldOperation<Int>()
    let never = NeverFinishingOperation<Int>()
    let timed = never.deadline(instant(12), clock: clock)
    // The second needs no slot, so it starts; then its leaf waits for one.
    let composite = CompositeOperation(operations: [blocker, timed], operationQueue: queue)
    composite.failurePolicy = .waitForAll
    composite.start()
    await blocker.started.wait()
    await clock.waitForSleeper(dueIn: .seconds(12))
    clock.advance(by: .seconds(12))
    #expect(await settled(timed).error is OperationTimeout)
    await finished(never)
    #expect(!never.started.isOpen)
    blocker.finish(with: 1)
    #expect(await settled(composite).error is CompositeError)
  }

  @Test("Passed, but the operation had settled: it settles as that did", arguments: [false, true])
  func deadline_passedAfterOperationSettled_settlesLikeIt(fails: Bool) async {
    let done = fails ? failing(TestError.first) : succeeding(1)
    _ = await outcomeOfStarting(done)
    let timed = done.deadline(instant(5), clock: clock)
    let foreign = ConformingOperation { .success(2) }
    await onWorker { foreign.start() }
    let timedForeign = foreign.deadline(instant(5), clock: clock)
    clock.advance(by: .seconds(9))
    let outcome = await outcomeOfStarting(timed)
    #expect(fails ? outcome.error as? TestError == .first : outcome.value == 1)
    #expect(await outcomeOfStarting(timedForeign).value == 2)
    #expect(Timekeeper.of(clock).pendingCount == 0)
  }

  @Test("The error of an operation that other code started does not say that it was cancelled", arguments: 0...2)
  func deadline_ofForeignOperation_saysThatItGoesOn(form: Int) async throws {
    let theirs = HeldOperation<Int>("theirs")
    await onWorker { theirs.start() }
    let timed =
      form == 0 ? theirs.timeout(.seconds(5), clock: clock) : theirs.deadline(instant(5), clock: clock)
    if form == 2 { clock.advance(by: .seconds(5)) }
    await onWorker { timed.start() }
    if form != 2 {
      await clock.waitForSleeper(dueIn: .seconds(5))
      await Patience.untilAwaited(theirs)
      clock.advance(by: .seconds(5))
    }
    let error = try #require(await settled(timed).error as? OperationTimeout)
    #expect(!theirs.isCancelled)
    #expect(error.description.contains("“theirs”") && error.description.contains("not cancelled"))
    theirs.finish(with: 1)
  }

  @Test("Passing while the operation waits for a dependency: it never runs")
  func deadline_passedWhileWaitingForDependency() async {
    let dependency = HeldOperation<Int>()
    let never = NeverFinishingOperation<Int>()
    never.addDependency(dependency)
    let timed = never.deadline(instant(2), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(2))
    #expect(await settled(timed).error is OperationTimeout)
    await finished(never)
    #expect(!never.started.isOpen)
    dependency.start()
    dependency.finish(with: 1)
  }

  @Test("One deadline for several steps is one limit for all")
  func deadline_ofChain() async {
    let second = NeverFinishingOperation<Int>()
    let timed = DelayOperation(.seconds(3), clock: clock).then { second }.deadline(instant(5), clock: clock)
    await onWorker { timed.start() }
    await clock.waitForSleeper(dueIn: .seconds(3))
    clock.advance(by: .seconds(3))
    await second.started.wait()
    await clock.waitForSleeper(dueIn: .seconds(2))
    clock.advance(by: .seconds(2))
    #expect(await settled(timed).error is OperationTimeout)
    await second.cancelRequested.wait()
  }
}
