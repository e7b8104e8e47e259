import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("8 RetrySequence by a policy", .hangLimit)
struct RetrySequencePolicyTests {
  private let clock = ManualClock()
  private let everySecond = RetryPolicy(maxAttempts: 3, backoff: .constant(.seconds(1)), jitter: .none)

  @Test("It waits between attempts; the composite has one child and one outcome for each attempt")
  func attempts_wait() async {
    let made = EventRecorder<Int>()
    let composite = CompositeOperation(
      sequence: RetrySequence(everySecond, clock: clock) { attempt in
        made.record(attempt)
        return attempt < 3 ? failing(TestError("\(attempt)")) : succeeding(attempt)
      })
    await onWorker { composite.start() }
    for attempt in 1...2 {
      await clock.waitForSleeper(dueIn: .seconds(1))
      #expect(made.count == attempt)
      clock.advance(by: .seconds(1))
    }
    #expect(await settled(composite).value as? [Int] == [3])
    #expect(composite.childOutcomes.map { $0?.error as? TestError } == [TestError("1"), TestError("2"), nil])
  }

  @Test("When none is left, the composite has every error")
  func attempts_exhausted() async throws {
    let policy = RetryPolicy(maxAttempts: 3, backoff: .noDelay)
    let composite = CompositeOperation(sequence: RetrySequence(policy) { failing(TestError("\($0)")) })
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map { ($0.error as? TestError)?.name } == ["1", "2", "3"])
  }

  @Test("An attempt that cannot be made after its delay ends it, and is not repeated")
  func attempt_notMade_ends() async throws {
    let made = EventRecorder<Int>()
    let composite = CompositeOperation(
      sequence: RetrySequence(everySecond, clock: clock) { attempt in
        made.record(attempt)
        guard attempt == 1 else { throw TestError.second }
        return failing(TestError.first)
      })
    await onWorker { composite.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    let error = try #require(await settled(composite).error as? CompositeError)
    #expect(error.failures.map { $0.error as? TestError } == [.first, .second])
    #expect(made.events == [1, 2])
  }

  @Test("An attempt that was used before fails it, also after a delay", arguments: [true, false])
  func attempt_wasUsedBefore_fails(hasEnded: Bool) async throws {
    let held = HeldOperation<Int>()
    await onWorker { held.start() }
    if hasEnded { held.reject(with: TestError.first) }
    let composite = CompositeOperation(
      sequence: RetrySequence(everySecond, clock: clock) { $0 == 1 ? failing(TestError.first) : held })
    await onWorker { composite.start() }
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    let error = try #require(await settled(composite).error as? CompositeError)
    let refusal = error.failures.last?.error as? OperationError
    #expect(error.failures.count == 2 && refusal?.code == (hasEnded ? .alreadyFinished : .alreadyInUse))
    held.finish(with: 1)
  }

  @Test("Cancelled during a delay, and by an attempt that is cancelled after one")
  func cancelled_isNotRetried() async {
    let composite = CompositeOperation(
      sequence: RetrySequence(everySecond, clock: clock) { _ in failing(TestError.first) })
    await onWorker { composite.start() }
    await clock.waitForSleeper()
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    // The thread that set the timer may be about to cancel it: it is not the one awaited below.
    await clock.waitUntilIdle()

    let attempt = CompositeOperation(
      sequence: RetrySequence(everySecond, clock: clock) { $0 == 1 ? failing(TestError.first) : cancelling() })
    await onWorker { attempt.start() }
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(await settled(attempt).isCancelled)
  }

  @Test("A failure has the attempt's name, also after a delay")
  func attempt_afterDelay_hasItsName() async throws {
    let composite = CompositeOperation(
      sequence: RetrySequence(everySecond, clock: clock) { failing(TestError.first, named: "attempt \($0)") })
    await onWorker { composite.start() }
    for _ in 1...2 {
      await clock.waitForSleeper(dueIn: .seconds(1))
      clock.advance(by: .seconds(1))
    }
    let error = try #require(await settled(composite).error as? CompositeError)
    #expect(error.failures.map(\.operationName) == ["attempt 1", "attempt 2", "attempt 3"])
  }

  @Test("A sequence is a value: each composite makes its own attempts")
  func sequence_usedTwice() async {
    let sequence = RetrySequence(RetryPolicy(maxAttempts: 2, backoff: .noDelay)) { attempt in
      attempt == 1 ? failing(TestError.first) : succeeding(attempt)
    }
    for _ in 1...2 {
      #expect(await outcomeOfStarting(CompositeOperation(sequence: sequence)).value as? [Int] == [2])
    }
  }

  @Test("A plain operation can be an attempt after a delay")
  func attempt_plain() async {
    let composite = CompositeOperation(
      sequence: RetrySequence(everySecond, clock: clock) { $0 == 1 ? failing(TestError.first) : BlockOperation {} })
    await onWorker { composite.start() }
    await clock.waitForSleeper()
    clock.advance(by: .seconds(1))
    #expect(await settled(composite).value?.count == 1)
  }
}
