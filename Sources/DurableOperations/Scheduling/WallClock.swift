import Foundation

/// The clock on the wall of a time zone, which changes now and then. All times are whole seconds
/// since 1970; times that the clock shows count as if the zone were that of Greenwich.
///
/// It asks Foundation only for the offset of an instant: Foundation's search for the next matching
/// date is slow, and gives different answers on different systems.
struct WallClock {
  private let timeZone: TimeZone

  init(_ timeZone: TimeZone) {
    self.timeZone = timeZone
  }

  func offset(at instant: Int64) -> Int64 {
    Int64(timeZone.secondsFromGMT(for: Date(timeIntervalSince1970: Double(instant))))
  }

  /// Returns the instant at which the clock first shows `time`; the first one after the gap if the
  /// clock skips it.
  ///
  /// Never runs backwards: a later time of the clock has the same or a later instant.
  func instant(showing time: Int64) -> Int64 {
    // No offset is as long as a day, so this is before any instant that could show the time.
    let early = time - 86_400
    let before = offset(at: early)
    let first = time - before
    let after = offset(at: first)
    if after == before { return first }
    // The clock changes between the two. Either the time is after the change, or the clock skips
    // it.
    let second = time - after
    let change = firstChange(after: early, through: first)
    return max(second, change)
  }

  /// Returns the first instant whose offset differs from that of `start`, given that the offset of
  /// `end` does.
  func firstChange(after start: Int64, through end: Int64) -> Int64 {
    let offset = offset(at: start)
    var (same, other) = (start, end)
    while other - same > 1 {
      let middle = same + (other - same) / 2
      if self.offset(at: middle) == offset { same = middle } else { other = middle }
    }
    return other
  }
}
