import DurableOperations
import Foundation
import Testing

@Suite("Cron expressions where the clock is changed", .timeLimit(.minutes(30)))
struct CronDaylightSavingTests {
  @Test(
    "A time that the clock skips takes place at the first instant after the gap",
    arguments: [
      // New York, 10 March 2024: 2:00 becomes 3:00.
      ("30 2 * * *", "America/New_York", "2024-03-09T12:00:00Z", ["2024-03-10T07:00:00Z", "2024-03-11T06:30:00Z"]),
      // Berlin, 31 March 2024: 2:00 becomes 3:00.
      ("0 2 * * *", "Europe/Berlin", "2024-03-30T12:00:00Z", ["2024-03-31T01:00:00Z", "2024-04-01T00:00:00Z"]),
      // Lord Howe Island, 6 October 2024: 2:00 becomes 2:30.
      ("15 2 * * *", "Australia/Lord_Howe", "2024-10-05T00:00:00Z", ["2024-10-05T15:30:00Z", "2024-10-06T15:15:00Z"]),
      // São Paulo, 4 November 2018: the day begins at 1:00.
      ("0 0 * * *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", ["2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"]),
      ("30 0 4 11 *", "America/Sao_Paulo", "2018-11-03T12:00:00Z", ["2018-11-04T03:00:00Z", "2019-11-04T03:30:00Z"]),
      // Samoa had no 30 December 2011.
      ("0 12 30 12 *", "Pacific/Apia", "2011-12-29T00:00:00Z", ["2011-12-30T10:00:00Z", "2012-12-29T22:00:00Z"]),
    ])
  func skippedTime_takesPlaceAfterTheGap(expression: String, timeZone: String, start: String, expected: [String]) throws
  {
    #expect(try times(expression, after: start, in: timeZone, 2) == expected)
  }

  @Test("Skipped times, and one at the end of the gap, take place once together")
  func severalSkippedTimes_areOne() throws {
    for expression in ["* 2 * * *", "0,30 2,3 * * *", "*/10 1-3/2,2 * * *"] {
      let found = try times(expression, after: "2024-03-10T06:59:00Z", in: "America/New_York", 1)
      #expect(found == ["2024-03-10T07:00:00Z"], "\(expression)")
    }
    #expect(
      try times("* 2 * * *", after: "2024-03-10T07:00:00Z", in: "America/New_York", 1) == ["2024-03-11T06:00:00Z"])
    #expect(
      try times("0,30 2,3 * * *", after: "2024-03-10T07:00:00Z", in: "America/New_York", 1) == ["2024-03-10T07:30:00Z"])
    // Every second hour names times of the day too.
    #expect(
      try times("0 */2 * * *", after: "2024-03-10T05:30:00Z", in: "America/New_York", 2)
        == ["2024-03-10T07:00:00Z", "2024-03-10T08:00:00Z"])
  }

  @Test(
    "A time that the clock shows twice takes place once, when it is first shown",
    arguments: [
      // New York, 3 November 2024: 2:00 becomes 1:00.
      ("30 1 * * *", "America/New_York", "2024-11-02T12:00:00Z", ["2024-11-03T05:30:00Z", "2024-11-04T06:30:00Z"]),
      // Berlin, 27 October 2024: 3:00 becomes 2:00.
      ("0 2 * * *", "Europe/Berlin", "2024-10-26T12:00:00Z", ["2024-10-27T00:00:00Z", "2024-10-28T01:00:00Z"]),
      ("59 2 * * *", "Europe/Berlin", "2024-10-26T12:00:00Z", ["2024-10-27T00:59:00Z", "2024-10-28T01:59:00Z"]),
      ("0 3 * * *", "Europe/Berlin", "2024-10-26T12:00:00Z", ["2024-10-27T02:00:00Z", "2024-10-28T02:00:00Z"]),
      // Lord Howe Island, 7 April 2024: 2:00 becomes 1:30.
      ("45 1 * * *", "Australia/Lord_Howe", "2024-04-06T00:00:00Z", ["2024-04-06T14:45:00Z", "2024-04-07T15:15:00Z"]),
    ])
  func repeatedTime_takesPlaceOnce(expression: String, timeZone: String, start: String, expected: [String]) throws {
    #expect(try times(expression, after: start, in: timeZone, 2) == expected)
    // Also for one who asks while the time is shown again.
    let between = instant(expected[0]).addingTimeInterval(1).ISO8601Format()
    #expect(try times(expression, after: between, in: timeZone, 1) == [expected[1]])
  }

  @Test(
    "With every hour, quarters go on in real time",
    arguments: [
      ("America/New_York", "2024-03-10T05:00:00Z"), ("America/New_York", "2024-11-03T03:00:00Z"),
      ("Europe/Berlin", "2024-03-30T23:00:00Z"), ("Europe/Berlin", "2024-10-26T22:00:00Z"),
      ("Australia/Lord_Howe", "2024-10-05T14:00:00Z"), ("Australia/Lord_Howe", "2024-04-06T13:00:00Z"),
      ("America/Sao_Paulo", "2018-11-04T01:00:00Z"), ("America/Sao_Paulo", "2018-02-18T00:00:00Z"),
    ])
  func everyHour_goesOnInRealTime(timeZone: String, start: String) throws {
    let expected = (1...24).map { instant(start).addingTimeInterval(Double($0) * 900).ISO8601Format() }
    #expect(try times("*/15 * * * *", after: start, in: timeZone, 24) == expected)
    #expect(try times("*/15 0-23 * * *", after: start, in: timeZone, 24) == expected)
  }

  @Test("With every hour, what the clock does not show does not take place, and what it shows twice does so twice")
  func everyHour_followsTheWall() throws {
    #expect(
      try times("45 * * * *", after: "2024-04-06T14:00:00Z", in: "Australia/Lord_Howe", 3)
        == ["2024-04-06T14:45:00Z", "2024-04-06T15:15:00Z", "2024-04-06T16:15:00Z"])
    #expect(
      try times("15 * * * *", after: "2024-10-05T14:00:00Z", in: "Australia/Lord_Howe", 3)
        == ["2024-10-05T14:45:00Z", "2024-10-05T16:15:00Z", "2024-10-05T17:15:00Z"])
    // The last hour of this day is shown twice.
    #expect(
      try times("5 * 17 2 *", after: "2018-02-18T01:00:00Z", in: "America/Sao_Paulo", 3)
        == ["2018-02-18T01:05:00Z", "2018-02-18T02:05:00Z", "2019-02-17T03:05:00Z"])
  }

  @Test("With every hour, a day that is far away begins by its own clock")
  func everyHour_farAway_isByTheClockOfThatDay() throws {
    #expect(
      try times("0 * 1 7 *", after: "2024-01-15T00:00:00Z", in: "Europe/Berlin", 1) == ["2024-06-30T22:00:00Z"])
    #expect(
      try times("0 * 1 1 *", after: "2024-07-15T00:00:00Z", in: "Europe/Berlin", 1) == ["2024-12-31T23:00:00Z"])
  }
}
