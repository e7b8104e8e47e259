/// Whether the date was set anew since it was looked at, by what it is ahead of the time since the machine's start.
struct ClockWatch {
  private var offset: Int64?
  /// Whether the clock was set back since periodic jobs were looked at, or was never looked at.
  var mayBeSetBack = true

  /// Clocks are corrected by little all the time.
  func knows(_ offset: Int64) -> Bool { self.offset.map { abs(offset - $0) <= 1000 } ?? false }

  mutating func shows(_ offset: Int64) {
    if let before = self.offset, offset < before { mayBeSetBack = true }
    self.offset = offset
  }
}
