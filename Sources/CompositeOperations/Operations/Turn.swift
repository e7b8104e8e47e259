/// How long a thread runs the engine's work before it yields, or checks whether it should: for a
/// number of pieces of work, or a third of a millisecond, whichever ends first.
///
/// Every loop that takes one piece of work after the other consults the turn of its thread.
struct Turn {
  /// The pieces of work that a worker does before it returns its thread. The time is the limit
  /// unless they take less than about two microseconds each; with fewer pieces, short steps would
  /// mostly wait for their next turn.
  static let pieces = 1_024
  /// The leaves that a lane runs before it checks whether to give up its slot.
  static let leaves = 4
  /// In nanoseconds. A click beside long sequences waits for the turns that run.
  static let length: Int64 = 350_000
  /// The clock is read after each piece of work; if they are short, after this many at most.
  private static let longestStride = 4
  /// Pieces are short if all between two readings of the clock took less than this together.
  private static let short = length / 64

  private var remaining = 0
  private var untilReading = 0
  private var stride = 1
  private var lastReading: Int64 = 0
  /// The end of the turn on the clock. Tests set it to leave the decision to the number of pieces.
  var end: Int64 = 0

  /// Whether ``continues(now:)`` has returned false.
  var isOver: Bool { remaining == 0 }

  /// Begins a turn, with no piece of work done.
  mutating func begin(of pieces: Int, at now: Int64) {
    remaining = pieces
    // After the first piece, not before it.
    untilReading = 2
    stride = 1
    lastReading = now
    end = now + Turn.length
  }

  /// Counts a piece of work. Returns whether the turn allows it; after false, always false.
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
