import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("8 Backoff: stored form", .hangLimit)
struct BackoffStoredFormTests {
  private static let attempts = [Int.min, -1, 0, 1, 2, 3, 10, 100, 1_000_000, .max]
  private static let century = Duration.seconds(100 * 365 * 24 * 3600)

  /// The stored forms that 0.1.0 wrote, and their backoffs.
  static let released: [(Backoff, String)] = [
    (.noDelay, "n"), (.exponential(from: .seconds(1)), "e1000*2"), (.constant(.seconds(3)), "c3000"),
    (.constant(.zero), "c0"), (.constant(.seconds(3), jitter: .none), "c3000!"),
    (.constant(.seconds(9), maxDelay: .zero), "c9000<0"),
    (.linear(from: .seconds(1), by: .zero, maxDelay: .seconds(60)), "l1000+0<60000"),
    (.linear(from: .seconds(2), jitter: .none), "l2000+2000!"),
    (.exponential(from: .seconds(1), maxDelay: .seconds(60), jitter: .none), "e1000*2<60000!"),
    (.exponential(from: .milliseconds(200), multiplier: 1.5, maxDelay: .zero, jitter: .none), "e200*1.5<0!"),
    (.exponential(from: .seconds(1), multiplier: 1e300), "e1000*1e+300"),
    (.exponential(from: .seconds(1), multiplier: 1.0000000000000002), "e1000*1.0000000000000002"),
    (.exponential(from: .seconds(1), multiplier: 1e16), "e1000*1e+16"),
    (.exponential(from: .zero, multiplier: 1), "e0*1"), (.fibonacci(.seconds(1)), "f1000"),
    (.fibonacci(.seconds(Int64.max), maxDelay: .seconds(Int64.max)), "f3153600000000<3153600000000"),
  ]

  /// Later stored forms.
  static let later: [(Backoff, String)] = [
    (.constant(.seconds(3), jitter: .full), "c3000~f"), (.constant(.seconds(3), jitter: .equal), "c3000~e"),
    (.exponential(from: .seconds(1), maxDelay: .seconds(60), jitter: .decorrelated), "e1000*2<60000~d"),
    (.exponential(from: .seconds(1), maxDelay: .seconds(86_400)), "e1000*2<86400000"),
    (.constant(.microseconds(50)), "c0.05"), (.fibonacci(.nanoseconds(1_500_001), jitter: .none), "f1.500001!"),
    (.linear(from: .microseconds(1), by: .seconds(1) + .nanoseconds(1)), "l0.001+1000.000001"),
    (.constant(Duration(secondsComponent: 0, attosecondsComponent: 1)), "c0.000000000000001"),
    (.exponential(from: .microseconds(200), maxDelay: .microseconds(800)), "e0.2*2<0.8"),
  ]

  @Test("The stored form is short, stable, and reads back", arguments: released + later)
  func storedForm_readsBack(backoff: Backoff, text: String) throws {
    #expect(backoff.storedForm == text)
    #expect(Backoff(storedForm: text) == backoff)
    let data = try JSONEncoder().encode([backoff])
    #expect(String(decoding: data, as: UTF8.self) == "[\"\(text)\"]")
    #expect(try JSONDecoder().decode([Backoff].self, from: data) == [backoff])
  }

  @Test("Numbers that are written otherwise are read, too")
  func unusualNumbers_areRead() {
    #expect(Backoff(storedForm: "c007") == .constant(.milliseconds(7)))
    #expect(Backoff(storedForm: "e1*2.0") == .exponential(from: .milliseconds(1)))
    #expect(Backoff(storedForm: "c1.500") == .constant(.microseconds(1500)))
    #expect(Backoff(storedForm: "n<5!").map(\.maximum) == .milliseconds(5))
  }

  @Test(
    "A text that is no stored form is nil, and a decoding error that quotes it",
    arguments: [
      "", "!", "<", "x", "n1", "c", "c-1", "c+1", "c1.", "c.5", "c1.5.5", "c1.0000000000000001", "c1.-5", "c1<",
      "c1<-1",
      "c1<2<3", "c1<1.", "c1!!", "c99999999999999999999", "l1", "l1+", "l+1", "l1+1+1", "e1", "e1*", "e1*0.5", "e1*nan",
      "e1*inf", "e1*1e400", "e-1*2", "e1*2*2", "f", "fx", "c3153600000001", "c3153600000000.000000000000001",
      "c9223372036854775807", "c1<3153600000001", " c1", "c1 ", "c١", "c1~", "c1~n", "c1~ff", "c1~f~e", "c1~f!",
      "c1!~f",
      "c1~f<5", "~f", "N",
    ])
  func otherText_isNil(text: String) throws {
    #expect(Backoff(storedForm: text) == nil)
    do {
      _ = try JSONDecoder().decode([Backoff].self, from: JSONEncoder().encode([text]))
      Issue.record("It was decoded")
    } catch DecodingError.dataCorrupted(let context) {
      #expect(context.debugDescription.contains("“\(text)”"))
    }
  }

  @Test("Whatever is said, it reads back as the same, and gives the same delays", arguments: 0..<20 as Range<UInt64>)
  func random_readsBack(seed: UInt64) throws {
    var random = SeededRandomNumberGenerator(seed: seed)
    for _ in 0..<200 {
      let backoff = Self.backoff(&random)
      let text = backoff.storedForm
      let read = try #require(Backoff(storedForm: text), "\(text)")
      #expect(read == backoff, "\(text)")
      #expect(read.storedForm == text)
      for attempt in Self.attempts {
        #expect(read.delay(afterAttempt: attempt) == backoff.delay(afterAttempt: attempt), "\(text)")
      }
    }
  }

  @Test("Whatever the text, it is none or gives delays up to a century", arguments: 0..<20 as Range<UInt64>)
  func hostileTexts_trapNowhere(seed: UInt64) {
    var random = SeededRandomNumberGenerator(seed: seed)
    var readable = 0
    for _ in 0..<500 {
      guard let backoff = Backoff(storedForm: Self.hostileText(&random)) else { continue }
      readable += 1
      #expect(Backoff(storedForm: backoff.storedForm) == backoff, "\(backoff)")
      for maxDelay in [nil, Duration.zero, .seconds(Int64.max)] {
        let policy = RetryPolicy(backoff: backoff, maxDelay: maxDelay, jitter: .decorrelated)
        for attempt in Self.attempts {
          let fraction = Double.random(in: 0...1, using: &random)
          let delay = policy.delay(afterAttempt: attempt, randomFraction: { fraction })
          #expect(delay >= .zero && delay <= Self.century, "\(backoff)")
          #expect(backoff.delay(afterAttempt: attempt) >= .zero && backoff.delay(afterAttempt: attempt) <= Self.century)
        }
      }
    }
    #expect(readable > 20)
  }

  private static func backoff(_ random: inout SeededRandomNumberGenerator) -> Backoff {
    let maximum = Bool.random(using: &random) ? duration(&random) : nil
    let jitter: Backoff.Jitter = [.inherited, .none, .full, .equal, .decorrelated].randomElement(using: &random)!
    switch Int.random(in: 0..<5, using: &random) {
    case 0: return .noDelay
    case 1: return .constant(duration(&random), maxDelay: maximum, jitter: jitter)
    case 2: return .linear(from: duration(&random), by: duration(&random), maxDelay: maximum, jitter: jitter)
    case 3:
      let multiplier = 1 + pow(10, Double.random(in: -16...300, using: &random))
      return .exponential(from: duration(&random), multiplier: multiplier, maxDelay: maximum, jitter: jitter)
    default: return .fibonacci(duration(&random), maxDelay: maximum, jitter: jitter)
    }
  }

  private static func duration(_ random: inout SeededRandomNumberGenerator) -> Duration {
    switch Int.random(in: 0..<6, using: &random) {
    case 0: .zero
    case 1: .seconds(Int64.max)
    case 2: .milliseconds(Int.random(in: 0...100_000, using: &random))
    case 3: .nanoseconds(Int.random(in: 0...10_000_000, using: &random))
    case 4: Duration(secondsComponent: .random(in: 0...4_000_000_000, using: &random), attosecondsComponent: 0)
    default:
      Duration(
        secondsComponent: .random(in: 0...10, using: &random),
        attosecondsComponent: .random(in: 0..<1_000_000_000_000_000_000, using: &random))
    }
  }

  /// A stored form with some characters changed, or pieces of stored forms in any order.
  private static func hostileText(_ random: inout SeededRandomNumberGenerator) -> String {
    let pieces = [
      "n", "c", "l", "e", "f", "0", "1", "9", "3153600000000", "9223372036854775807", ".", "+", "*", "<", "!", "~",
      "~f", "~d",
      "1e308", "1e-320", "inf", "nan", "0x1p5", "-", "\u{0}", "é", "٣", " ",
    ]
    if Int.random(in: 0..<4, using: &random) == 0 {
      return (0..<Int.random(in: 0...8, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
    }
    var text = Array(backoff(&random).storedForm)
    for _ in 0..<Int.random(in: 0...2, using: &random) {
      let place = Int.random(in: 0...text.count, using: &random)
      if place < text.count, Bool.random(using: &random) { text.remove(at: place) }
      text.insert(contentsOf: Array(pieces.randomElement(using: &random)!), at: min(place, text.count))
    }
    return String(text)
  }
}
