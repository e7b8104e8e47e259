import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

@Suite("8 Hedging", .hangLimit)
struct HedgingTests {
  private let clock = ManualClock()

  /// Starts an operation, lets its delay pass, and waits until both attempts run.
  private func hedging(_ first: HeldOperation<Int>, with second: HeldOperation<Int>) async -> SimpleOperation<Int> {
    let hedged = first.hedged(after: .seconds(1), clock: clock) { second }
    await onWorker { hedged.start() }
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    await second.started.wait()
    return hedged
  }

  @Test("A first attempt that succeeds in time needs no second, and leaves no timer behind")
  func first_inTime_isTheValue() async {
    let first = HeldOperation<Int>()
    let hedged = first.hedged(after: .seconds(1), clock: clock) { () -> SimpleOperation<Int> in
      Issue.record("A second attempt was made")
      return succeeding(2)
    }
    await onWorker { hedged.start() }
    await clock.waitForSleeper(dueIn: .seconds(1))
    first.finish(with: 1)
    #expect(await settled(hedged).value == 1)
    await clock.waitUntilIdle()
  }

  @Test("After the delay a second attempt starts; its success settles, and cancels the first, which is not awaited")
  func second_fasterThanFirst_settlesAtOnce() async {
    let (first, second) = (HeldOperation<Int>(), HeldOperation<Int>())
    let hedged = first.hedged(after: .seconds(1), clock: clock) { second }
    await onWorker { hedged.start() }
    await clock.waitForSleeper(dueIn: .seconds(1))
    #expect(!second.isExecuting)
    clock.advance(by: .seconds(1))
    await second.started.wait()
    second.finish(with: 2)
    #expect(await settled(hedged).value == 2)
    await first.cancelRequested.wait()
    #expect(!first.isFinished)
    first.finish(with: 1)
    await finished(first)
    #expect(hedged.outcome?.value == 2 && first.outcome?.isCancelled == true)
  }

  @Test("A first attempt that succeeds while the second runs settles, and cancels the second")
  func first_whileSecondRuns_settlesAtOnce() async {
    let (first, second) = (HeldOperation<Int>(), HeldOperation<Int>(settlesWhenCancelled: true))
    let hedged = await hedging(first, with: second)
    first.finish(with: 1)
    #expect(await settled(hedged).value == 1)
    await finished(second)
    #expect(second.outcome?.isCancelled == true)
  }

  @Test("A failure of the first starts the second at once", arguments: [true, false])
  func first_failing_startsTheSecond(secondFails: Bool) async {
    let hedged = failing(TestError.first, as: Int.self).hedged(after: .seconds(1), clock: clock) {
      secondFails ? failing(TestError.second, as: Int.self) : succeeding(2)
    }
    let outcome = await outcomeOfStarting(hedged)
    if secondFails { #expect(outcome.error as? TestError == .second) } else { #expect(outcome.value == 2) }
    await clock.waitUntilIdle()
  }

  @Test("If both run and both fail, the last error is the error, whichever attempt it is of")
  func both_failing_lastErrorCounts() async {
    let (first, second) = (HeldOperation<Int>(), HeldOperation<Int>())
    let hedged = await hedging(first, with: second)
    second.reject(with: TestError.second)
    await finished(second)
    #expect(!hedged.isFinished)
    first.reject(with: TestError.first)
    #expect(await settled(hedged).error as? TestError == .first)
  }

  @Test("A second attempt that cannot be made counts as failed")
  func second_throwing_isAFailure() async {
    let hedged = failing(TestError.first, as: Int.self).hedged(after: .seconds(1), clock: clock) {
      () throws -> SimpleOperation<Int> in throw TestError.second
    }
    #expect(await outcomeOfStarting(hedged).error as? TestError == .second)
  }

  @Test("A cancel cancels both attempts, and settles when both have ended")
  func cancel_whileBothRun_waitsForBoth() async {
    let (first, second) = (HeldOperation<Int>(), HeldOperation<Int>())
    let hedged = await hedging(first, with: second)
    hedged.cancel()
    await first.cancelRequested.wait()
    await second.cancelRequested.wait()
    first.finish(with: 1)
    await finished(first)
    #expect(!hedged.isFinished)
    second.finish(with: 2)
    #expect(await settled(hedged).isCancelled)
  }

  @Test("Cancelled before its start, it settles the first attempt without running it")
  func cancel_beforeStart_runsNothing() async {
    let first = HeldOperation<Int>()
    let hedged = first.hedged(after: .seconds(1), clock: clock) { succeeding(2) }
    hedged.cancel()
    #expect(await outcomeOfStarting(hedged).isCancelled)
    await finished(first)
    #expect(first.outcome?.isCancelled == true && !first.started.isOpen)
  }

  @Test("An attempt that other code cancels cancels it, and no second attempt starts")
  func first_cancelledByOthers_cancelsIt() async {
    let first = HeldOperation<Int>(settlesWhenCancelled: true)
    let hedged = first.hedged(after: .seconds(1), clock: clock) { succeeding(2) }
    await onWorker { hedged.start() }
    await first.started.wait()
    first.cancel()
    #expect(await settled(hedged).isCancelled)
    await clock.waitUntilIdle()
  }

  @Test("A first attempt that other code runs is awaited, and left alone by a cancel")
  func first_runByOthers_isJoined() async {
    let first = HeldOperation<Int>()
    await onWorker { first.start() }
    let hedged = first.hedged(after: .seconds(1), clock: clock) { succeeding(2) }
    await onWorker { hedged.start() }
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(await settled(hedged).value == 2)
    #expect(!first.isCancelled)
    first.finish(with: 1)
  }

  @Test("In a queue with one slot the second attempt waits for the slot of the first")
  func second_inAQueueOfOne_needsASlot() async {
    let queue = OperationQueue(limit: 1)
    let (first, made) = (HeldOperation<Int>(), Locked(false))
    let hedged = first.hedged(after: .seconds(1), clock: clock) { () -> SimpleOperation<Int> in
      made.withLock { $0 = true }
      return succeeding(2)
    }
    let root = CompositeOperation(operations: [hedged], operationQueue: queue)
    await onWorker { root.start() }
    await first.started.wait()
    clock.advance(by: .seconds(1))
    first.finish(with: 1)
    #expect(await settled(hedged).value == 1)
    #expect(await settled(root).value != nil)
  }

  @Test("It nests in all other forms, and they in it")
  func hedged_nested_hasTheValue() async {
    let inner = succeeding(1).map { $0 + 1 }.timeout(.seconds(60))
    let nested = inner.hedged(after: .seconds(9)) { succeeding(5) }.exclusive("x", in: ExclusionRegistry())
      .hedged(after: .seconds(9)) { succeeding(6).map { $0 } }
    #expect(await outcomeOfStarting(all([nested.map { "\($0)" }, succeeding("b")])).value == ["2", "b"])
  }

  @Test("Its name is that of the first attempt")
  func name_isTheFirsts() {
    #expect(HeldOperation<Int>("search").hedged(after: .seconds(1)) { succeeding(1) }.name == "search")
  }

  // MARK: - Shared hedging

  @Test("There is no second attempt before there are enough samples")
  func percentile_tooFewSamples_hasNoSecond() async {
    let hedging = Hedging("search", after: .percentile(0.5, atLeast: 3), maxExtraShare: 1, clock: clock)
    for _ in 0..<2 {
      #expect(await outcomeOfStarting(succeeding(1).hedged(by: hedging) { succeeding(2) }).value == 1)
    }
    let failed = failing(TestError.first, as: Int.self).hedged(by: hedging) { succeeding(2) }
    #expect(await outcomeOfStarting(failed).error as? TestError == .first)
    #expect(await outcomeOfStarting(succeeding(1).hedged(by: hedging) { succeeding(2) }).value == 1)
    let second = failing(TestError.first, as: Int.self).hedged(by: hedging) { succeeding(2) }
    #expect(await outcomeOfStarting(second).value == 2)
  }

  @Test("No more second attempts start than the share allows")
  func share_usedUp_hasNoSecond() async {
    let hedging = Hedging(after: .fixed(.seconds(1)), maxExtraShare: 0.25, clock: clock)
    var seconds = 0
    for _ in 0..<40 {
      let hedged = failing(TestError.first, as: Int.self).hedged(by: hedging) { succeeding(2) }
      if await outcomeOfStarting(hedged).value == 2 { seconds += 1 }
    }
    #expect(seconds == 10)
  }

  @Test("The delay is the percentile of the recent durations")
  func percentile_ofDurations() {
    var state = HedgingState(share: 0.1)
    for number in (1...1_000).shuffled() { state.record(.seconds(number)) }
    #expect(state.sampleCount == 256)
    var recent = HedgingState(share: 0.1)
    for number in 1...1_000 { recent.record(.seconds(number)) }
    #expect(recent.percentile(0.5) == .seconds(745 + 128))
    #expect(recent.percentile(0.99) == .seconds(745 + 253))
  }
}
