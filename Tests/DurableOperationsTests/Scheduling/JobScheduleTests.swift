import Foundation
import TestSupport
import Testing

@testable import DurableOperations

@Suite("Schedules of periodic jobs", .timeLimit(.minutes(30)))
struct JobScheduleTests {
  private let noon = instant("2024-01-31T12:00:00Z")

  // MARK: - Intervals

  @Test("Without a start, they are multiples of the interval since 1970")
  func interval_withoutStart_isAnchoredIn1970() {
    let quarters = JobSchedule.interval(.seconds(900))
    #expect(quarters.next(after: noon.addingTimeInterval(-1)) == noon)
    #expect(quarters.next(after: noon) == noon.addingTimeInterval(900))
    #expect(quarters.next(after: noon.addingTimeInterval(899.9995)) == noon.addingTimeInterval(900))
    #expect(quarters.next(after: instant("1969-12-31T23:59:00Z")) == instant("1970-01-01T00:00:00Z"))
    #expect(quarters.next(after: instant("1969-12-31T23:40:00Z")) == instant("1969-12-31T23:45:00Z"))
  }

  @Test("With a start, that is the first, and the others follow without drift")
  func interval_withStart_beginsThere() {
    let schedule = JobSchedule.interval(.milliseconds(700), startingAt: noon)
    #expect(schedule.next(after: .distantPast) == noon)
    #expect(schedule.next(after: noon.addingTimeInterval(-3600)) == noon)
    #expect(schedule.next(after: noon) == noon.addingTimeInterval(0.7))
    #expect(schedule.next(after: noon.addingTimeInterval(700_000)) == noon.addingTimeInterval(700_000.7))
    let decade = noon.addingTimeInterval(315_360_000)
    let next = schedule.next(after: decade)!
    #expect(((next.timeIntervalSince(noon) * 1000).rounded()).truncatingRemainder(dividingBy: 700) == 0)
    #expect(next > decade && next.timeIntervalSince(decade) < 0.701)
  }

  @Test("Each time given back gives the next one, for any interval: none comes twice, none is left out")
  func interval_goesOn() {
    var random = SeededRandomNumberGenerator(seed: 3)
    for _ in 0..<300 {
      let every = Int.random(in: 1...100_000, using: &random)
      let start = Date(timeIntervalSince1970: Double.random(in: -1e10...1e10, using: &random))
      let schedule = JobSchedule.interval(.milliseconds(every), startingAt: start)
      let far = start.addingTimeInterval(Double.random(in: 0...1e9, using: &random))
      let found = schedule.occurrences(after: far, through: .distantFuture, limit: 20)
      #expect(found.count == 20 && found[0] > far)
      let milliseconds = found.map { Int(($0.timeIntervalSince1970 * 1000).rounded()) }
      for (one, next) in zip(milliseconds, milliseconds.dropFirst()) { #expect(next - one == every) }
    }
  }

  @Test("Ends of time are nil or a date, and no trap")
  func interval_endsOfTime() {
    let longest = JobSchedule.interval(.seconds(Int64.max), startingAt: noon)
    #expect(longest.next(after: .distantPast) == noon)
    #expect(longest.next(after: noon)! > .distantFuture)
    for seconds in [Double.nan, .infinity, -.infinity, 1e300] {
      #expect(JobSchedule.interval(.milliseconds(1)).next(after: Date(timeIntervalSince1970: seconds)) == nil)
    }
  }

  #if os(macOS) || os(Linux)
  @Test("Intervals that are none trap", arguments: 0..<5)
  func badInterval_traps(which: Int) async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) { [which] in
      switch which {
      case 0: _ = JobSchedule.interval(.zero)
      case 1: _ = JobSchedule.interval(.seconds(-1))
      case 2: _ = JobSchedule.interval(.microseconds(999))
      case 3: _ = JobSchedule.interval(.seconds(1), startingAt: Date(timeIntervalSince1970: .nan))
      default: _ = JobSchedule.interval(.seconds(1)).occurrences(after: Date(), through: Date(), limit: -1)
      }
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("JobSchedule.") && text.contains("Use"), "\(text)")
  }
  #endif

  // MARK: - Cron

  @Test("A cron expression is read on the clock of its time zone")
  func cron_isReadInItsTimeZone() throws {
    let schedule = try JobSchedule.cron("30 8 * * MON-FRI", timeZone: zone("Europe/Berlin"))
    #expect(schedule.next(after: noon) == instant("2024-02-01T07:30:00Z"))
    #expect(schedule == .cron(try CronExpression("30 8 * * 1-5"), timeZone: zone("Europe/Berlin")))
    #expect(schedule != .cron(try CronExpression("30 8 * * 1-5"), timeZone: zone("Europe/Paris")))
    #expect(throws: CronError.self) { try JobSchedule.cron("8:30") }
    #expect(throws: CronError.self) { try JobSchedule.cron("0 0 30 2 *", timeZone: .gmt) }
  }

  // MARK: - Several

  @Test("Times between two instants: the first is left out, the last is not, and the limit holds")
  func occurrences_areBounded() throws {
    for schedule in [try JobSchedule.cron("0 * * * *", timeZone: .gmt), .interval(.seconds(3600))] {
      let hours = (1...3).map { noon.addingTimeInterval(Double($0) * 3600) }
      #expect(schedule.occurrences(after: noon, through: hours[2], limit: 10) == hours)
      #expect(schedule.occurrences(after: noon, through: hours[2], limit: 2) == Array(hours.prefix(2)))
      #expect(schedule.occurrences(after: noon, through: hours[2], limit: 0) == [])
      #expect(schedule.occurrences(after: hours[2], through: noon, limit: 10) == [])
      #expect(schedule.occurrences(after: noon, through: hours[0].addingTimeInterval(-1), limit: 10) == [])
    }
  }

  @Test("The last time is the last of all between two instants")
  func lastOccurrence_isTheLast() throws {
    var random = SeededRandomNumberGenerator(seed: 11)
    let berlin = zone("Europe/Berlin")
    let schedules = [
      try JobSchedule.cron("*/7 * * * *", timeZone: berlin), try .cron("30 2 * * *", timeZone: berlin),
      try .cron("0 0 1 */5 *", timeZone: berlin), try .cron("* 9 * * MON", timeZone: berlin),
      .interval(.seconds(7001)), .interval(.seconds(5000), startingAt: noon),
    ]
    for schedule in schedules {
      for _ in 0..<30 {
        let start = noon.addingTimeInterval(Double.random(in: -1e6...1e6, using: &random))
        let end = start.addingTimeInterval(Double.random(in: -10...2e6, using: &random))
        let all = schedule.occurrences(after: start, through: end, limit: .max)
        #expect(schedule.lastOccurrence(after: start, through: end) == all.last, "\(schedule) \(start) \(end)")
        if let last = all.last {
          #expect(schedule.lastOccurrence(after: start, through: last) == last)
          #expect(schedule.lastOccurrence(after: last, through: end) == nil)
        }
      }
    }
    let minutely = try JobSchedule.cron("* * * * *", timeZone: berlin)
    #expect(minutely.lastOccurrence(after: instant("1994-01-01T00:00:00Z"), through: noon) == noon)
    #expect(JobSchedule.interval(.milliseconds(1)).lastOccurrence(after: .distantPast, through: noon) == noon)
  }

  // MARK: - Stored form

  @Test("The stored form is stable")
  func storedForm_isStable() throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    for (schedule, text) in [
      (
        try JobSchedule.cron("*/15 * * * *", timeZone: zone("America/New_York")),
        #"{"cron":"*/15 * * * *","timeZone":"America/New_York"}"#
      ),
      (.interval(.seconds(900)), #"{"everyMilliseconds":900000}"#),
      (
        .interval(.milliseconds(1500), startingAt: Date(timeIntervalSince1970: 1.25)),
        #"{"everyMilliseconds":1500,"startMilliseconds":1250}"#
      ),
    ] {
      #expect(String(decoding: try encoder.encode(schedule), as: UTF8.self) == text)
      #expect(try JSONDecoder().decode(JobSchedule.self, from: Data(text.utf8)) == schedule)
    }
  }

  @Test("Any time zone of this machine, one that follows its settings included, reads back as the same schedule")
  func timeZones_readBack() throws {
    for timeZone in [
      .current, .autoupdatingCurrent, .gmt, TimeZone(secondsFromGMT: 3600)!, TimeZone(secondsFromGMT: -12_600)!,
      zone("Asia/Kathmandu"),
    ] {
      let schedule = try JobSchedule.cron("@daily", timeZone: timeZone)
      let stored = try JSONDecoder().decode(JobSchedule.self, from: JSONEncoder().encode(schedule))
      #expect(stored == schedule)
      #expect(stored.next(after: noon) == schedule.next(after: noon))
      #expect(stored.next(after: noon) == (try CronExpression("@daily").next(after: noon, in: timeZone)))
    }
  }

  @Test(
    "A stored form that is wrong is a decoding error that names what is",
    arguments: [
      (#"{"cron":"@daily","timeZone":"Mars/Olympus_Mons"}"#, "Mars/Olympus_Mons"),
      (#"{"cron":"61 * * * *","timeZone":"GMT"}"#, "“61” in the minute field"),
      (#"{"everyMilliseconds":0}"#, "interval of 0 ms"),
      (#"{"everyMilliseconds":-5,"startMilliseconds":7}"#, "interval of -5 ms from 7 ms"),
      (#"{"everyMilliseconds":9223372036854775807}"#, "10,000 years"),
      (#"{"everyMilliseconds":1,"startMilliseconds":-9223372036854775808}"#, "10,000 years"),
    ])
  func storedForm_ifWrong_isADecodingError(text: String, expected: String) throws {
    do {
      _ = try JSONDecoder().decode(JobSchedule.self, from: Data(text.utf8))
      Issue.record("It was decoded")
    } catch DecodingError.dataCorrupted(let context) {
      #expect(context.debugDescription.contains(expected), "\(context.debugDescription)")
    }
  }

  @Test("A catch-up is stored by its name")
  func catchUp_isStoredByName() {
    #expect(JobCatchUp.allCases.map(\.rawValue) == ["latest", "all"])
  }
}
