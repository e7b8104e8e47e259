import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite("Backoff of jobs", .timeLimit(.minutes(30)))
struct BackoffOfJobsTests {
  /// Asking it is an error.
  private struct NoRandomNumbers: RandomNumberGenerator {
    mutating func next() -> UInt64 { fatalError("A random number was asked for") }
  }

  private func delays(_ backoff: Backoff, _ count: Int = 5) -> [Double] {
    var random = NoRandomNumbers()
    return (1...count).map { backoff.jobDelay(afterAttempt: $0, using: &random) / .seconds(1) }
  }

  private func counts(_ backoff: Backoff, afterAttempt attempt: Int = 1) -> [Duration: Int] {
    var random = SeededRandomNumberGenerator(seed: 5)
    var counts: [Duration: Int] = [:]
    for _ in 0..<10_000 { counts[backoff.jobDelay(afterAttempt: attempt, using: &random), default: 0] += 1 }
    return counts
  }

  // MARK: - Delays

  @Test("Without jitter, the delays are those of the core")
  func kinds_giveTheirDelays() {
    #expect(delays(.noDelay) == [0, 0, 0, 0, 0])
    #expect(delays(.constant(.seconds(3), jitter: .none)) == [3, 3, 3, 3, 3])
    #expect(delays(.linear(from: .seconds(1), by: .seconds(2), jitter: .none)) == [1, 3, 5, 7, 9])
    #expect(delays(.linear(from: .seconds(2), jitter: .none)) == [2, 4, 6, 8, 10])
    #expect(delays(.exponential(from: .seconds(1), jitter: .none)) == [1, 2, 4, 8, 16])
    #expect(delays(.exponential(from: .seconds(1), multiplier: 1.5, jitter: .none), 3) == [1, 1.5, 2.25])
    #expect(delays(.fibonacci(.seconds(1), jitter: .none)) == [1, 1, 2, 3, 5])
    #expect(delays(.constant(.zero)) == [0, 0, 0, 0, 0])
  }

  @Test("A job that says nothing waits for 1 s, 2 s, 4 s and so on, with full jitter")
  func queue_default() {
    #expect(DurableQueue.Configuration().backoff == .exponential(from: .seconds(1)))
    #expect(JobOptions().backoff == nil)
  }

  @Test("No delay is longer than the maximum, which is a day unless told otherwise")
  func maximum_isKept() {
    #expect(delays(.exponential(from: .seconds(1), maxDelay: .seconds(5), jitter: .none)) == [1, 2, 4, 5, 5])
    #expect(delays(.constant(.seconds(9), maxDelay: .zero), 1) == [0])
    var random = NoRandomNumbers()
    for backoff: Backoff in [
      .exponential(from: .milliseconds(1), jitter: .none), .fibonacci(.seconds(1), jitter: .none),
      .linear(from: .seconds(1), jitter: .none), .constant(.seconds(Int64.max), jitter: .none),
    ] {
      #expect(backoff.jobDelay(afterAttempt: .max, using: &random) == .seconds(86_400))
    }
    let patient = Backoff.exponential(from: .seconds(1), maxDelay: .seconds(Int64.max), jitter: .none)
    #expect(patient.jobDelay(afterAttempt: .max, using: &random) == .seconds(100 * 365 * 86_400))
  }

  @Test("An attempt before the first counts as the first")
  func oddAttempts_countAsTheFirst() {
    var random = NoRandomNumbers()
    for attempt in [Int.min, -1, 0] {
      let backoff = Backoff.exponential(from: .seconds(7), jitter: .none)
      #expect(backoff.jobDelay(afterAttempt: attempt, using: &random) == .seconds(7))
    }
  }

  @Test("With jitter, any delay up to the computed one comes, zero and itself included")
  func jitter_isFull() {
    for backoff: Backoff in [.constant(.milliseconds(9)), .constant(.milliseconds(9), jitter: .full)] {
      let counts = counts(backoff)
      #expect(Set(counts.keys) == Set((0...9).map { .milliseconds($0) }))
      #expect(counts.values.allSatisfy { (800...1200).contains($0) }, "\(counts)")
    }
    // The same source of numbers, the same delays.
    let backoff = DurableQueue.Configuration().backoff
    var (one, other) = (SeededRandomNumberGenerator(seed: 1), SeededRandomNumberGenerator(seed: 1))
    for attempt in 1...20 {
      let delay = backoff.jobDelay(afterAttempt: attempt, using: &one)
      #expect(delay == backoff.jobDelay(afterAttempt: attempt, using: &other))
      #expect(delay >= .zero && delay <= .seconds(1 << (attempt - 1)))
    }
  }

  @Test("With equal jitter, any delay from half of the computed one comes")
  func jitter_isEqual() {
    let counts = counts(.constant(.milliseconds(9), jitter: .equal))
    #expect(Set(counts.keys) == Set((5...9).map { .milliseconds($0) }))
    #expect(counts.values.allSatisfy { (1800...2200).contains($0) }, "\(counts)")
  }

  @Test("With decorrelated jitter, any from the first one to three times the one before comes, up to the maximum")
  func jitter_isDecorrelated() {
    let backoff = Backoff.exponential(from: .milliseconds(2), jitter: .decorrelated)
    #expect(Set(counts(backoff).keys) == Set((2...6).map { .milliseconds($0) }))
    #expect(Set(counts(backoff, afterAttempt: 3).keys) == Set((2...12).map { .milliseconds($0) }))
    let bounded = Backoff.exponential(from: .milliseconds(2), maxDelay: .milliseconds(5), jitter: .decorrelated)
    #expect(Set(counts(bounded, afterAttempt: 3).keys) == Set((2...5).map { .milliseconds($0) }))
    #expect(counts(.fibonacci(.seconds(1), jitter: .decorrelated), afterAttempt: .max)[.seconds(86_400)]! > 5_000)
  }

  @Test("A fraction of a millisecond counts as a whole one")
  func fractions_areRoundedUp() {
    #expect(delays(.exponential(from: .milliseconds(1), multiplier: 1.5, jitter: .none), 3) == [0.001, 0.002, 0.003])
    #expect(delays(.exponential(from: .microseconds(1500), jitter: .none), 3) == [0.002, 0.004, 0.008])
    #expect(delays(.constant(.seconds(1), maxDelay: .nanoseconds(1), jitter: .none), 1) == [0.001])
    let options = JobOptions(backoff: .constant(.microseconds(1001), jitter: .none))
    #expect(options.backoff == .constant(.milliseconds(2), jitter: .none))
  }

  // MARK: - What is stored

  /// What users write, and what 0.1.0 stores of it.
  static let stored: [(Backoff, String)] = [
    (.noDelay, "n"), (.exponential(from: .seconds(1)), "e1000*2"), (.constant(.seconds(3)), "c3000"),
    (.constant(.seconds(3), maxDelay: .seconds(86_400), jitter: .full), "c3000"),
    (.constant(.seconds(3), jitter: .none), "c3000!"), (.constant(.microseconds(1001), jitter: .none), "c2!"),
    (.constant(.seconds(3), maxDelay: .seconds(86_400) - .nanoseconds(1)), "c3000"),
    (.linear(from: .seconds(1), by: .zero, maxDelay: .seconds(60)), "l1000+0<60000"),
    (.exponential(from: .seconds(1), maxDelay: .seconds(60), jitter: .none), "e1000*2<60000!"),
    (.exponential(from: .milliseconds(200), multiplier: 1.5, maxDelay: .zero, jitter: .none), "e200*1.5<0!"),
    (.exponential(from: .seconds(1), multiplier: 1e300), "e1000*1e+300"),
    (.fibonacci(.seconds(1)), "f1000"),
    (.fibonacci(.seconds(Int64.max), maxDelay: .seconds(Int64.max)), "f3153600000000<3153600000000"),
  ]

  @Test("What 0.1.0 could say is stored as it stored it, with the job and in options", arguments: stored)
  func storedForm_isTheReleasedOne(backoff: Backoff, text: String) throws {
    let harness = try StoreHarness()
    try harness.enqueue("a", JobOptions(backoff: backoff))
    #expect(try harness.claim().jobs[0].backoff == text)
    var options = JobOptions()
    options.backoff = backoff
    let json = String(decoding: try JSONEncoder().encode(options), as: UTF8.self)
    #expect(json.contains("\"backoff\":\"\(text)\""), "\(json)")
    #expect(try JSONDecoder().decode(JobOptions.self, from: Data(json.utf8)) == options)
  }

  @Test(
    "What it could not say, it does not know",
    arguments: [
      (Backoff.constant(.seconds(3), jitter: .equal), "c3000~e"),
      (.exponential(from: .seconds(1), maxDelay: .seconds(9), jitter: .decorrelated), "e1000*2<9000~d"),
    ])
  func storedForm_isNew(backoff: Backoff, text: String) throws {
    let harness = try StoreHarness()
    try harness.enqueue("a", JobOptions(backoff: backoff))
    #expect(try harness.claim().jobs[0].backoff == text)
    #expect(ReleasedBackoff(storedForm: text) == nil)
    #expect(Backoff(storedForm: text) == backoff)
  }

  @Test(
    "What only this version can say in a stored form is none for 0.1.0",
    arguments: ["n~f", "c5~f", "c5<7~e", "e1000*2~d", "l1+2~f", "f1~e", "c0.05", "e0.5*2", "l1+0.5", "f1<0.5"])
  func laterText_isNoneForTheRelease(text: String) {
    #expect(ReleasedBackoff(storedForm: text) == nil)
    #expect(Backoff(storedForm: text) != nil)
  }

  @Test("A text that 0.1.0 has stored gives the delays that it gave", arguments: 0..<20 as Range<UInt64>)
  func releasedTexts_giveTheirDelays(seed: UInt64) throws {
    var random = SeededRandomNumberGenerator(seed: seed)
    for _ in 0..<100 {
      let text = Self.releasedText(&random)
      let released = try #require(ReleasedBackoff(storedForm: text), "\(text)")
      let backoff = try #require(Backoff(storedForm: text), "\(text)")
      for attempt in [Int.min, 0, 1, 2, 3, 7, 20, 1_000, .max] {
        let number = UInt64.random(in: 0...(.max), using: &random)
        var (one, other) = (SeededRandomNumberGenerator(seed: number), SeededRandomNumberGenerator(seed: number))
        #expect(
          backoff.jobDelay(afterAttempt: attempt, using: &one) == released.delay(afterAttempt: attempt, using: &other),
          "\(text), attempt \(attempt)")
      }
      // What is stored of it is as short as it was, and means the same for 0.1.0.
      let kept = backoff.keptWithJobs
      #expect(kept.storedForm.utf8.count <= text.utf8.count)
      #expect(
        try #require(ReleasedBackoff(storedForm: kept.storedForm)).maximumMilliseconds == released.maximumMilliseconds)
    }
  }

  @Test("Literal texts of 0.1.0, and the delays that they gave without jitter")
  func releasedTexts_literally() throws {
    let delaysOfTexts: [(String, [Double])] = [
      ("n!", [0, 0, 0, 0, 0]), ("c3000!", [3, 3, 3, 3, 3]), ("l1000+2000!", [1, 3, 5, 7, 9]),
      ("l1000+0<60000!", [1, 1, 1, 1, 1]), ("e1000*2!", [1, 2, 4, 8, 16]), ("e1000*2<5000!", [1, 2, 4, 5, 5]),
      ("e1*1.5!", [0.001, 0.002, 0.003, 0.004, 0.006]), ("e1000*1e+300!", [1, 86_400, 86_400, 86_400, 86_400]),
      ("f1000!", [1, 1, 2, 3, 5]), ("f3153600000000<3153600000000!", [3_153_600_000, 3_153_600_000, 3_153_600_000]),
      ("c3153600000000!", [86_400]), ("e200*1.5<0!", [0, 0]),
    ]
    for (text, expected) in delaysOfTexts {
      let backoff = try #require(Backoff(storedForm: text), "\(text)")
      #expect(delays(backoff, expected.count) == expected, "\(text)")
    }
  }

  /// A text as 0.1.0 wrote it.
  private static func releasedText(_ random: inout SeededRandomNumberGenerator) -> String {
    func number() -> Int64 {
      let limit: Int64 = [10, 100_000, 90_000_000, 3_153_600_000_000].randomElement(using: &random)!
      return .random(in: 0...limit, using: &random)
    }
    let multiplier = [2, 1, 1.5, 1 + Double.random(in: 0...9, using: &random), 1e300].randomElement(using: &random)!
    let text = "\(multiplier)"
    var result = [
      "n", "c\(number())", "l\(number())+\(number())", "f\(number())",
      "e\(number())*\(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)",
    ].randomElement(using: &random)!
    if Bool.random(using: &random) { result += "<\(number())" }
    if Bool.random(using: &random) { result += "!" }
    return result
  }
}
