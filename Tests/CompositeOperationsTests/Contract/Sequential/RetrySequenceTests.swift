import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.3 RetrySequence", .hangLimit)
struct RetrySequenceTests {
  @Test("3.3 The first attempt succeeds: one attempt, its value")
  func attempt_succeeding_endsIt() async {
    let attempts = EventRecorder<Int>()
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 3) { attempt in
        attempts.record(attempt)
        return succeeding("value")
      })
    #expect(await outcomeOfStarting(composite).value as? [String] == ["value"])
    #expect(attempts.events == [1])
  }

  @Test("3.3 Attempts are counted from 1 and made anew until one succeeds")
  func attempts_failingTwice_areRetried() async {
    let attempts = EventRecorder<Int>()
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 5) { attempt in
        attempts.record(attempt)
        return attempt < 3 ? failing(TestError("\(attempt)")) : succeeding(attempt)
      })
    #expect(await outcomeOfStarting(composite).value as? [Int] == [3])
    #expect(attempts.events == [1, 2, 3])
    #expect(composite.childOutcomes.map { Ending($0) } == [.failure, .failure, .success])
  }

  @Test("3.3 All attempts fail: every error, maxAttempts of them")
  func attempts_allFailing_fail() async throws {
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 3) { attempt in failing(TestError("\(attempt)")) })
    let error = try #require(await outcomeOfStarting(composite).error as? CompositeError)
    #expect(error.failures.map(\.index) == [0, 1, 2])
    #expect(composite.failures.map(\.name) == ["1", "2", "3"])
  }

  @Test("3.3 maxAttempts 1: one attempt, no retry")
  func maxAttempts_one_doesNotRetry() async {
    let attempts = EventRecorder<Int>()
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 1) { attempt in
        attempts.record(attempt)
        return failing(TestError.first)
      })
    _ = await outcomeOfStarting(composite)
    #expect(attempts.events == [1])
    #expect(composite.failures == [.first])
  }

  @Test("3.3 It never retries a cancelled attempt")
  func attempt_cancelled_isNotRetried() async {
    let attempts = EventRecorder<Int>()
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 5) { attempt in
        attempts.record(attempt)
        return attempt == 2 ? cancelling() : failing(TestError.first)
      })
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(attempts.events == [1, 2])
  }

  @Test("3.3 The closure throws: failure with that error last")
  func closure_throwing_fails() async {
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 5) { attempt in
        guard attempt < 3 else { throw TestError.second }
        return failing(TestError.first)
      })
    _ = await outcomeOfStarting(composite)
    #expect(composite.failures == [.first, .first, .second])
  }

  @Test("3.3 Used again, it has all its attempts again")
  func sequence_usedAgain_startsAfresh() async {
    let sequence = RetrySequence(maxAttempts: 2) { attempt in failing(TestError("\(attempt)")) }
    for _ in 0..<3 {
      let composite = CompositeOperation(sequence: sequence)
      _ = await outcomeOfStarting(composite)
      #expect(composite.failures.map(\.name) == ["1", "2"])
    }
  }

  @Test("3.3 Plain operations and composites can be attempts")
  func attempts_ofEveryKind_work() async {
    let plain = CompositeOperation(sequence: RetrySequence(maxAttempts: 2) { _ in BlockOperation {} })
    #expect(await outcomeOfStarting(plain).value?.count == 1)
    let composite = CompositeOperation(
      sequence: RetrySequence(maxAttempts: 3) { attempt in
        CompositeOperation(operations: [attempt < 3 ? failing(TestError.first) : succeeding(attempt)])
      })
    let values = await outcomeOfStarting(composite).value
    #expect((values?.first as? [any Sendable])?.first as? Int == 3)
  }
}
