import Synchronization

/// Hands out the children of a parallel composition in order, each once, and counts those that are
/// done, without a lock.
///
/// It uses one cursor, or a segmented one where several workers take from it all the time.
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

  /// Begins to hand out. No other method may be called at the same time.
  ///
  /// - Parameter segmented: whether one thread may take several neighbours.
  mutating func open(segmented: Bool) {
    if segmented, SegmentedCursor.pays(for: count) {
      segments.open()
    } else {
      cursor.open()
    }
  }

  // MARK: - Handing out

  /// The segment that a thread takes from, if it has one.
  struct Place {
    fileprivate var segment: Int?

    /// Whether the thread has a segment, which it usually takes from alone.
    var isOwn: Bool { segment != nil }
  }

  /// Returns the next child, and whether another one follows. A thread that has a segment passes
  /// its place until this returns nil, and then a new place.
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

  /// Stops handing out. Returns what it had not handed out, ascending; nil if it was not open.
  borrowing func close() -> [Range<Int>]? {
    segments.isOpened ? segments.close() : cursor.close().map { $0.isEmpty ? [] : [$0] }
  }

  /// What has not been handed out.
  var remaining: Range<Int> { cursor.remaining }

  // MARK: - Counting

  /// How many children are done; too few while segments count their own.
  var doneCount: Int { done.load(ordering: .sequentiallyConsistent) }

  /// Counts a child that is done. Returns true for the last of all.
  @inline(__always)
  borrowing func countDone(_ tag: Int) -> Bool {
    add(segments.isOpened ? segments.countDone(tag) : 1)
  }

  /// Makes `doneCount` exact from now on. Returns true if all are done and no other call returned
  /// true.
  borrowing func countExactly() -> Bool {
    add(segments.isOpened ? segments.collectDone() : 0)
  }

  private borrowing func add(_ number: Int) -> Bool {
    number > 0 && done.add(number, ordering: .sequentiallyConsistent).newValue == count
  }
}
