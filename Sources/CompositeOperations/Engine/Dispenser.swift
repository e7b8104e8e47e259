import Synchronization

/// Hands out the numbers below a count, each once, to several workers at the same time, without a lock.
///
/// Neighbours in memory are best worked on by the same core. So a worker takes a few numbers at a time from a shared
/// cursor. It keeps them in a shelf from which any other worker takes them once the cursor has come to its end, so none
/// is held by a worker that may block.
final class Dispenser: Sendable {
  private static let block = 8
  private static let shelfCount = 8
  private static let closed = Int.max / 2

  /// Two numbers in one word: the next to hand out, and the one after the last.
  private struct Range {
    static let none: UInt64 = 0
    /// Different from `none`, so that no worker puts numbers back after the end.
    static let closed: UInt64 = .max << 32

    var next: Int
    var end: Int

    init?(_ word: UInt64) {
      (next, end) = (Int(word >> 32), Int(word & 0xFFFF_FFFF))
      if next >= end { return nil }
    }

    init(_ range: Swift.Range<Int>) {
      (next, end) = (range.lowerBound, range.upperBound)
    }

    var word: UInt64 { next < end ? UInt64(next) << 32 | UInt64(end) : Range.none }
  }

  /// A class of its own, so that no two share a cache line.
  private final class Shelf: Sendable {
    let range = Atomic(Range.none)
    private let padding: (Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0)
  }

  let count: Int
  /// The next number that nobody has taken; `closed` or more when there is none to take.
  private let cursor = Atomic(Dispenser.closed)
  /// None where there is so little to hand out that it makes no difference.
  private let shelves: [Shelf]

  init(count: Int) {
    self.count = count
    // A range has room for 32 bits, which is more than fit into memory as operations.
    shelves = count < 256 || count >= Int(UInt32.max) ? [] : (0..<Dispenser.shelfCount).map { _ in Shelf() }
  }

  /// Begins to hand out.
  func open() { cursor.store(0, ordering: .releasing) }

  /// Hands out a number; `more` if there is another one.
  ///
  /// - Parameters:
  ///   - worker: any number; the same for each call of the same worker.
  ///   - putBack: called with numbers that can not be kept on a shelf. Rare: it was closed at this moment, or two
  ///     workers filled a shelf at once.
  func next(for worker: Int, putBack: (Swift.Range<Int>) -> Void) -> (number: Int, more: Bool)? {
    guard !shelves.isEmpty else {
      let number = cursor.wrappingAdd(1, ordering: .relaxed).oldValue
      return number < count ? (number, number + 1 < count) : nil
    }
    let own = shelves[worker & (shelves.count - 1)]
    if let taken = take(from: own) { return taken }
    let isAtEnd = cursor.load(ordering: .relaxed) >= count
    let start = isAtEnd ? count : cursor.wrappingAdd(Dispenser.block, ordering: .relaxed).oldValue
    guard start < count else {
      for shelf in shelves where shelf !== own {
        if let taken = take(from: shelf) { return taken }
      }
      return nil
    }
    let rest = start + 1..<min(start + Dispenser.block, count)
    if !rest.isEmpty {
      let (isKept, _) = own.range.compareExchange(
        expected: Range.none, desired: Range(rest).word, ordering: .acquiringAndReleasing)
      if !isKept { putBack(rest) }
    }
    return (start, !rest.isEmpty || start + Dispenser.block < count || isAnythingShelved)
  }

  private func take(from shelf: Shelf) -> (number: Int, more: Bool)? {
    var word = shelf.range.load(ordering: .acquiring)
    while var range = Range(word) {
      let number = range.next
      range.next += 1
      let (isTaken, current) = shelf.range.weakCompareExchange(
        expected: word, desired: range.word, ordering: .acquiringAndReleasing)
      if isTaken {
        let hasMore = range.next < range.end || cursor.load(ordering: .relaxed) < count
        return (number, hasMore || isAnythingShelved)
      }
      word = current
    }
    return nil
  }

  /// Whether a worker, which may be blocked by now, has left something on its shelf.
  private var isAnythingShelved: Bool {
    shelves.contains { Range($0.range.load(ordering: .acquiring)) != nil }
  }

  /// What has not been handed out, without handing it out.
  var remaining: [Int] {
    let next = cursor.load(ordering: .acquiring)
    let kept = shelves.compactMap { Range($0.range.load(ordering: .acquiring)) }.map { $0.next..<$0.end }
    return (kept + (next < count ? [next..<count] : [])).flatMap { $0 }
  }

  /// Hands out nothing any more. Returns what it had not handed out: some numbers, and all from another one on.
  ///
  /// Nil if it was closed, or never open.
  func close() -> (kept: [Int], rest: Swift.Range<Int>)? {
    let next = cursor.exchange(Dispenser.closed, ordering: .acquiringAndReleasing)
    guard next < Dispenser.closed else { return nil }
    let kept = shelves.compactMap { Range($0.range.exchange(Range.closed, ordering: .acquiringAndReleasing)) }
    return (kept.flatMap { $0.next..<$0.end }.sorted(), min(next, count)..<count)
  }
}
