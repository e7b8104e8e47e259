/// Whether the date was set since the last look, by how far it is ahead of the time since the
/// machine's start.
struct ClockWatch {
  private var offset: Int64?
  /// Whether the clock was set back since the last look at periodic jobs, or there was no look yet.
  var mayBeSetBack = true

  /// Clocks are corrected slightly all the time.
  func knows(_ offset: Int64) -> Bool { self.offset.map { abs(offset - $0) <= 1000 } ?? false }

  mutating func shows(_ offset: Int64) {
    if let before = self.offset, offset < before { mayBeSetBack = true }
    self.offset = offset
  }
}
