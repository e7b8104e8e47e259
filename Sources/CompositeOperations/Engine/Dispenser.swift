import Synchronization

/// Hands out the children of a parallel composition in order, each once, and counts those that are done, without a
/// lock.
///
/// From one cursor where that is good enough; from a segmented one where several workers take from it all the time.
struct Dispenser: ~Copyable {
  private let count: Int
  private let cursor: Cursor
  private var segments: SegmentedCursor
  private let done = Atomic(0)

  init(count: Int) {
    self.count = count
    self.cursor = Cursor(count: count)
    self.segments = SegmentedCursor(count: count)
  }

  /// Begins to hand out. Nothing else is called at the same time.
  ///
  /// - Parameter segmented: whether neighbours may go to the same thread.
  mutating func open(segmented: Bool) {
    if segmented, SegmentedCursor.pays(for: count) {
      segments.open()
    } else {
      cursor.open()
    }
  }

  // MARK: - Handing out

  /// Where a thread takes from.
  struct Place {
    fileprivate var segment: Int?

    /// Whether this thread is for now the only one that takes here.
    var isOwn: Bool { segment != nil }
  }

  /// The next child, and whether there is another one after it. A thread that has a place of its own asks with
  /// that until there is none, and then with a new one.
  @inline(__always)
  borrowing func take(at place: inout Place) -> (number: Int, more: Bool)? {
    segments.isOpened ? takeInSegment(at: &place) : cursor.take()
  }

  private borrowing func takeInSegment(at place: inout Place) -> (number: Int, more: Bool)? {
    if let segment = place.segment { return segments.take(from: segment) }
    while let segment = segments.nextSegment() {
      guard let taken = segments.take(from: segment) else { continue }
      place.segment = segment
      return taken
    }
    return nil
  }

  /// Hands out nothing any more. Returns what it had not handed out, ascending; nil if it was not open.
  borrowing func close() -> [Range<Int>]? {
    segments.isOpened ? segments.close() : cursor.close().map { $0.isEmpty ? [] : [$0] }
  }

  /// What has not been handed out.
  var remaining: Range<Int> { cursor.remaining }

  // MARK: - Counting

  /// How many are known to be done: all, unless they are handed out in segments.
  var doneCount: Int { done.load(ordering: .sequentiallyConsistent) }

  /// Counts one that is done. True for the last of all.
  @inline(__always)
  borrowing func countDone(_ tag: Int) -> Bool {
    add(segments.isOpened ? segments.countDone(tag) : 1)
  }

  /// From now on `doneCount` is exact. True if all are done, and nobody else has been told so.
  borrowing func countExactly() -> Bool {
    add(segments.isOpened ? segments.collectDone() : 0)
  }

  private borrowing func add(_ number: Int) -> Bool {
    number > 0 && done.add(number, ordering: .sequentiallyConsistent).newValue == count
  }
}
