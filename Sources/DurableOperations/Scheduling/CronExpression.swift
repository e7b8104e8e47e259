public import Foundation

/// The times of a recurring event: a line of five fields, as in `cron`.
///
/// ```swift
/// let weekdays = try CronExpression("30 8 * * MON-FRI")
/// let next = weekdays.next(after: Date(), in: TimeZone(identifier: "Europe/Berlin")!)
/// ```
///
/// The fields are minute (0-59), hour (0-23), day of month (1-31), month (1-12 or `JAN`-`DEC`) and
/// day of week (0-7, where 0 and 7 are Sunday, or `SUN`-`SAT`), with white space between. Each is a
/// list, with commas, of
///
/// - `*`: every value;
/// - `10`: one value;
/// - `10-40`: a range, both ends included; `FRI-SUN` is one too, though Sunday is 0;
/// - `*/5`, `10-40/5`, `5/15`: every fifth value of all or of a range, and from 5 on every
///   fifteenth.
///
/// `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually` stand for the
/// usual lines. Names may be in upper or lower case.
///
/// A day has to match both the day of month and the day of week, unless neither field begins with
/// `*`: then one of the two is enough. `cron` has always worked this way: `0 0 13 * FRI` is every
/// 13th and every Friday.
///
/// **Daylight saving.** What happens at a change of the clock depends on the hour field:
///
/// - If it leaves out some hours, the expression names times of the day, and each takes place once.
///   A time that the clock skips takes place at the first instant after the gap, together with
///   other skipped times; a time that the clock shows twice takes place the first time. `30 2 * *
///   *` runs each day, at 3:00 on the day when 2:00 to 3:00 is skipped.
/// - If it has every hour (`*`, `0-23`, `*/1`), the expression follows the clock on the wall: it
///   takes place whenever that shows a matching time. `*/15 * * * *` runs every 15 minutes, through
///   the skipped hour and both of the repeated ones. Times that only the skipped hour would have
///   shown do not take place.
///
/// Two expressions are equal if their fields allow the same values, however they are written. An
/// expression encodes as the line from which it was made.
public struct CronExpression: Sendable {
  /// The line as given, without white space around it.
  public let description: String
  let fields: CronFields

  /// Reads an expression.
  ///
  /// - Parameter expression: five fields, or a shorthand such as `@daily`.
  /// - Throws: ``CronError``, with the field and the column; also if the expression never takes
  ///   place, as on a 30 February.
  public init(_ expression: String) throws(CronError) {
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
  ///   - timeZone: the time zone whose clock the fields describe; see above for changes of the
  ///     clock.
  public func next(after instant: Date, in timeZone: TimeZone) -> Date? {
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
  public static func == (left: CronExpression, right: CronExpression) -> Bool {
    left.fields == right.fields
  }

  /// Hashes the values that the fields allow.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(fields)
  }
}

extension CronExpression: Codable {
  /// Reads an expression from its line.
  ///
  /// - Throws: a `DecodingError` that says what is wrong with the line, with the ``CronError`` as
  ///   its underlying error.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    do {
      self = try CronExpression(try container.decode(String.self))
    } catch let error as CronError {
      throw DecodingError.dataCorrupted(
        .init(codingPath: decoder.codingPath, debugDescription: error.description, underlyingError: error))
    }
  }

  /// Writes the line.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
