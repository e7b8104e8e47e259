import Synchronization

/// Hands out the numbers below a count in order, each once, to any number of threads, without a
/// lock.
///
/// Threads take one number at a time: a thread that took several would hold them back while the
/// first one blocks.
struct Cursor: ~Copyable {
  /// Far enough below overflow for the increments that find nothing to take.
  private static let closed = Int.max / 2

  private let count: Int
  /// The next number; `closed` or more while the cursor is closed.
  private let next = Atomic(Cursor.closed)

  init(count: Int) {
    self.count = count
  }

  /// Begins to hand out.
  borrowing func open() { next.store(0, ordering: .releasing) }

  /// The next number; `more` if there is another one after it.
  @inline(__always)
  borrowing func take() -> (number: Int, more: Bool)? {
    let number = next.wrappingAdd(1, ordering: .relaxed).oldValue
    return number < count ? (number, number + 1 < count) : nil
  }

  /// What has not been handed out.
  var remaining: Range<Int> { min(next.load(ordering: .acquiring), count)..<count }

  /// Stops handing out. Returns what it had not handed out; nil if it was not open.
  borrowing func close() -> Range<Int>? {
    let number = next.exchange(Cursor.closed, ordering: .acquiringAndReleasing)
    return number < Cursor.closed ? min(number, count)..<count : nil
  }
}
