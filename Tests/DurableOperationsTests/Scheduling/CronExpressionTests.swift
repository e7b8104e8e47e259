import DurableOperations
import Foundation
import Testing

/// An instant, written as in “2024-03-10T07:00:00Z”.
func instant(_ text: String) -> Date {
  try! Date(text, strategy: .iso8601)
}

/// The time zone of that name.
func zone(_ identifier: String) -> TimeZone {
  TimeZone(identifier: identifier)!
}

/// The first instants at which an expression takes place, as text.
func times(_ expression: String, after start: String, in timeZone: String, _ count: Int) throws -> [String] {
  let cron = try CronExpression(expression)
  var found: [String] = []
  var last = instant(start)
  while found.count < count, let next = cron.next(after: last, in: zone(timeZone)) {
    found.append(next.ISO8601Format())
    last = next
  }
  return found
}

@Suite("Cron expressions", .timeLimit(.minutes(30)))
struct CronExpressionTests {
  @Test(
    "Values, lists, ranges, steps and names",
    arguments: [
      ("0 12 * * *", ["2024-01-31T12:00:00Z", "2024-02-01T12:00:00Z", "2024-02-02T12:00:00Z"]),
      ("5,10,59 23 * * *", ["2024-01-31T23:05:00Z", "2024-01-31T23:10:00Z", "2024-01-31T23:59:00Z"]),
      ("10-12 0 * * *", ["2024-02-01T00:10:00Z", "2024-02-01T00:11:00Z", "2024-02-01T00:12:00Z"]),
      ("*/20 11 * * *", ["2024-01-31T11:00:00Z", "2024-01-31T11:20:00Z", "2024-01-31T11:40:00Z"]),
      ("10-40/15 11 * * *", ["2024-01-31T11:10:00Z", "2024-01-31T11:25:00Z", "2024-01-31T11:40:00Z"]),
      ("5/25 11 * * *", ["2024-01-31T11:05:00Z", "2024-01-31T11:30:00Z", "2024-01-31T11:55:00Z"]),
      ("0 0 31 * *", ["2024-03-31T00:00:00Z", "2024-05-31T00:00:00Z", "2024-07-31T00:00:00Z"]),
      ("0 0 1 feb,Apr *", ["2024-02-01T00:00:00Z", "2024-04-01T00:00:00Z", "2025-02-01T00:00:00Z"]),
      ("0 0 1 JAN-MAR/2 *", ["2024-03-01T00:00:00Z", "2025-01-01T00:00:00Z", "2025-03-01T00:00:00Z"]),
      ("0 0 * * mon", ["2024-02-05T00:00:00Z", "2024-02-12T00:00:00Z", "2024-02-19T00:00:00Z"]),
      ("0 0 * * 0", ["2024-02-04T00:00:00Z", "2024-02-11T00:00:00Z", "2024-02-18T00:00:00Z"]),
      ("0 0 * * 7", ["2024-02-04T00:00:00Z", "2024-02-11T00:00:00Z", "2024-02-18T00:00:00Z"]),
      ("0 0 * * FRI-SUN", ["2024-02-02T00:00:00Z", "2024-02-03T00:00:00Z", "2024-02-04T00:00:00Z"]),
      ("0 0 * * 7-1", ["2024-02-04T00:00:00Z", "2024-02-05T00:00:00Z", "2024-02-11T00:00:00Z"]),
      ("0 0 * * */3", ["2024-02-03T00:00:00Z", "2024-02-04T00:00:00Z", "2024-02-07T00:00:00Z"]),
      ("0 0 * * 1/3", ["2024-02-01T00:00:00Z", "2024-02-05T00:00:00Z", "2024-02-08T00:00:00Z"]),
      ("@hourly", ["2024-01-31T11:00:00Z", "2024-01-31T12:00:00Z", "2024-01-31T13:00:00Z"]),
      ("@daily", ["2024-02-01T00:00:00Z", "2024-02-02T00:00:00Z", "2024-02-03T00:00:00Z"]),
      ("@midnight", ["2024-02-01T00:00:00Z", "2024-02-02T00:00:00Z", "2024-02-03T00:00:00Z"]),
      ("@weekly", ["2024-02-04T00:00:00Z", "2024-02-11T00:00:00Z", "2024-02-18T00:00:00Z"]),
      ("@Monthly", ["2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z", "2024-04-01T00:00:00Z"]),
      ("@yearly", ["2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]),
      ("@annually", ["2025-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"]),
      ("  0\t12  * * * ", ["2024-01-31T12:00:00Z", "2024-02-01T12:00:00Z", "2024-02-02T12:00:00Z"]),
    ])
  func fields_giveTimes(expression: String, expected: [String]) throws {
    #expect(try times(expression, after: "2024-01-31T10:59:30Z", in: "GMT", 3) == expected)
  }

  @Test("Of two day fields either is enough, unless one begins with a star")
  func twoDayFields_areAlternatives() throws {
    #expect(
      try times("0 0 13 * FRI", after: "2024-09-01T00:00:00Z", in: "GMT", 3)
        == ["2024-09-06T00:00:00Z", "2024-09-13T00:00:00Z", "2024-09-20T00:00:00Z"])
    #expect(
      try times("0 0 13 * WED", after: "2024-09-05T00:00:00Z", in: "GMT", 2)
        == ["2024-09-11T00:00:00Z", "2024-09-13T00:00:00Z"])
    // The first of a month, and only if it is a Monday.
    #expect(
      try times("0 0 */31 * MON", after: "2024-01-01T00:00:00Z", in: "GMT", 2)
        == ["2024-04-01T00:00:00Z", "2024-07-01T00:00:00Z"])
  }

  @Test("The result is later than the instant that it was asked for, however near")
  func instantOfATime_givesTheNext() throws {
    let cron = try CronExpression("0 * * * *")
    let noon = instant("2024-01-31T12:00:00Z")
    #expect(cron.next(after: noon, in: .gmt) == instant("2024-01-31T13:00:00Z"))
    #expect(cron.next(after: noon.addingTimeInterval(-0.001), in: .gmt) == noon)
    #expect(cron.next(after: noon.addingTimeInterval(0.001), in: .gmt) == instant("2024-01-31T13:00:00Z"))
    #expect(cron.next(after: instant("1969-12-31T23:59:59Z"), in: .gmt) == instant("1970-01-01T00:00:00Z"))
  }

  @Test("Leap days are found, also over the eight years of 1896 to 1904 and 2096 to 2104")
  func leapDay_isFound() throws {
    for (start, found) in [
      ("2024-02-29T00:00:00Z", "2028-02-29T00:00:00Z"), ("1896-02-29T00:00:00Z", "1904-02-29T00:00:00Z"),
      ("2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"), ("1996-02-29T00:00:00Z", "2000-02-29T00:00:00Z"),
    ] {
      #expect(try times("0 0 29 2 *", after: start, in: "GMT", 1) == [found])
      #expect(try times("* * 29 FEB *", after: start.replacing("00:00:00", with: "23:59:00"), in: "GMT", 1) == [found])
    }
    // A leap day that is a Sunday, over the year 2100, which has none.
    #expect(try times("0 0 29 2 */7", after: "2088-02-29T00:00:00Z", in: "GMT", 1) == ["2128-02-29T00:00:00Z"])
  }

  @Test("Days that never come are refused", arguments: ["0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "* * 30-31 FEB *"])
  func dayThatNeverComes_isRefused(expression: String) throws {
    let error = #expect(throws: CronError.self) { try CronExpression(expression) }
    #expect(error?.code == .neverOccurs && error?.field == .dayOfMonth)
    #expect(error.map { "\($0)".contains("is a day that none of its months has") } == true)
  }

  @Test(
    "Days that come rarely are accepted", arguments: ["0 0 29 2 *", "0 0 29 2 */7", "0 0 30 2 MON", "0 0 31 1-2 *"])
  func dayThatComesRarely_isAccepted(expression: String) throws {
    _ = try CronExpression(expression)
  }

  @Test("Instants that are none, or beyond every calendar, are nil")
  func endOfTime_isNil() throws {
    for seconds in [Double.nan, .infinity, -.infinity, 1e15, -1e300] {
      #expect(try CronExpression("0 0 * * *").next(after: Date(timeIntervalSince1970: seconds), in: .gmt) == nil)
    }
    #expect(try CronExpression("0 0 * * *").next(after: .distantPast, in: zone("Europe/Berlin")) != nil)
    #expect(try CronExpression("* * * * *").next(after: .distantFuture, in: zone("Europe/Berlin")) != nil)
  }

  @Test("Expressions are equal if they allow the same values")
  func equality_isThatOfTheTimes() throws {
    let same = try ["0 0 * * 0", "00 0 * * SUN", "0 0 * * 7", "@weekly"].map { try CronExpression($0) }
    #expect(Set(same).count == 1)
    // A step begins with the Sunday of the week, whichever number it has.
    for step in 1...7 {
      let sundays = try ["0/\(step)", "7/\(step)", "SUN/\(step)", "sun-sat/\(step)", "*/\(step)"].map {
        try CronExpression("0 0 * * \($0)")
      }
      #expect(Set(sundays).count == 1, "\(step)")
    }
    #expect(try CronExpression("0 0 * * 7/2") == CronExpression("0 0 * * SUN,TUE,THU,SAT"))
    // Here either day field is enough, there it is not.
    #expect(try CronExpression("0 0 1-31 * MON") != CronExpression("0 0 * * MON"))
    #expect(try CronExpression("*/5 * * * *") == CronExpression("0,5,10,15,20,25,30,35,40,45,50,55 * * * *"))
  }

  @Test("An expression is written as it was given, and reads back")
  func codableForm_isTheLine() throws {
    let cron = try CronExpression(" */15 8-18 * * MON-FRI\n")
    #expect("\(cron)" == "*/15 8-18 * * MON-FRI")
    let data = try JSONEncoder().encode([cron])
    #expect(try JSONDecoder().decode([String].self, from: data) == ["*/15 8-18 * * MON-FRI"])
    #expect(try JSONDecoder().decode([CronExpression].self, from: data) == [cron])
  }

  @Test("A stored line that is wrong is a decoding error with the reason")
  func storedLine_ifWrong_isADecodingError() throws {
    do {
      _ = try JSONDecoder().decode([CronExpression].self, from: Data(#"["61 * * * *"]"#.utf8))
      Issue.record("It was decoded")
    } catch DecodingError.dataCorrupted(let context) {
      #expect(context.debugDescription.contains("“61” in the minute field (column 1)"))
      #expect((context.underlyingError as? CronError)?.code == .outOfRange)
      #expect(context.codingPath.first?.intValue == 0)
    }
  }
}
