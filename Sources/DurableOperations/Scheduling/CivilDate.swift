/// A date of the Gregorian calendar, in pure arithmetic, for all of time.
struct CivilDate: Equatable {
  var year: Int64
  /// From 1.
  var month: Int64
  /// From 1.
  var day: Int64

  init(year: Int64, month: Int64, day: Int64) {
    self.year = year
    self.month = month
    self.day = day
  }

  /// Makes the date that many days after 1 January 1970.
  init(day number: Int64) {
    // Years count from March, so that the leap day is the last of a year: a month's number then
    // gives its first day.
    let (era, dayOfEra) = (number + 719_468).quotientAndRemainderDown(by: 146_097)
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
  }

  /// The number of days since 1 January 1970.
  var dayNumber: Int64 {
    let (era, yearOfEra) = (month <= 2 ? year - 1 : year).quotientAndRemainderDown(by: 400)
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  /// Sunday is 0.
  var weekday: Int64 { (dayNumber + 4).quotientAndRemainderDown(by: 7).remainder }

  var lengthOfMonth: Int64 { firstOfNextMonth.dayNumber - CivilDate(year: year, month: month, day: 1).dayNumber }

  var firstOfNextMonth: CivilDate {
    month == 12 ? CivilDate(year: year + 1, month: 1, day: 1) : CivilDate(year: year, month: month + 1, day: 1)
  }
}

extension Int64 {
  /// Divides so that the remainder is never negative.
  func quotientAndRemainderDown(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }

  func dividedDown(by divisor: Int64) -> Int64 {
    quotientAndRemainderDown(by: divisor).quotient
  }
}
