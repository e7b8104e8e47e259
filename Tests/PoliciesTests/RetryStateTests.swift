import TestSupport
import Testing

@testable import CompositeOperations

@Suite("8 RetryPolicy: which attempt is when", .hangLimit)
struct RetryStateTests {
  /// The delays until the policy gives up, at most `count`.
  private func delays(_ policy: RetryPolicy, _ count: Int = 20) -> [Duration] {
    var retry = RetryState(policy)
    var delays: [Duration] = []
    _ = retry.begin()
    while delays.count < count, let delay = retry.failed(TestError.first) {
      delays.append(delay)
      _ = retry.begin()
    }
    return delays
  }

  @Test("As many attempts as allowed, the first included", arguments: 1...5)
  func attempts_areLimited(maxAttempts: Int) {
    let policy = RetryPolicy(maxAttempts: maxAttempts, backoff: .constant(.seconds(1)), jitter: .none)
    #expect(delays(policy).count == maxAttempts - 1)
  }

  @Test("Int.max is no limit")
  func attempts_unlimited() {
    #expect(delays(RetryPolicy(maxAttempts: .max)).count == 20)
  }

  @Test("The cap bounds the backoff")
  func cap_bounds() {
    let policy = RetryPolicy(
      maxAttempts: 6, backoff: .exponential(from: .seconds(1)), maxDelay: .seconds(5), jitter: .none)
    #expect(delays(policy) == [1, 2, 4, 5, 5].map { .seconds($0) })
  }

  @Test("willRetry is called for each further attempt, with its delay, and not for the last failure")
  func willRetry_isToldOfFurtherAttempts() {
    let told = EventRecorder<String>()
    var policy = RetryPolicy(maxAttempts: 4, backoff: .linear(from: .seconds(1)), jitter: .none) { _, attempt in
      attempt == 2 ? .retryAfter(.seconds(-1)) : .retry
    }
    policy.willRetry = { error, attempt, delay in told.record("\(error) \(attempt) \(delay)") }
    _ = delays(policy)
    let error = TestError.first
    #expect(told.events == ["\(error) 1 1.0 seconds", "\(error) 2 0.0 seconds", "\(error) 3 3.0 seconds"])
  }

  @Test("Equal jitter lies between half of the backoff and all of it, and uses all of that")
  func jitter_isEqual() {
    let policy = RetryPolicy(
      maxAttempts: .max, backoff: .constant(.seconds(8)), maxDelay: .seconds(4), jitter: .equal,
      randomSource: SeededRandomNumberGenerator(seed: 7))
    let all = delays(policy, 2_000)
    #expect(all.allSatisfy { $0 >= .seconds(2) && $0 <= .seconds(4) })
    #expect(all.contains { $0 < .milliseconds(2_050) } && all.contains { $0 > .milliseconds(3_950) })
  }

  @Test("Decorrelated jitter lies between the first delay and three times the one before, and ends at the cap")
  func jitter_isDecorrelated() {
    let policy = RetryPolicy(
      maxAttempts: .max, backoff: .constant(.seconds(1)), maxDelay: .seconds(60), jitter: .decorrelated,
      randomSource: SeededRandomNumberGenerator(seed: 7))
    let all = delays(policy, 2_000)
    #expect(all[0] >= .seconds(1) && all[0] <= .seconds(3))
    #expect(zip(all, all.dropFirst()).allSatisfy { $1 >= .seconds(1) && $1 <= min($0 * 3, .seconds(60)) })
    #expect(all.contains { $0 == .seconds(60) } && all.contains { $0 < .seconds(2) })
    let none = RetryPolicy(maxAttempts: 4, backoff: .noDelay, jitter: .decorrelated)
    #expect(delays(none) == [.zero, .zero, .zero])
  }

  @Test("Decorrelated jitter asks for delays after attempts that there were, and none before the first")
  func jitter_isDecorrelated_asksForAttemptsFromOne() {
    let asked = EventRecorder<Int>()
    var policy = RetryPolicy(maxAttempts: 4, jitter: .decorrelated)
    policy.delays = { attempt in
      asked.record(attempt)
      return .seconds(1)
    }
    #expect(delays(policy).count == 3)
    #expect(!asked.events.isEmpty)
    #expect(asked.events.allSatisfy { $0 >= 1 })
  }

  @Test("Decorrelated jitter without a cap ends at a century, instead of overflowing")
  func jitter_isDecorrelated_isBounded() {
    for backoff: Backoff in [.constant(.seconds(1)), .constant(.seconds(Int64.max))] {
      let policy = RetryPolicy(
        maxAttempts: .max, backoff: backoff, maxDelay: nil, jitter: .decorrelated,
        randomSource: SeededRandomNumberGenerator(seed: 7))
      #expect(delays(policy, 2_000).contains(.seconds(100 * 365 * 24 * 3600)))
      #expect(delays(policy, 2_000).allSatisfy { $0 >= .seconds(1) && $0 <= .seconds(100 * 365 * 24 * 3600) })
    }
  }

  @Test("The backoff's own maximum and jitter override those of the policy")
  func backoff_namesMaximumAndJitter_thoseHold() {
    func policy(_ maxDelay: Duration?, _ jitter: Backoff.Jitter, _ backoff: Backoff) -> RetryPolicy {
      RetryPolicy(
        maxAttempts: 200, backoff: backoff, maxDelay: maxDelay, jitter: jitter,
        randomSource: SeededRandomNumberGenerator(seed: 7))
    }
    // Longer than the default cap, shorter than a given one, and without a cap.
    var retries = RetryPolicy(
      maxAttempts: 9, backoff: .exponential(from: .seconds(20), maxDelay: .seconds(60), jitter: .none))
    #expect(delays(retries, 4) == [20, 40, 60, 60].map { .seconds($0) })
    retries.maxDelay = .seconds(90)
    #expect(delays(retries, 4) == [20, 40, 60, 60].map { .seconds($0) })
    retries.maxDelay = nil
    #expect(delays(retries, 4) == [20, 40, 60, 60].map { .seconds($0) })

    let second = Duration.seconds(1)
    for jitter: Backoff.Jitter in [.none, .full, .equal, .decorrelated] {
      let own = delays(policy(.seconds(9), .none, .constant(second, jitter: jitter)), 199)
      #expect(own == delays(policy(.seconds(9), jitter, .constant(second)), 199))
      #expect(own == delays(policy(.seconds(9), .full, .constant(second, jitter: jitter)), 199))
    }
    #expect(
      delays(policy(nil, .inherited, .constant(second)), 199) == delays(policy(nil, .full, .constant(second)), 199))
  }

  @Test("Delays of one's own are in place of the backoff's, capped and spread by the policy; a negative one is none")
  func delays_areGiven_thoseHold() {
    var policy = RetryPolicy(
      maxAttempts: 5, backoff: .constant(.seconds(3), maxDelay: .seconds(1), jitter: .full), maxDelay: .seconds(15),
      jitter: .none)
    policy.delays = { .seconds($0 * 10 - 20) }
    #expect(delays(policy) == [0, 0, 10, 15].map { .seconds($0) })
    policy.jitter = .equal
    policy.randomSource = SeededRandomNumberGenerator(seed: 3)
    let spread = delays(policy)
    #expect(spread[..<2] == [.zero, .zero])
    #expect(spread[2] > .seconds(5) && spread[2] < .seconds(10))
    policy.delays = nil
    #expect(delays(policy).allSatisfy { $0 >= .zero && $0 <= .seconds(1) })
  }

  @Test(
    "Full jitter lies between zero and the backoff, and uses all of that; the same composition gives the same delays")
  func jitter_isFull() {
    var policy = RetryPolicy(
      maxAttempts: .max, backoff: .constant(.seconds(8)), maxDelay: .seconds(4), jitter: .full,
      randomSource: SeededRandomNumberGenerator(seed: 7))
    let all = delays(policy, 2_000)
    #expect(all.allSatisfy { $0 >= .zero && $0 <= .seconds(4) })
    #expect(all.contains { $0 < .milliseconds(100) } && all.contains { $0 > .milliseconds(3_900) })
    let mean = all.reduce(.zero, +) / all.count
    #expect(mean > .milliseconds(1_900) && mean < .milliseconds(2_100))
    #expect(delays(policy, 2_000) == all)
    policy.randomSource = SeededRandomNumberGenerator(seed: 8)
    #expect(delays(policy, 2_000) != all)
  }

  @Test("The decision: by error and attempt; a delay of its own is neither capped nor jittered; never negative")
  func decision_isAsked() {
    let asked = EventRecorder<Int>()
    let policy = RetryPolicy(maxAttempts: 9, backoff: .noDelay, maxDelay: .seconds(1)) { error, attempt in
      asked.record(attempt)
      switch attempt {
      case 1: return .retryAfter(.seconds(120))
      case 2: return .retryAfter(.seconds(-5))
      case 3: return .retry
      default: return error as? TestError == .first ? .stop : .retry
      }
    }
    #expect(delays(policy) == [.seconds(120), .zero, .zero])
    #expect(asked.events == [1, 2, 3, 4])
  }

  /// A generator as tests write them.
  private struct Constant: RandomNumberGenerator, Sendable {
    let number: UInt64

    func next() -> UInt64 { number }
  }

  @Test("A random composition that always returns the same gives a delay, from none to all of it")
  func randomSource_isConstant_givesDelays() {
    for (number, delay) in [(UInt64.min, Duration.zero), (UInt64.max, .seconds(1))] {
      var policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(1)), jitter: .full)
      policy.randomSource = Constant(number: number)
      #expect(delays(policy) == [delay])
    }
  }

  #if os(macOS) || os(Linux)
  @Test("No attempts, or a negative cap, trap", arguments: 0..<4)
  func badInput_traps(which: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
      var policy = RetryPolicy()
      switch which {
      case 0: policy = RetryPolicy(maxAttempts: 0)
      case 1: policy.maxAttempts = -1
      case 2: policy = RetryPolicy(maxDelay: .seconds(-1))
      default: policy.maxDelay = .seconds(-1)
      }
    }
    try expect(result, says: "RetryPolicy was given", "Use")
  }
  #endif
}
