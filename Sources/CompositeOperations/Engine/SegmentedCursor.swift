import Synchronization

/// A cursor over many numbers that hands neighbours to the same thread, and counts what is done.
///
/// Threads that share one counter, and take operations that are neighbours in memory, mostly wait
/// for each other's caches. Here each thread takes the numbers of a segment of its own one by one.
/// When all segments are assigned, threads help each other: any thread can take an untaken number
/// at any time, so a blocked thread holds none back.
struct SegmentedCursor: ~Copyable, @unchecked Sendable {  // the segments are atomic, and stay where they are
  private static let size = 16
  /// Far enough from overflow for the increments that find nothing to take or count.
  private static let closed = Int.max / 2
  private static let collected = Int.min / 2

  private struct Segment: ~Copyable {
    /// How many were taken; `closed` or more once the segment is closed.
    let next = Atomic(0)
    /// How many are done; `collected` or a little more once they are no longer counted here.
    let done = Atomic(0)
    // Keeps the counters of two segments out of one cache line.
    private let padding: (Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0)
  }

  private let count: Int
  /// Allocated by `open()`. Not an array, which all threads would retain and release on each
  /// access.
  private var segments: UnsafeMutablePointer<Segment>?
  /// The first unassigned segment; `closed` or more once the cursor is closed.
  private let fresh = Atomic(0)
  /// All segments before this one are exhausted.
  private let firstLeft = Atomic(0)

  /// Whether there are enough numbers to pay for the setup.
  static func pays(for count: Int) -> Bool { count >= 256 * size }

  init(count: Int) {
    self.count = count
  }

  deinit {
    segments?.deinitialize(count: segmentCount)
    segments?.deallocate()
  }

  /// Begins to hand out. Called once, while no other method is.
  mutating func open() {
    let segments = UnsafeMutablePointer<Segment>.allocate(capacity: segmentCount)
    for segment in 0..<segmentCount { (segments + segment).initialize(to: Segment()) }
    self.segments = segments
  }

  @inline(__always)
  var isOpened: Bool { segments != nil }

  private var segmentCount: Int { (count + SegmentedCursor.size - 1) / SegmentedCursor.size }

  private borrowing func range(of segment: Int) -> Range<Int> {
    segment * SegmentedCursor.size..<min((segment + 1) * SegmentedCursor.size, count)
  }

  // MARK: - Handing out

  /// Returns a segment to take from: an unassigned one, else the first that has something left.
  borrowing func nextSegment() -> Int? {
    var segment = fresh.load(ordering: .relaxed)
    if segment < segmentCount { segment = fresh.wrappingAdd(1, ordering: .relaxed).oldValue }
    if segment < segmentCount { return segment }
    return segment < SegmentedCursor.closed ? firstWithSomethingLeft() : nil
  }

  private borrowing func firstWithSomethingLeft() -> Int? {
    var segment = firstLeft.load(ordering: .relaxed)
    while segment < segmentCount, segments![segment].next.load(ordering: .relaxed) >= range(of: segment).count {
      segment += 1
    }
    firstLeft.store(segment, ordering: .relaxed)
    return segment < segmentCount ? segment : nil
  }

  /// Takes the next number of a segment; `more` if there is another one, here or elsewhere.
  @inline(__always)
  borrowing func take(from segment: Int) -> (number: Int, more: Bool)? {
    let position = segments![segment].next.wrappingAdd(1, ordering: .relaxed).oldValue
    let range = range(of: segment)
    guard position < range.count else { return nil }
    return (range.lowerBound + position, position + 1 < range.count || hasMore())
  }

  private borrowing func hasMore() -> Bool {
    fresh.load(ordering: .relaxed) < segmentCount || firstWithSomethingLeft() != nil
  }

  /// Stops handing out. Returns what it had not handed out, ascending; nil if it was closed before.
  borrowing func close() -> [Range<Int>]? {
    // A thread that looks for a segment after this finds none. One that has a segment either takes
    // a number before this closes it, or finds it closed.
    let fresh = fresh.exchange(SegmentedCursor.closed, ordering: .acquiringAndReleasing)
    guard fresh < SegmentedCursor.closed else { return nil }
    var rest: [Range<Int>] = []
    for segment in 0..<min(fresh, segmentCount) {
      let taken = segments![segment].next.exchange(SegmentedCursor.closed, ordering: .acquiringAndReleasing)
      let range = range(of: segment)
      if taken < range.count { rest.append(range.dropFirst(taken)) }
    }
    if fresh < segmentCount { rest.append(range(of: fresh).lowerBound..<count) }
    return rest
  }

  // MARK: - Counting

  /// Counts a number that is done. Returns how many to add to the total: the whole segment for its
  /// last number, else none.
  borrowing func countDone(_ number: Int) -> Int {
    let segment = number / SegmentedCursor.size
    let done = segments![segment].done.add(1, ordering: .sequentiallyConsistent).newValue
    if done < 0 { return 1 }
    guard done == range(of: segment).count else { return 0 }
    return collect(segment)
  }

  /// Ends counting by segments. Returns how many are done and were not returned yet.
  borrowing func collectDone() -> Int {
    var done = 0
    for segment in 0..<segmentCount { done += collect(segment) }
    return done
  }

  private borrowing func collect(_ segment: Int) -> Int {
    max(0, segments![segment].done.exchange(SegmentedCursor.collected, ordering: .sequentiallyConsistent))
  }
}
