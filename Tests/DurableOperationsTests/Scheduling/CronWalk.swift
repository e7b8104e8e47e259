import Foundation
import TestSupport

/// The values that a cron expression allows, drawn at random, and a text for them.
struct RandomCron {
  private var fields: [Set<Int>] = []
  private var stars: [Bool] = []
  private(set) var text = ""

  init(days: ClosedRange<Int>, minutes: ClosedRange<Int>, _ random: inout SeededRandomNumberGenerator) {
    let counts = [minutes, 1...4, days, 1...12, 1...3]
    var texts: [String] = []
    for (all, count) in zip([0...59, 0...23, 1...31, 1...12, 0...6] as [ClosedRange<Int>], counts) {
      let isStar = Int.random(in: 0..<5, using: &random) < 2
      let values = isStar ? Set(all) : Set(all.shuffled(using: &random).prefix(Int.random(in: count, using: &random)))
      fields.append(values)
      stars.append(isStar)
      texts.append(isStar ? "*" : values.map(String.init).joined(separator: ","))
    }
    text = texts.joined(separator: " ")
  }

  var hasEveryHour: Bool { fields[1].count == 24 }

  func allows(_ date: WalkCalendar.Day) -> Bool {
    guard fields[3].contains(date.month) else { return false }
    let (day, weekday) = (fields[2].contains(date.day), fields[4].contains(date.weekday))
    return stars[2] || stars[4] ? day && weekday : day || weekday
  }

  func allows(minuteOfDay: Int) -> Bool {
    fields[0].contains(minuteOfDay % 60) && fields[1].contains(minuteOfDay / 60)
  }
}

/// The dates of days since 1970, by the system's calendar.
final class WalkCalendar {
  typealias Day = (month: Int, day: Int, weekday: Int)
  private var known: [Int: Day] = [:]
  private var calendar = Calendar(identifier: .gregorian)

  init() {
    calendar.timeZone = .gmt
  }

  func date(_ day: Int) -> Day {
    if let date = known[day] { return date }
    let instant = Date(timeIntervalSince1970: Double(day) * 86_400)
    let parts = calendar.dateComponents([.month, .day, .weekday], from: instant)
    let date = (parts.month!, parts.day!, parts.weekday! - 1)
    known[day] = date
    return date
  }
}

/// A walk from minute to minute, with an eye on the clock.
struct Walk {
  private let allowed: RandomCron
  private let timeZone: TimeZone
  private let calendar = WalkCalendar()

  init(_ allowed: RandomCron, _ timeZone: TimeZone) {
    self.allowed = allowed
    self.timeZone = timeZone
  }

  /// An instant, of the years from 2008 to 2026, at which the clock of a zone is changed; to the
  /// minute.
  static func someChange(of timeZone: TimeZone, _ random: inout SeededRandomNumberGenerator) -> Int? {
    func offset(_ instant: Int) -> Int { timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant))) }
    var changes: [Int] = []
    for instant in stride(from: 1_200_000_000, to: 1_770_000_000, by: 6 * 3600)
    where offset(instant) != offset(instant + 6 * 3600) {
      changes.append(stride(from: instant, to: instant + 6 * 3600, by: 60).first { offset($0) != offset(instant) }!)
    }
    return changes.randomElement(using: &random) ?? 1_500_000_000
  }

  func times(after start: Int, through end: Int) -> [Int] {
    var found: [Int] = []
    // The latest time that the clock has shown; what it shows again, or skips, is told by that.
    // Begun early enough.
    var shown = Int.min
    for instant in stride(from: (start / 60 - 26 * 60) * 60, through: end, by: 60) {
      let time = instant + timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant)))
      var takesPlace = false
      if allowed.hasEveryHour {
        takesPlace = allows(time)
      } else if time > shown {
        let first = shown == .min ? time : shown + 60
        takesPlace = stride(from: first, through: time, by: 60).contains { allows($0) }
        shown = time
      }
      if takesPlace, instant > start { found.append(instant) }
    }
    return found
  }

  private func allows(_ time: Int) -> Bool {
    allowed.allows(minuteOfDay: time % 86_400 / 60) && allowed.allows(calendar.date(time / 86_400))
  }
}
