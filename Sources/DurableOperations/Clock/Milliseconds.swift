import Foundation

extension Date {
  /// Milliseconds since 1970, rounded up.
  var milliseconds: Int64 {
    // Rounds up, except for what is lost by keeping a whole number of them as seconds.
    let value = (timeIntervalSince1970 * 1000 - 0.01).rounded(.up)
    return value.isNaN ? 0 : Int64(min(max(value, -9e15), 9e15))
  }

  init(milliseconds: Int64) { self.init(timeIntervalSince1970: Double(milliseconds) / 1000) }
}

extension Duration {
  /// The duration in whole milliseconds, rounded up, so that a waiting job does not wake early.
  var milliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflows) = seconds.multipliedReportingOverflow(by: 1000)
    if overflows { return seconds < 0 ? .min / 2 : .max / 2 }
    return min(whole, .max / 2) + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
  }
}

extension Int64 {
  /// The difference to another number, which may come from a damaged file.
  func clampedDifference(to other: Int64) -> Int64 {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return overflows ? (other < 0 ? .max : -.max) : difference
  }
}
