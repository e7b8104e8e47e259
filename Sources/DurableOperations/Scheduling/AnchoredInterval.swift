import Foundation

/// The times start + n × interval, in whole milliseconds since 1970.
struct AnchoredInterval: Sendable, Hashable {
  /// Ten thousand years: longer than any useful interval, and short enough not to overflow.
  private static let longest: Int64 = 10_000 * 366 * 86_400_000

  let every: Int64
  /// The first time; nil for all multiples of the interval.
  let start: Int64?

  init?(every: Int64, start: Int64?) {
    guard (1...Self.longest).contains(every), (start ?? 0).magnitude <= Self.longest else { return nil }
    self.every = every
    self.start = start
  }

  /// Both arguments have been checked; an interval that is too long counts as the longest.
  init(every: Duration, startingAt date: Date?) {
    let (seconds, attoseconds) = every.components
    let isTooLong = seconds >= Self.longest / 1000
    self.every = isTooLong ? Self.longest : seconds * 1000 + attoseconds / 1_000_000_000_000_000
    // Nearest, not down: the date of a whole millisecond may be slightly less.
    start = date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
  }

  static func allows(start: Date) -> Bool {
    abs(start.timeIntervalSince1970) < Double(longest / 1000)
  }

  func next(after instant: Date) -> Date? {
    guard abs(instant.timeIntervalSince1970) < Double(Self.longest / 1000) else { return nil }
    var number = number(near: instant)
    // Rounding finds a number nearby; the dates decide.
    while date(number) > instant { number -= 1 }
    while date(number) <= instant { number += 1 }
    return date(start == nil ? number : max(number, 0))
  }

  /// The last time that is not after `instant`. There must be one.
  func last(through instant: Date) -> Date? {
    guard let next = next(after: instant) else { return nil }
    return date(number(near: next) - 1)
  }

  private func number(near instant: Date) -> Int64 {
    let milliseconds = Int64((instant.timeIntervalSince1970 * 1000).rounded()) - (start ?? 0)
    return milliseconds.dividedDown(by: every)
  }

  private func date(_ number: Int64) -> Date {
    Date(timeIntervalSince1970: Double((start ?? 0) + number * every) / 1000)
  }
}
