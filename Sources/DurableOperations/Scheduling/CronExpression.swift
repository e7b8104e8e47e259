import Foundation

/// The times of a recurring event: a line of five fields, as in `cron`.
///
/// ```swift
/// let weekdays = try CronExpression("30 8 * * MON-FRI")
/// let next = weekdays.next(after: Date(), in: TimeZone(identifier: "Europe/Berlin")!)
/// ```
///
/// ``JobSchedule/cron(_:timeZone:)`` describes the fields, and what happens when clocks change.
///
/// Two expressions are equal if their fields allow the same values, however they are written. An
/// expression encodes as the line from which it was made.
package struct CronExpression: Sendable {
  /// The line as given, without white space around it.
  package let description: String
  let fields: CronFields

  /// Reads an expression.
  ///
  /// - Parameter expression: five fields, or a shorthand such as `@daily`.
  /// - Throws: ``CronError``, with the field and the column; also if the expression never takes
  ///   place, as on a 30 February.
  package init(_ expression: String) throws(CronError) {
    fields = try CronParser(expression).parse()
    description = expression.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// Returns the first time after an instant at which the expression takes place; nil for instants
  /// outside any calendar.
  ///
  /// Fast for rare times, too: it looks at months and days, not at minutes.
  ///
  /// - Parameters:
  ///   - instant: the instant after which to look. The result is later, never the same.
  ///   - timeZone: the time zone whose clock the fields describe.
  package func next(after instant: Date, in timeZone: TimeZone) -> Date? {
    let seconds = instant.timeIntervalSince1970.rounded(.down)
    // Far more than any calendar covers, and far less than overflows.
    guard seconds.isFinite, abs(seconds) < 1e13 else { return nil }
    let clock = WallClock(timeZone)
    let next =
      fields.hasEveryHour
      ? fields.next(onTheWallAfter: Int64(seconds), clock) : fields.next(ofTheDayAfter: Int64(seconds), clock)
    return next.map { Date(timeIntervalSince1970: Double($0)) }
  }
}

extension CronExpression: Hashable, CustomStringConvertible {
  /// Whether the fields of both allow the same values.
  package static func == (left: CronExpression, right: CronExpression) -> Bool {
    left.fields == right.fields
  }

  /// Hashes the values that the fields allow.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(fields)
  }
}

extension CronExpression: Codable {
  /// Reads an expression from its line.
  ///
  /// - Throws: a `DecodingError` that says what is wrong with the line, with the ``CronError`` as
  ///   its underlying error.
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    do {
      self = try CronExpression(try container.decode(String.self))
    } catch let error as CronError {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: error.description, underlyingError: error))
    }
  }

  /// Writes the line.
  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
