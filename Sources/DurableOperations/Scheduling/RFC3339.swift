import Foundation

/// Dates as text: ISO 8601 in UTC with milliseconds, by the Gregorian calendar for all of time.
enum RFC3339 {
  /// Returns `2026-02-03T04:05:06.789Z`. Dates outside the years 1 to 9999, which only damaged rows
  /// have, become the first or the last of them.
  static func text(of date: Date) -> String {
    let seconds = min(max(date.timeIntervalSince1970, -62_135_596_800), 253_402_300_799)
    let milliseconds = Int64((seconds * 1000).rounded())
    let (day, time) = milliseconds.quotientAndRemainderDown(by: 86_400_000)
    let civil = CivilDate(day: day)
    return String(unsafeUninitializedCapacity: 24) { bytes in
      var end = 0
      func append(_ number: Int64, _ width: Int, _ separator: Unicode.Scalar) {
        var rest = number
        for place in (end..<end + width).reversed() {
          bytes.initializeElement(at: place, to: UInt8(ascii: "0") + UInt8(rest % 10))
          rest /= 10
        }
        bytes.initializeElement(at: end + width, to: UInt8(ascii: separator))
        end += width + 1
      }
      append(civil.year, 4, "-")
      append(civil.month, 2, "-")
      append(civil.day, 2, "T")
      append(time / 3_600_000, 2, ":")
      append(time / 60_000 % 60, 2, ":")
      append(time / 1000 % 60, 2, ".")
      append(time % 1000, 3, "Z")
      return end
    }
  }
}
