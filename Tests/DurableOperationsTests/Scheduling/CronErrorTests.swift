import DurableOperations
import Foundation
import TestSupport
import Testing

@Suite("Cron expressions that are none", .timeLimit(.minutes(30)))
struct CronErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let expression: String
    let code: CronError.Code
    let field: CronError.Field?
    let column: Int
    let text: String
    let message: String

    init(
      _ expression: String, _ code: CronError.Code, _ field: CronError.Field?, _ column: Int, _ text: String,
      _ message: String
    ) {
      (self.expression, self.code, self.field) = (expression, code, field)
      (self.column, self.text, self.message) = (column, text, message)
    }

    var testDescription: String { "“\(expression)”" }
  }

  static let cases = [
    Case(
      "61 * * * *", .outOfRange, .minute, 1, "61",
      "“61” in the minute field (column 1) of “61 * * * *” is not between 0 and 59."),
    Case(
      "0 24 * * *", .outOfRange, .hour, 3, "24",
      "“24” in the hour field (column 3) of “0 24 * * *” is not between 0 and 23."),
    Case(
      "0 0 0 * *", .outOfRange, .dayOfMonth, 5, "0",
      "“0” in the day of month field (column 5) of “0 0 0 * *” is not between 1 and 31."),
    Case(
      "0 0 1 1,13 *", .outOfRange, .month, 9, "13",
      "“13” in the month field (column 9) of “0 0 1 1,13 *” is not between 1 and 12."),
    Case(
      "0 0 * * 1-8", .outOfRange, .dayOfWeek, 11, "8",
      "“8” in the day of week field (column 11) of “0 0 * * 1-8” is not between 0 and 7."),
    Case(
      "99999999999999999999 * * * *", .outOfRange, .minute, 1, "99999999999999999999",
      "“99999999999999999999” in the minute field (column 1) of “99999999999999999999 * * * *” is not between 0 and 59."
    ),
    Case(
      "0 0 1 MOON *", .notAValue, .month, 7, "MOON",
      "“MOON” in the month field (column 7) of “0 0 1 MOON *” is not a month. Use 1 to 12, or JAN to DEC, or *."),
    Case(
      "0 0 * * MON,HOL", .notAValue, .dayOfWeek, 13, "HOL",
      "“HOL” in the day of week field (column 13) of “0 0 * * MON,HOL” is not a day of week. Use 0 to 7, or SUN to SAT, "
        + "or *."),
    Case(
      "0 MON * * *", .notAValue, .hour, 3, "MON",
      "“MON” in the hour field (column 3) of “0 MON * * *” is not an hour. Use 0 to 23, or *."),
    Case(
      "-5 * * * *", .notAValue, .minute, 1, "",
      "“” in the minute field (column 1) of “-5 * * * *” is not a minute. Use 0 to 59, or *."),
    Case(
      "+5 * * * *", .notAValue, .minute, 1, "+5",
      "“+5” in the minute field (column 1) of “+5 * * * *” is not a minute. Use 0 to 59, or *."),
    Case(
      "* * L * *", .notAValue, .dayOfMonth, 5, "L",
      "“L” in the day of month field (column 5) of “* * L * *” is not a day of month. Use 1 to 31, or *."),
    Case(
      "0 20-10 * * *", .reversedRange, .hour, 3, "20-10",
      "“20-10” in the hour field (column 3) of “0 20-10 * * *” ends before it begins. Write two ranges: “20-23,0-10”."),
    Case(
      "0 0 * * 1,SAT-TUE", .reversedRange, .dayOfWeek, 11, "SAT-TUE",
      "“SAT-TUE” in the day of week field (column 11) of “0 0 * * 1,SAT-TUE” ends before it begins. Write two ranges: "
        + "“6-6,0-2”."),
    Case(
      "*/0 * * * *", .badStep, .minute, 3, "0",
      "“0” in the minute field (column 3) of “*/0 * * * *” is not a step between 1 and 60."),
    Case(
      "0 */ * * *", .badStep, .hour, 5, "",
      "“” in the hour field (column 5) of “0 */ * * *” is not a step between 1 and 24."),
    Case(
      "*/5/5 * * * *", .badStep, .minute, 3, "5/5",
      "“5/5” in the minute field (column 3) of “*/5/5 * * * *” is not a step between 1 and 60."),
    Case(
      "1,,2 * * * *", .emptyEntry, .minute, 3, "",
      "“” in the minute field (column 3) of “1,,2 * * * *” is an empty entry. Write a list without gaps, such as “1,5”."
    ),
    Case(
      "1, * * * *", .emptyEntry, .minute, 3, "",
      "“” in the minute field (column 3) of “1, * * * *” is an empty entry. Write a list without gaps, such as “1,5”."),
    Case(
      "", .wrongNumberOfFields, nil, 1, "",
      "“” has no fields. Write five: minute, hour, day of month, month and day of week."),
    Case(
      "* * *", .wrongNumberOfFields, nil, 6, "",
      "“* * *” has 3 fields. Write five: minute, hour, day of month, month and day of week."),
    Case(
      "0 0 0 1 1 *", .wrongNumberOfFields, nil, 11, "*",
      "“0 0 0 1 1 *” has 6 fields. Write five: minute, hour, day of month, month and day of week; there are none for seconds "
        + "and years."),
    Case(
      " @reboot", .unknownShorthand, nil, 2, "@reboot",
      "“ @reboot” is no shorthand that is known here. Use @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually, "
        + "or five fields."),
  ]

  @Test("The message names the field, the text, the column, and what is allowed", arguments: cases)
  func wrongExpression_saysWhere(example: Case) throws {
    let error = try #require(throws: CronError.self) { try CronExpression(example.expression) }
    #expect(error.code == example.code)
    #expect(error.field == example.field)
    #expect(error.column == example.column)
    #expect(error.text == example.text)
    #expect(error.description == example.message)
    #expect(error.localizedDescription == example.message)
    #expect(error.expression == example.expression)
  }

  @Test("An expression of any length, with any characters, is an error and no trap")
  func anyText_isNoTrap() throws {
    let long = String(repeating: "1,", count: 50_000) + "61 * * * *"
    let error = try #require(throws: CronError.self) { try CronExpression(long) }
    #expect(error.column == 100_001)
    #expect(error.description.count < 400)
    var random = SeededRandomNumberGenerator(seed: 7)
    let alphabet = Array("0123456789*/-,@ \t\nMONJAjan?é👩‍👩‍👧\u{0}")
    for _ in 0..<20_000 {
      let text = String(
        (0..<Int.random(in: 0...20, using: &random)).map { _ in alphabet.randomElement(using: &random)! })
      do throws(CronError) {
        _ = try CronExpression(text)
      } catch {
        #expect((1...text.count + 1).contains(error.column))
        #expect(text.dropFirst(error.column - 1).hasPrefix(error.text), "\(text.debugDescription)")
      }
    }
  }
}
