import Foundation

/// A day of the calendar, written as 2026-03-29.
struct Day: Equatable, Sendable {
  private static let calendar: Calendar = {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .gmt
    return calendar
  }()

  /// Days since 1 January 1970.
  private let number: Int

  private init(number: Int) {
    self.number = number
  }

  init(_ date: Date) {
    number = Int((date.timeIntervalSince1970 / 86_400).rounded(.down))
  }

  /// The day that a text such as `2026-03-29` means; nil if there is none.
  init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.map(\.count) == [4, 2, 2], parts.joined().allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
    let numbers = parts.compactMap { Int($0) }
    let components = DateComponents(year: numbers[0], month: numbers[1], day: numbers[2])
    guard let date = Self.calendar.date(from: components) else { return nil }
    self.init(date)
    // Otherwise the 30th of February would be a day in March.
    guard description == text else { return nil }
  }

  /// So many days later.
  func advanced(by days: Int) -> Day {
    Day(number: number + days)
  }

  private var date: Date { Date(timeIntervalSince1970: Double(number) * 86_400) }

  /// The number of the day in its year, from 1.
  var dayOfYear: Int { Self.calendar.ordinality(of: .day, in: .year, for: date) ?? 1 }

  /// Such as `Sun 29 Mar`.
  var shortText: String {
    let parts = Self.calendar.dateComponents([.weekday, .day, .month], from: date)
    let weekday = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"][(parts.weekday ?? 1) - 1]
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let day = "\(parts.day ?? 1)"
    return "\(weekday) \(day.count < 2 ? " " : "")\(day) \(months[(parts.month ?? 1) - 1])"
  }
}

extension Day: CustomStringConvertible {
  var description: String {
    let parts = Self.calendar.dateComponents([.year, .month, .day], from: date)
    func digits(_ number: Int?, _ count: Int) -> String {
      let text = "\(number ?? 0)"
      return String(repeating: "0", count: max(0, count - text.count)) + text
    }
    return "\(digits(parts.year, 4))-\(digits(parts.month, 2))-\(digits(parts.day, 2))"
  }
}
