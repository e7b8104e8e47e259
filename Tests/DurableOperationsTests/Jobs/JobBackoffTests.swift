import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite("Backoff of jobs", .timeLimit(.minutes(30)))
struct JobBackoffTests {
  /// Asking it is an error.
  private struct NoRandomNumbers: RandomNumberGenerator {
    mutating func next() -> UInt64 { fatalError("A random number was asked for") }
  }

  private func delays(_ backoff: JobBackoff, _ count: Int = 5) -> [Double] {
    var random = NoRandomNumbers()
    return (1...count).map { backoff.delay(afterAttempt: $0, using: &random) / .seconds(1) }
  }

  @Test("Without jitter, the delays are those of the core")
  func kinds_giveTheirDelays() {
    #expect(delays(.noDelay) == [0, 0, 0, 0, 0])
    #expect(delays(.constant(.seconds(3), jitter: false)) == [3, 3, 3, 3, 3])
    #expect(delays(.linear(from: .seconds(1), by: .seconds(2), jitter: false)) == [1, 3, 5, 7, 9])
    #expect(delays(.linear(from: .seconds(2), jitter: false)) == [2, 4, 6, 8, 10])
    #expect(delays(.exponential(from: .seconds(1), jitter: false)) == [1, 2, 4, 8, 16])
    #expect(delays(.exponential(from: .seconds(1), multiplier: 1.5, jitter: false), 3) == [1, 1.5, 2.25])
    #expect(delays(.fibonacci(.seconds(1), jitter: false)) == [1, 1, 2, 3, 5])
    #expect(delays(.constant(.zero)) == [0, 0, 0, 0, 0])
  }

  @Test("No delay is longer than the maximum, which is a day unless told otherwise")
  func maximum_isKept() {
    #expect(delays(.exponential(from: .seconds(1), maximum: .seconds(5), jitter: false)) == [1, 2, 4, 5, 5])
    #expect(delays(.constant(.seconds(9), maximum: .zero), 1) == [0])
    var random = NoRandomNumbers()
    for backoff: JobBackoff in [
      .exponential(from: .milliseconds(1), jitter: false), .fibonacci(.seconds(1), jitter: false),
      .linear(from: .seconds(1), jitter: false), .constant(.seconds(Int64.max), jitter: false),
    ] {
      #expect(backoff.delay(afterAttempt: .max, using: &random) == .seconds(86_400))
      #expect(backoff.maximum == .seconds(86_400))
    }
    let patient = JobBackoff.exponential(from: .seconds(1), maximum: .seconds(Int64.max), jitter: false)
    #expect(patient.delay(afterAttempt: .max, using: &random) == .seconds(100 * 365 * 86_400))
  }

  @Test("An attempt before the first counts as the first")
  func oddAttempts_countAsTheFirst() {
    var random = NoRandomNumbers()
    for attempt in [Int.min, -1, 0] {
      let backoff = JobBackoff.exponential(from: .seconds(7), jitter: false)
      #expect(backoff.delay(afterAttempt: attempt, using: &random) == .seconds(7))
    }
  }

  @Test("With jitter, any delay up to the computed one comes, zero and itself included")
  func jitter_isFull() {
    var random = SeededRandomNumberGenerator(seed: 5)
    let backoff = JobBackoff.constant(.milliseconds(9))
    var counts: [Duration: Int] = [:]
    for _ in 0..<10_000 { counts[backoff.delay(afterAttempt: 1, using: &random), default: 0] += 1 }
    #expect(Set(counts.keys) == Set((0...9).map { .milliseconds($0) }))
    #expect(counts.values.allSatisfy { (800...1200).contains($0) }, "\(counts)")
    // The same source of numbers, the same delays.
    var (one, other) = (SeededRandomNumberGenerator(seed: 1), SeededRandomNumberGenerator(seed: 1))
    for attempt in 1...20 {
      let delay = JobBackoff.default.delay(afterAttempt: attempt, using: &one)
      #expect(delay == JobBackoff.default.delay(afterAttempt: attempt, using: &other))
      #expect(delay >= .zero && delay <= .seconds(1 << (attempt - 1)))
    }
  }

  @Test("A fraction of a millisecond counts as a whole one")
  func fractions_areRoundedUp() {
    #expect(JobBackoff.constant(.microseconds(1), jitter: false) == .constant(.milliseconds(1), jitter: false))
    #expect(JobBackoff.constant(.microseconds(1001), jitter: false).storedForm == "c2!")
    #expect(delays(.exponential(from: .milliseconds(1), multiplier: 1.5, jitter: false), 3) == [0.001, 0.002, 0.003])
  }

  // MARK: - Stored form

  static let stored: [(JobBackoff, String)] = [
    (.noDelay, "n"), (.default, "e1000*2"), (.constant(.seconds(3)), "c3000"),
    (.constant(.seconds(3), jitter: false), "c3000!"),
    (.linear(from: .seconds(1), by: .zero, maximum: .seconds(60)), "l1000+0<60000"),
    (.exponential(from: .milliseconds(200), multiplier: 1.5, maximum: .zero, jitter: false), "e200*1.5<0!"),
    (.exponential(from: .seconds(1), multiplier: 1e300), "e1000*1e+300"),
    (.fibonacci(.seconds(Int64.max), maximum: .seconds(Int64.max)), "f3153600000000<3153600000000"),
  ]

  @Test("The stored form is short, stable, and reads back", arguments: stored)
  func storedForm_readsBack(backoff: JobBackoff, text: String) throws {
    #expect(backoff.storedForm == text)
    #expect(JobBackoff(storedForm: text) == backoff)
    let data = try JSONEncoder().encode([backoff])
    #expect(String(decoding: data, as: UTF8.self) == "[\"\(text)\"]")
    #expect(try JSONDecoder().decode([JobBackoff].self, from: data) == [backoff])
  }

  @Test(
    "A text that is no stored form is nil, and a decoding error that quotes it",
    arguments: [
      "", "!", "<", "x", "n1", "c", "c-1", "c+1", "c1.5", "c1<", "c1<-1", "c1<2<3", "c1!!", "c99999999999999999999",
      "l1",
      "l1+", "l+1", "e1", "e1*", "e1*0.5", "e1*nan", "e1*inf", "e-1*2", "f", "fx", "c3153600000001", " c1",
    ])
  func otherText_isNil(text: String) throws {
    #expect(JobBackoff(storedForm: text) == nil)
    do {
      _ = try JSONDecoder().decode([JobBackoff].self, from: JSONEncoder().encode([text]))
      Issue.record("It was decoded")
    } catch DecodingError.dataCorrupted(let context) {
      #expect(context.debugDescription.contains("“\(text)”"))
    }
  }

  #if os(macOS) || os(Linux)
  @Test("Negative delays, and multipliers that shrink or are no numbers, trap", arguments: 0..<9)
  func badInput_traps(which: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
      switch which {
      case 0: _ = JobBackoff.constant(.seconds(-1))
      case 1: _ = JobBackoff.linear(from: .seconds(-1))
      case 2: _ = JobBackoff.linear(from: .seconds(1), by: .nanoseconds(-1))
      case 3: _ = JobBackoff.exponential(from: .seconds(-1))
      case 4: _ = JobBackoff.exponential(from: .seconds(1), multiplier: 0.5)
      case 5: _ = JobBackoff.exponential(from: .seconds(1), multiplier: .nan)
      case 6: _ = JobBackoff.exponential(from: .seconds(1), multiplier: .infinity)
      case 7: _ = JobBackoff.fibonacci(.seconds(-1))
      default: _ = JobBackoff.constant(.seconds(1), maximum: .seconds(-1))
      }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("JobBackoff.") && text.contains("Use"), "\(text)")
  }
  #endif
}
