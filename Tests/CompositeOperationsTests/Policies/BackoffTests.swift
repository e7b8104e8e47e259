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
    #expect(delays(.custom { .seconds($0 * 10 - 20) }, 3) == [0, 0, 10].map { .seconds($0) })
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
    }
  }

  @Test("However many attempts there were, and however slowly it grows, a delay is found at once")
  func slowGrowth_isNotCountedThrough() {
    let backoff = Backoff.exponential(from: .seconds(1), multiplier: 1 + 1e-12)
    #expect(backoff.delay(afterAttempt: 1_000_001) >= .seconds(1))
    #expect(backoff.delay(afterAttempt: .max) >= .seconds(100 * 365 * 24 * 3600))
  }

  #if os(macOS) || os(Linux)
  @Test("Negative delays and multipliers that shrink or are no numbers trap", arguments: 0..<7)
  func badInput_traps(which: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
      switch which {
      case 0: _ = Backoff.constant(.seconds(-1))
      case 1: _ = Backoff.linear(from: .seconds(-1))
      case 2: _ = Backoff.linear(from: .seconds(1), by: .seconds(-1))
      case 3: _ = Backoff.exponential(from: .seconds(-1))
      case 4: _ = Backoff.exponential(from: .seconds(1), multiplier: 0.5)
      case 5: _ = Backoff.exponential(from: .seconds(1), multiplier: .nan)
      default: _ = Backoff.fibonacci(.seconds(-1))
      }
    }
    try expect(result, says: "Backoff.", "Use")
  }
  #endif
}
