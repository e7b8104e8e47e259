import DurableOperations
import Foundation
import TestSupport
import Testing

/// Compares with a walk from minute to minute, and from day to day, which knows nothing of how the
/// expression searches.
@Suite("Random cron expressions", .timeLimit(.minutes(30)))
struct CronRandomTests {
  @Test(
    "Around changes of the clock, they take place when a walk through the minutes says",
    arguments: 0..<8 as Range<UInt64>)
  func aroundChangesOfTheClock(seed: UInt64) throws {
    var random = SeededRandomNumberGenerator(seed: seed)
    let zones = [
      "America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Asia/Tehran",
      "Africa/Casablanca", "America/St_Johns", "Asia/Kathmandu", "Antarctica/Troll", "America/Havana",
      "Pacific/Chatham",
    ]
    for _ in 0..<15 {
      let timeZone = zone(zones.randomElement(using: &random)!)
      let change = try #require(Walk.someChange(of: timeZone, &random))
      let allowed = RandomCron(days: 1...31, minutes: 1...6, &random)
      let cron = try CronExpression(allowed.text)
      let (start, end) = (change - Int.random(in: 0...90_000, using: &random), change + 86_400)
      let expected = Walk(allowed, timeZone).times(after: start, through: end)
      var found: [Int] = []
      var last = Date(timeIntervalSince1970: Double(start))
      while let next = cron.next(after: last, in: timeZone), next.timeIntervalSince1970 <= Double(end) {
        found.append(Int(next.timeIntervalSince1970))
        last = next
      }
      #expect(found == expected, "\(cron) in \(timeZone.identifier) after \(start)")
    }
  }

  @Test("Over years, they take place on the days that a walk through the days says", arguments: 0..<4 as Range<UInt64>)
  func overYears(seed: UInt64) throws {
    var random = SeededRandomNumberGenerator(seed: seed)
    for _ in 0..<50 {
      let allowed = RandomCron(days: 1...3, minutes: 1...1, &random)
      let cron = try CronExpression(allowed.text)
      let day = Int.random(in: -20_000..<60_000, using: &random)
      let (calendar, end) = (WalkCalendar(), day + 15_000)
      let expected = (day + 1..<end).first { allowed.allows(calendar.date($0)) }
      let next = cron.next(after: Date(timeIntervalSince1970: Double(day * 86_400 + 86_399)), in: .gmt)
      let found = next.map { Int(($0.timeIntervalSince1970 / 86_400).rounded(.down)) }
      #expect(found.flatMap { $0 < end ? $0 : nil } == expected, "\(cron) after day \(day)")
    }
  }
}
