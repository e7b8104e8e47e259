/// How long a thread goes on with the engine's work before it lets others have it, or looks whether they want it: for a
/// number of pieces of work, or about two milliseconds, whichever is over first.
///
/// The one place that says what a turn is. Every loop that takes one piece of work after the other consults the turn of
/// its thread.
struct Turn {
  /// The pieces of work that a worker does before it gives its thread back. The time decides, unless they take less than a
  /// microsecond each; with fewer pieces, short steps would mostly wait for their next turn.
  static let pieces = 1_024
  /// The leaves that a lane runs before it looks at its queue.
  static let leaves = 4
  /// In nanoseconds.
  static let length: Int64 = 2_000_000
  /// The clock is read after each piece of work; where they are short, after so many at most.
  private static let longestStride = 4
  /// Pieces between two readings of the clock that took less than this, together, are short.
  private static let short = length / 64

  private var remaining = 0
  private var untilReading = 0
  private var stride = 1
  private var lastReading: Int64 = 0
  /// When it is over, by the clock that it is read by. Tests set it where the number of pieces alone shall decide.
  var end: Int64 = 0

  /// Whether ``continues(now:)`` has said no.
  var isOver: Bool { remaining == 0 }

  /// A turn begins, with no piece of work done.
  mutating func begin(of pieces: Int, at now: Int64) {
    remaining = pieces
    // After the first piece, not before it.
    untilReading = 2
    stride = 1
    lastReading = now
    end = now + Turn.length
  }

  /// Whether another piece of work may be done, which is counted. Once this has said no it does not say anything else.
  @inline(__always)
  mutating func continues(now: () -> Int64) -> Bool {
    guard remaining > 0 else { return false }
    remaining -= 1
    untilReading -= 1
    return untilReading > 0 || lasts(at: now())
  }

  private mutating func lasts(at now: Int64) -> Bool {
    guard now < end else {
      remaining = 0
      return false
    }
    stride = now - lastReading < Turn.short ? min(stride * 2, Turn.longestStride) : 1
    untilReading = stride
    lastReading = now
    return true
  }
}
