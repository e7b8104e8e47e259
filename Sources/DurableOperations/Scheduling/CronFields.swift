/// What each field of a cron expression allows: one bit for each value.
struct CronFields: Sendable, Hashable {
  var minutes: UInt64
  var hours: UInt64
  var daysOfMonth: UInt64
  var months: UInt64
  /// Sunday is 0.
  var daysOfWeek: UInt64
  /// Whether a day that matches one of its two fields is enough.
  var oneDayFieldIsEnough: Bool

  var hasEveryHour: Bool { hours == (1 << 24) - 1 }
}

extension CronFields {
  /// Returns the first matching time after `time` of a clock that never changes; in seconds since
  /// 1970 on that clock.
  func firstMatch(after time: Int64) -> Int64? {
    let minute = time.dividedDown(by: 60) + 1
    var (day, minuteOfDay) = minute.quotientAndRemainderDown(by: 24 * 60)
    if daysMatching(inMonthOf: CivilDate(day: day)) & (1 << UInt64(CivilDate(day: day).day)) != 0,
      let found = firstMinuteOfDay(from: minuteOfDay)
    {
      return day * 86_400 + found * 60
    }
    guard let nextDay = firstDay(from: day + 1) else { return nil }
    day = nextDay
    minuteOfDay = firstMinuteOfDay(from: 0)!
    return day * 86_400 + minuteOfDay * 60
  }

  private func firstMinuteOfDay(from start: Int64) -> Int64? {
    guard start < 24 * 60 else { return nil }
    let (hour, minute) = start.quotientAndRemainder(dividingBy: 60)
    if hours & (1 << UInt64(hour)) != 0, let found = minutes.firstBit(from: minute) { return hour * 60 + found }
    return hours.firstBit(from: hour + 1).map { $0 * 60 + Int64(minutes.trailingZeroBitCount) }
  }

  private func firstDay(from start: Int64) -> Int64? {
    var date = CivilDate(day: start)
    // The calendar repeats after 400 years: a day that does not come by then never does.
    for _ in 0...(400 * 12) {
      if let day = daysMatching(inMonthOf: date).firstBit(from: date.day) {
        return date.dayNumber + day - date.day
      }
      date = date.firstOfNextMonth
    }
    return nil
  }

  /// The days of a month that match, one bit for each, from bit 1.
  private func daysMatching(inMonthOf date: CivilDate) -> UInt64 {
    guard months & (1 << UInt64(date.month)) != 0 else { return 0 }
    let first = CivilDate(year: date.year, month: date.month, day: 1)
    // The pattern of the week, repeated and rotated so that bit 1 is the weekday of the first.
    let week = (daysOfWeek >> UInt64(first.weekday)) | (daysOfWeek << UInt64(7 - first.weekday))
    let weeks = (0..<5).reduce(into: 0 as UInt64) { $0 |= (week & 0x7F) << UInt64($1 * 7 + 1) }
    let all = ((1 << UInt64(first.lengthOfMonth)) - 1) << 1 as UInt64
    return (oneDayFieldIsEnough ? daysOfMonth | weeks : daysOfMonth & weeks) & all
  }
}

extension UInt64 {
  /// The lowest bit that is set at or after `start`.
  fileprivate func firstBit(from start: Int64) -> Int64? {
    guard start < 64, self >> UInt64(start) != 0 else { return nil }
    return start + Int64((self >> UInt64(start)).trailingZeroBitCount)
  }
}
