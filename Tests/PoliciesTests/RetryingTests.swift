import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("8 retrying", .hangLimit)
struct RetryingTests {
  private let clock = ManualClock()
  private let everySecond = RetryPolicy(maxAttempts: 4, backoff: .constant(.seconds(1)), jitter: .none)
  private let atOnce = RetryPolicy(maxAttempts: 4, backoff: .noDelay)

  private func errors(_ outcome: Outcome<Int>) -> [TestError]? {
    (outcome.error as? RetryError)?.errors.compactMap { $0 as? TestError }
  }

  @Test("The operation is the first attempt; a success of it is the end")
  func retrying_succeeding_makesNothing() async {
    let retried = succeeding(1).retrying(atOnce) { _ in succeeding(2) }
    #expect(await outcomeOfStarting(retried).value == 1)
  }

  @Test("Further attempts are made with their numbers, until one succeeds")
  func retrying_failing_makesFurtherOnes() async {
    let made = EventRecorder<Int>()
    let retried = failing(TestError.first, as: Int.self).retrying(atOnce) { attempt in
      made.record(attempt.number)
      return attempt.number < 3 ? failing(TestError.second) : succeeding(attempt.number)
    }
    #expect(await outcomeOfStarting(retried).value == 3)
    #expect(made.events == [2, 3])
  }

  @Test("The free form makes the first attempt too")
  func retrying_free_makesAll() async {
    let made = EventRecorder<Int>()
    let retried = retrying(atOnce) { attempt -> SimpleOperation<Int> in
      made.record(attempt.number)
      return failing(TestError("\(attempt.number)"))
    }
    #expect(errors(await outcomeOfStarting(retried))?.map(\.name) == ["1", "2", "3", "4"])
    #expect(made.events == [1, 2, 3, 4])
  }

  @Test("Every attempt's error is in the error, and its description")
  func retrying_exhausted_keepsErrors() async throws {
    let retried = failing(TestError.first, as: Int.self).retrying(RetryPolicy(maxAttempts: 2, backoff: .noDelay)) { _ in
      failing(TestError.second)
    }
    let error = try #require(await outcomeOfStarting(retried).error as? RetryError)
    #expect(error.errors as? [TestError] == [.first, .second])
    #expect(error.lastError as? TestError == .second)
    #expect(
      error.description == """
        2 attempts failed
          [1]: test error first
          [2]: test error second
        Repair the cause of the last error, or let the policy make more attempts.
        """)
  }

  @Test("Of many errors the first four and the newest are kept, and the others are counted")
  func retrying_oftenInVain_keepsFewErrors() async throws {
    let retried = retrying(RetryPolicy(maxAttempts: 1000, backoff: .noDelay)) { attempt -> SimpleOperation<Int> in
      failing(TestError("\(attempt.number)"))
    }
    let error = try #require(await outcomeOfStarting(retried).error as? RetryError)
    #expect(RetryError.maxErrorCount == 16)
    let kept = Array(1...4) + Array(989...1000)
    #expect(error.errors.compactMap { ($0 as? TestError)?.name } == kept.map { "\($0)" })
    #expect(error.omittedErrorCount == 984)
    #expect((error.lastError as? TestError)?.name == "1000")
    let lines = error.description.split(separator: "\n")
    #expect(lines[0] == "1000 attempts failed" && lines[5] == "  … 984 more")
    #expect(lines[4].hasPrefix("  [4]: ") && lines[6].hasPrefix("  [989]: ") && lines[17].hasPrefix("  [1000]: "))
  }

  @Test("The delay lies between the end of one attempt and the making of the next")
  func retrying_waitsBetween() async {
    let made = EventRecorder<Int>()
    let retried = retrying(everySecond, clock: clock) { attempt -> SimpleOperation<Int> in
      made.record(attempt.number)
      return attempt.number < 3 ? failing(TestError.first) : succeeding(attempt.number)
    }
    await onWorker { retried.start() }
    for attempt in 1...2 {
      await clock.waitForSleeper(dueIn: .seconds(1))
      #expect(made.count == attempt)
      clock.advance(by: .seconds(1))
    }
    #expect(await settled(retried).value == 3)
    #expect(clock.sleeperCount == 0)
  }

  @Test("The policy may say after how long, and to stop")
  func retrying_decision() async {
    let policy = RetryPolicy(maxAttempts: 9) { error, attempt in
      error as? TestError == .first ? .retryAfter(.seconds(120)) : .stop
    }
    let retried = failing(TestError.first, as: Int.self).retrying(policy, clock: clock) { _ in failing(TestError.second)
    }
    await onWorker { retried.start() }
    await clock.waitForSleeper(dueIn: .seconds(120))
    clock.advance(by: .seconds(120))
    #expect(errors(await settled(retried)) == [.first, .second])
  }

  @Test("A cancelled attempt is not repeated, and the policy is not asked")
  func retrying_cancelledAttempt_isCancelled() async {
    let asked = Gate()
    let policy = RetryPolicy { _, _ in
      asked.open()
      return .retry
    }
    let retried = cancelling(as: Int.self).retrying(policy) { _ in succeeding(1) }
    #expect(await outcomeOfStarting(retried).isCancelled)
    #expect(!asked.isOpen)
  }

  @Test("Cancelled during an attempt, it is cancelled when that has ended")
  func retrying_cancelledDuringAttempt() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let retried = failing(TestError.first, as: Int.self).retrying(atOnce) { _ in held }
    await onWorker { retried.start() }
    await held.started.wait()
    retried.cancel()
    #expect(await settled(retried).isCancelled)
    #expect(held.isCancelled)
  }

  @Test("Cancelled during a delay, it is cancelled at once, makes nothing and leaves no timer")
  func retrying_cancelledDuringDelay() async {
    let made = Gate()
    let retried = failing(TestError.first, as: Int.self).retrying(everySecond, clock: clock) { _ in
      made.open()
      return succeeding(1)
    }
    await onWorker { retried.start() }
    await clock.waitForSleeper()
    retried.cancel()
    #expect(await settled(retried).isCancelled)
    #expect(!made.isOpen)
    await clock.waitUntilIdle()
  }

  @Test("An error that the factory throws is the last one; a CancellationError cancels")
  func retrying_factoryThrowing_ends() async {
    let thrown = failing(TestError.first, as: Int.self).retrying(atOnce) { _ -> SimpleOperation<Int> in
      throw TestError.second
    }
    #expect(errors(await outcomeOfStarting(thrown)) == [.first, .second])
    let cancelled = retrying(atOnce) { _ -> SimpleOperation<Int> in throw CancellationError() }
    #expect(await outcomeOfStarting(cancelled).isCancelled)
  }

  @Test("During a delay no slot is taken")
  func retrying_inQueue_takesNoSlotDuringDelay() async {
    let queue = OperationQueue(limit: 1)
    let ran = Gate()
    let retried = failing(TestError.first, as: Int.self).retrying(everySecond, clock: clock) { _ in succeeding(1) }
    let composite = CompositeOperation(operationQueue: queue, [retried, BlockOperation { ran.open() }])
    composite.start()
    await clock.waitForSleeper()
    await ran.wait()
    clock.advance(by: .seconds(1))
    #expect(await settled(composite).value != nil)
  }

  @Test("Policies stack in the order in which they are written: a limit for each attempt, and one for all")
  func retrying_withTimeouts() async {
    let attempts = EventRecorder<Int>()
    let retried = retrying(everySecond, clock: clock) { [clock] attempt in
      attempts.record(attempt.number)
      return HeldOperation<Int>(settlesWhenCancelled: true).timeout(.seconds(2), clock: clock)
    }.timeout(.seconds(4), clock: clock)
    await onWorker { retried.start() }
    await clock.waitForSleeper(dueIn: .seconds(2))
    clock.advance(by: .seconds(2))  // the first attempt is over
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))  // the second begins
    await attempts.wait(for: 2)
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect((await settled(retried).error as? OperationTimeout)?.limit == .seconds(4))
    #expect(attempts.events == [1, 2])
  }

  @Test("Settled by other code during an attempt, it cancels that; during a delay, it leaves no timer")
  func retrying_settledFromOutside_stops() async {
    let made = EventRecorder<Int>()
    let never = NeverFinishingOperation<Int>()
    let duringAttempt = retrying(atOnce) { attempt in
      made.record(attempt.number)
      return never
    }
    await onWorker { duringAttempt.start() }
    await never.started.wait()
    #expect(duringAttempt.finish(with: 5))
    #expect(never.isCancelled)
    #expect(duringAttempt.outcome?.value == 5)

    let duringDelay = failing(TestError.first, as: Int.self).retrying(everySecond, clock: clock) { attempt in
      made.record(attempt.number)
      return succeeding(attempt.number)
    }
    await onWorker { duringDelay.start() }
    await clock.waitForSleeper()
    #expect(duringDelay.reject(with: TestError.second))
    await clock.waitUntilIdle()
    #expect(made.events == [1])
  }

  @Test("Settled by other code before it starts, it releases its closures and makes nothing")
  func retrying_settledBeforeStart_releasesAll() {
    let released = Gate()
    func make() -> SimpleOperation<Int> {
      let probe = ReleaseProbe(released)
      return retrying(atOnce) { attempt in
        probe.touch()
        return succeeding(attempt.number)
      }
    }
    let retried = make()
    #expect(!released.isOpen)
    #expect(retried.finish(with: 5))
    #expect(released.isOpen)
    retried.start()
    #expect(retried.outcome?.value == 5)
  }

  @Test("An attempt that has failed already and is returned again is a mistake, which ends it")
  func retrying_sameOperationAgain_fails() async throws {
    let failed = failing(TestError.first, as: Int.self)
    let retried = retrying(RetryPolicy(maxAttempts: .max, backoff: .noDelay)) { _ in failed }
    let error = try #require(await outcomeOfStarting(retried).error as? RetryError)
    #expect(error.errors.count == 2)
    #expect((error.lastError as? OperationError)?.code == .alreadyFinished)
  }

  @Test("So is one that failed before the last one")
  func retrying_earlierOperationAgain_fails() async throws {
    let failures = [failing(TestError.first, as: Int.self), failing(TestError.second, as: Int.self)]
    let retried = retrying(RetryPolicy(maxAttempts: 6, backoff: .noDelay)) { failures[$0.number % 2] }
    let error = try #require(await outcomeOfStarting(retried).error as? RetryError)
    #expect(error.errors.count == 3)
    #expect((error.lastError as? OperationError)?.code == .alreadyFinished)
  }

  @Test("Operations without a static value can be retried, and give none")
  func retrying_anyOperation_givesVoid() async {
    let first: Operation = failing(TestError.first, as: Int.self)
    let retried: SimpleOperation<Void> = first.asSimpleOperation().retrying(atOnce) { attempt in
      let next: Operation = attempt.number < 3 ? failing(TestError.second, as: String.self) : BlockOperation {}
      return next.asSimpleOperation()
    }
    #expect(await outcomeOfStarting(retried).value != nil)
  }

  @Test("The policy's defaults: three attempts, doubling from 200 ms, at most 30 s, full jitter")
  func retrying_defaults() {
    let policy = RetryPolicy()
    #expect(policy.maxAttempts == 3 && policy.maxDelay == .seconds(30) && policy.jitter == .full)
    #expect((1...4).map { policy.backoff.delay(afterAttempt: $0) } == [200, 400, 800, 1600].map { .milliseconds($0) })
    #expect(policy.decide(TestError.first, 1) == .retry)
  }

  @Test("A policy that cancels, from inside its decision, ends it")
  func retrying_decisionCancelling_isCancelled() async {
    let box = Locked<SimpleOperation<Int>?>(nil)
    let policy = RetryPolicy(maxAttempts: .max, backoff: .noDelay) { _, attempt in
      if attempt == 3 { box.withLock { $0.take() }?.cancel() }
      return .retry
    }
    let retried = retrying(policy) { _ in failing(TestError.first, as: Int.self) }
    box.withLock { $0 = retried }
    #expect(await outcomeOfStarting(retried).isCancelled)
  }

  @Test("Many attempts, each at once, in constant stack")
  func retrying_manyAttempts() async {
    let attempts = Scale.count(100_000, least: 10_000)
    let policy = RetryPolicy(maxAttempts: .max, backoff: .noDelay)
    let retried = retrying(policy) { attempt in
      attempt.number < attempts ? failing(TestError.first) : succeeding(attempt.number)
    }
    #expect(await outcomeOfStarting(retried).value == attempts)
  }

  @Test("When it has settled, closures and attempts are released")
  func retrying_settled_releasesAll() async {
    let released = Gate()
    func make() -> SimpleOperation<Int> {
      let probe = ReleaseProbe(released)
      let policy = RetryPolicy(backoff: .noDelay)
      return retrying(policy) { attempt in
        probe.touch()
        return attempt.number < 2 ? failing(TestError.first) : succeeding(attempt.number)
      }
    }
    let retried = make()
    #expect(await outcomeOfStarting(retried).value == 2)
    await released.wait()
  }
}

extension CompositeOperation {
  fileprivate convenience init(operationQueue: OperationQueue, _ operations: [Operation]) {
    self.init(operations: operations, operationQueue: operationQueue)
  }
}
