import CompositeOperations
public import Foundation

/// The times of a periodic job.
///
/// ```swift
/// let nightly = try JobSchedule.cron("30 2 * * *", timeZone: TimeZone(identifier: "Europe/Berlin")!)
/// let quarterly = JobSchedule.interval(.seconds(15 * 60))
/// ```
///
/// A schedule is a rule without memory: it gives the same times in every process and after every
/// launch, so that several processes agree on them.
///
/// It encodes, for a database, as one of
///
/// ```json
/// {"cron":"30 2 * * *","timeZone":"Europe/Berlin"}
/// {"everyMilliseconds":900000,"startMilliseconds":0}
/// ```
///
/// where the start is left out if there is none.
public struct JobSchedule: Sendable, Hashable {
  enum Rule: Sendable, Hashable {
    case cron(CronExpression, TimeZone)
    case interval(AnchoredInterval)
  }

  let rule: Rule

  /// Makes a schedule with the times of a cron expression, on the clock of a time zone.
  ///
  /// ```swift
  /// let berlin = TimeZone(identifier: "Europe/Berlin")!
  /// let weekdays = try JobSchedule.cron("30 8 * * MON-FRI", timeZone: berlin)
  /// let next = weekdays.next(after: Date())
  /// ```
  ///
  /// The fields are minute (0-59), hour (0-23), day of month (1-31), month (1-12 or `JAN`-`DEC`)
  /// and day of week (0-7, where 0 and 7 are Sunday, or `SUN`-`SAT`), with white space between.
  /// Each is a list, with commas, of
  ///
  /// - `*`: every value;
  /// - `10`: one value;
  /// - `10-40`: a range, both ends included; `FRI-SUN` is one too, though Sunday is 0;
  /// - `*/5`, `10-40/5`, `5/15`: every fifth value of all or of a range, and from 5 on every
  ///   fifteenth. The last day of a week is Saturday: `7/2`, `SUN/2` and `0/2` are Sunday,
  ///   Tuesday, Thursday and Saturday.
  ///
  /// `@hourly`, `@daily`, `@midnight`, `@weekly`, `@monthly`, `@yearly` and `@annually` stand for
  /// the usual lines. Names may be in upper or lower case.
  ///
  /// A day has to match both the day of month and the day of week, unless neither field begins with
  /// `*`: then one of the two is enough. `cron` has always worked this way: `0 0 13 * FRI` is every
  /// 13th and every Friday.
  ///
  /// **Daylight saving.** What happens at a change of the clock depends on the hour field:
  ///
  /// - If it leaves out some hours, the expression names times of the day, and each takes place
  ///   once. A time that the clock skips takes place at the first instant after the gap, together
  ///   with other skipped times; a time that the clock shows twice takes place the first time.
  ///   `30 2 * * *` runs each day, at 3:00 on the day when 2:00 to 3:00 is skipped.
  /// - If it has every hour (`*`, `0-23`, `*/1`), the expression follows the clock on the wall: it
  ///   takes place whenever that shows a matching time. `*/15 * * * *` runs every 15 minutes,
  ///   through the skipped hour and both of the repeated ones. Times that only the skipped hour
  ///   would have shown do not take place.
  ///
  /// - Parameters:
  ///   - expression: five fields, or a shorthand such as `@daily`.
  ///   - timeZone: the time zone whose clock counts. The default is this machine's current one;
  ///     name one if the schedule must be the same on each machine.
  /// - Throws: ``CronError``, which says what is wrong with which field of the expression; also if
  ///   the expression never takes place, as on a 30 February.
  public static func cron(_ expression: String, timeZone: TimeZone = .current) throws(CronError) -> JobSchedule {
    cron(try CronExpression(expression), timeZone: timeZone)
  }

  /// Makes a schedule with the times of a cron expression, on the clock of a time zone.
  ///
  /// - Parameters:
  ///   - expression: the times.
  ///   - timeZone: the time zone whose clock counts. The default is this machine's current one;
  ///     name one if the schedule must be the same on each machine.
  package static func cron(_ expression: CronExpression, timeZone: TimeZone = .current) -> JobSchedule {
    // A zone that follows the machine's settings would be another one when it is read back.
    JobSchedule(rule: .cron(expression, TimeZone(identifier: timeZone.identifier) ?? timeZone))
  }

  /// Makes a schedule with a fixed interval: start, start + interval, start + 2 × interval and so
  /// on, without drift, whenever the jobs run and however long they take.
  ///
  /// - Parameters:
  ///   - every: the interval in whole milliseconds; a fraction is dropped. Traps unless it is at
  ///     least one millisecond. It counts real time, through every change of the clock.
  ///   - startingAt: the first time, in whole milliseconds, too; nil for whole multiples of the
  ///     interval since 1970 in Greenwich: an interval of 15 minutes is then each quarter of an
  ///     hour, on every machine. Traps if it is no real date.
  public static func interval(_ every: Duration, startingAt: Date? = nil) -> JobSchedule {
    require(
      every >= .milliseconds(1),
      "JobSchedule.interval was given the interval \(every), at which a job would be due all the time. Use at least one "
        + "millisecond.")
    require(
      startingAt.map { AnchoredInterval.allows(start: $0) } ?? true,
      "JobSchedule.interval was given a start that is no date of this or any near era: "
        + "\(startingAt!.timeIntervalSince1970) s since 1970. Use a real date, or nil.")
    return JobSchedule(rule: .interval(AnchoredInterval(every: every, startingAt: startingAt)))
  }

  /// Returns the first time after an instant, or nil if there is none.
  ///
  /// - Parameter instant: the instant after which to look. The result is later, never the same.
  public func next(after instant: Date) -> Date? {
    switch rule {
    case .cron(let expression, let timeZone): expression.next(after: instant, in: timeZone)
    case .interval(let interval): interval.next(after: instant)
    }
  }

  /// Returns the times after one instant, up to and including another.
  ///
  /// - Parameters:
  ///   - start: the instant after which to begin; itself excluded.
  ///   - end: the last instant that counts.
  ///   - limit: the maximum number of times; the first ones are returned. Traps if it is negative.
  public func occurrences(after start: Date, through end: Date, limit: Int) -> [Date] {
    require(limit >= 0, "JobSchedule.occurrences was given the limit \(limit). Use zero or more.")
    var found: [Date] = []
    var last = start
    while found.count < limit, let next = next(after: last), next <= end {
      found.append(next)
      last = next
    }
    return found
  }

  /// Returns the last time after one instant, up to and including another; found without counting
  /// through all of them.
  func lastOccurrence(after start: Date, through end: Date) -> Date? {
    guard var last = next(after: start), last <= end else { return nil }
    switch rule {
    case .interval(let interval): return interval.last(through: end)
    case .cron:
      // The times are at least a second apart. The search narrows what lies after `last` and not
      // after `end`.
      var none = end
      while none.timeIntervalSince(last) >= 1 {
        let middle = last.addingTimeInterval(none.timeIntervalSince(last) / 2)
        if let next = next(after: middle), next <= end {
          last = next
        } else if let next = next(after: last), next <= middle {
          (last, none) = (next, middle)
        } else {
          return last
        }
      }
      return last
    }
  }
}

extension JobSchedule: Codable {
  private enum CodingKeys: String, CodingKey {
    case cron, timeZone, everyMilliseconds, startMilliseconds
  }

  /// Reads a schedule from its stored form.
  ///
  /// - Throws: a `DecodingError` that names the fault: the expression, an unknown time zone, or an
  ///   invalid interval.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if container.contains(.everyMilliseconds) {
      let every = try container.decode(Int64.self, forKey: .everyMilliseconds)
      let start = try container.decodeIfPresent(Int64.self, forKey: .startMilliseconds)
      guard let interval = AnchoredInterval(every: every, start: start) else {
        throw DecodingError.dataCorruptedError(
          forKey: .everyMilliseconds, in: container,
          debugDescription:
            "An interval of \(every) ms from \(start ?? 0) ms since 1970 is no schedule. The interval must "
            + "be at least 1 ms, and both at most 10,000 years.")
      }
      rule = .interval(interval)
    } else {
      let expression = try container.decode(CronExpression.self, forKey: .cron)
      let identifier = try container.decode(String.self, forKey: .timeZone)
      guard let timeZone = TimeZone(identifier: identifier) else {
        throw DecodingError.dataCorruptedError(
          forKey: .timeZone, in: container,
          debugDescription: "The time zone “\(identifier)” of the schedule “\(expression)” is not known on this "
            + "machine. Install its time zone data, or store a schedule with another one.")
      }
      rule = .cron(expression, timeZone)
    }
  }

  /// Writes the stored form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch rule {
    case .cron(let expression, let timeZone):
      try container.encode(expression, forKey: .cron)
      try container.encode(timeZone.identifier, forKey: .timeZone)
    case .interval(let interval):
      try container.encode(interval.every, forKey: .everyMilliseconds)
      try container.encodeIfPresent(interval.start, forKey: .startMilliseconds)
    }
  }
}
