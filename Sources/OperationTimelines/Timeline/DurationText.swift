import CompositeOperations

extension Duration {
  /// Nanoseconds, to the limits of an `Int64`.
  var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflows) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
    return overflow || overflows ? (seconds < 0 ? .min : .max) : sum
  }

  /// Microseconds with three digits after the point, whatever the locale.
  var microsecondsText: String {
    let (whole, rest) = nanoseconds.magnitude.quotientAndRemainder(dividingBy: 1000)
    let digits = "\(rest)"
    return "\(nanoseconds < 0 ? "-" : "")\(whole)." + String(repeating: "0", count: 3 - digits.count) + digits
  }

  /// The duration for a reader: three digits that matter, and a unit.
  var shortText: String {
    let nanoseconds = nanoseconds
    let magnitude = nanoseconds.magnitude
    let sign = nanoseconds < 0 ? "-" : ""
    let minute: UInt64 = 60_000_000_000
    if magnitude >= 60 * minute {
      return "\(sign)\(magnitude / (60 * minute)) h \(magnitude / minute % 60) min"
    }
    if magnitude >= minute { return "\(sign)\(magnitude / minute) min \(magnitude % minute / 1_000_000_000) s" }
    for (unit, size) in [("s", 1_000_000_000), ("ms", 1_000_000), ("µs", 1000)] as [(String, UInt64)]
    where magnitude >= size {
      let whole = magnitude / size
      let places: UInt64 = whole >= 100 ? 1 : whole >= 10 ? 10 : 100
      guard places > 1 else { return "\(sign)\(whole) \(unit)" }
      let rest = "\(magnitude % size * places / size)"
      return "\(sign)\(whole)." + String(repeating: "0", count: places == 100 ? 2 - rest.count : 0) + "\(rest) \(unit)"
    }
    return "\(sign)\(magnitude) ns"
  }
}
