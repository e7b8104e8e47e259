import CompositeOperations
import TestSupport
import Testing

@Suite("8 Backoff", .hangLimit)
struct BackoffTests {
  private func delays(_ backoff: Backoff, _ attempts: Int = 6) -> [Duration] {
    (1...attempts).map { backoff.delay(afterAttempt: $0) }
  }

  @Test("The delays of each kind")
  func kinds_giveTheirDelays() {
    #expect(delays(.noDelay, 3) == [.zero, .zero, .zero])
    #expect(delays(.constant(.seconds(2)), 3) == [2, 2, 2].map { .seconds($0) })
    #expect(delays(.linear(from: .seconds(1), by: .seconds(2))) == [1, 3, 5, 7, 9, 11].map { .seconds($0) })
    #expect(delays(.linear(from: .seconds(1))) == [1, 2, 3, 4, 5, 6].map { .seconds($0) })
    #expect(
      delays(.exponential(from: .milliseconds(200))) == [200, 400, 800, 1600, 3200, 6400].map { .milliseconds($0) })
    #expect(delays(.exponential(from: .seconds(1), multiplier: 3)) == [1, 3, 9, 27, 81, 243].map { .seconds($0) })
    #expect(delays(.fibonacci(.seconds(1))) == [1, 1, 2, 3, 5, 8].map { .seconds($0) })
    #expect(delays(.exponential(from: .seconds(1), multiplier: 1), 3) == [1, 1, 1].map { .seconds($0) })
    #expect(delays(.constant(.nanoseconds(1)), 2) == [.nanoseconds(1), .nanoseconds(1)])
  }

  @Test("No delay is longer than the maximum; without one there is no maximum")
  func maximum_isKept() {
    #expect(delays(.exponential(from: .seconds(1), maxDelay: .seconds(5)), 5) == [1, 2, 4, 5, 5].map { .seconds($0) })
    #expect(delays(.linear(from: .seconds(1), maxDelay: .seconds(2)), 3) == [1, 2, 2].map { .seconds($0) })
    #expect(delays(.fibonacci(.seconds(1), maxDelay: .milliseconds(2500)), 4).last == .milliseconds(2500))
    #expect(delays(.constant(.seconds(9), maxDelay: .zero), 1) == [.zero])
    #expect(Backoff.constant(.seconds(1), maxDelay: .seconds(5)).maximum == .seconds(5))
    #expect(Backoff.constant(.seconds(1)).maximum == nil && Backoff.noDelay.maximum == nil)
  }

  @Test("An attempt before the first counts as the first")
  func oddAttempts_countAsTheFirst() {
    for attempt in [Int.min, -1, 0] {
      #expect(Backoff.exponential(from: .seconds(7)).delay(afterAttempt: attempt) == .seconds(7))
    }
  }

  @Test("The jitter is kept, and leaves the delays before it as they are")
  func jitter_isKept() {
    for jitter: Backoff.Jitter in [.none, .full, .equal, .decorrelated, .inherited] {
      let backoff = Backoff.constant(.seconds(1), jitter: jitter)
      #expect(backoff.jitter == jitter)
      #expect(backoff.delay(afterAttempt: 1) == .seconds(1))
    }
    #expect(Backoff.constant(.seconds(1)).jitter == .inherited && Backoff.noDelay.jitter == .inherited)
  }

  @Test("Those of the same numbers are equal; others are not")
  func equality() {
    let all: [Backoff] = [
      .noDelay, .constant(.zero), .constant(.seconds(1)), .constant(.seconds(1), maxDelay: .seconds(1)),
      .constant(.seconds(1), jitter: .full), .constant(.seconds(1), jitter: .none), .linear(from: .seconds(1)),
      .linear(from: .seconds(1), by: .zero), .exponential(from: .seconds(1)),
      .exponential(from: .seconds(1), multiplier: 3), .fibonacci(.seconds(1)), .constant(.nanoseconds(1)),
    ]
    #expect(Set(all).count == all.count)
    #expect(Backoff.linear(from: .seconds(1)) == .linear(from: .milliseconds(1000), by: .seconds(1)))
    #expect(Set(all).contains(.exponential(from: .milliseconds(1000), multiplier: 2)))
  }

  @Test(
    "They stop growing instead of overflowing",
    arguments: [
      Backoff.linear(from: .seconds(1)), .linear(from: .zero, by: .seconds(Int64.max)),
      .exponential(from: .milliseconds(1)), .exponential(from: .nanoseconds(1), multiplier: 1e300),
      .fibonacci(.milliseconds(1)), .fibonacci(.seconds(Int64.max)),
    ])
  func huge_areBounded(backoff: Backoff) {
    let century = Duration.seconds(100 * 365 * 24 * 3600)
    for attempt in [1_000, 1_000_000, Int.max] {
      #expect(backoff.delay(afterAttempt: attempt) >= century || attempt < .max)
      #expect(backoff.delay(afterAttempt: attempt) <= century)
    }
  }

  @Test("A duration that is longer than a century counts as one")
  func longDurations_areACentury() {
    let century = Duration.seconds(100 * 365 * 24 * 3600)
    for endless in [century + .nanoseconds(1), .seconds(Int64.max), .seconds(Int64.max) * 18] {
      #expect(Backoff.constant(endless) == .constant(century))
      #expect(Backoff.linear(from: endless, by: endless) == .linear(from: century, by: century))
      #expect(Backoff.exponential(from: endless) == .exponential(from: century))
      #expect(Backoff.fibonacci(endless, maxDelay: endless) == .fibonacci(century, maxDelay: century))
    }
  }

  @Test("However many attempts there were, and however slowly it grows, a delay is found at once")
  func slowGrowth_isNotCountedThrough() {
    let backoff = Backoff.exponential(from: .seconds(1), multiplier: 1 + 1e-12)
    #expect(backoff.delay(afterAttempt: 1_000_001) >= .seconds(1))
    #expect(backoff.delay(afterAttempt: .max) >= .seconds(100 * 365 * 24 * 3600))
  }

  #if os(macOS) || os(Linux)
  @Test("Negative delays and multipliers that shrink or are no numbers trap", arguments: 0..<9)
  func badInput_traps(which: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
      switch which {
      case 0: _ = Backoff.constant(.seconds(-1))
      case 1: _ = Backoff.linear(from: .seconds(-1))
      case 2: _ = Backoff.linear(from: .seconds(1), by: .seconds(-1))
      case 3: _ = Backoff.exponential(from: .seconds(-1))
      case 4: _ = Backoff.exponential(from: .seconds(1), multiplier: 0.5)
      case 5: _ = Backoff.exponential(from: .seconds(1), multiplier: .nan)
      case 6: _ = Backoff.exponential(from: .seconds(1), multiplier: .infinity)
      case 7: _ = Backoff.fibonacci(.seconds(-1))
      default: _ = Backoff.constant(.seconds(1), maxDelay: .nanoseconds(-1))
      }
    }
    try expect(result, says: "Backoff.", "Use")
  }
  #endif
}
