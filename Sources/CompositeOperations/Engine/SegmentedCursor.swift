import Synchronization

/// A cursor over many numbers that hands neighbours to the same thread, and counts which are done.
///
/// Threads that take turns at one counter, and at operations that are neighbours in memory, mostly wait for each
/// other's caches. Here each has a segment of its own: a few neighbours, which it takes one by one. When all segments
/// have been taken up, threads help each other, so a number that nobody has taken can be taken by anybody at any time:
/// who blocks holds none back.
struct SegmentedCursor: ~Copyable, @unchecked Sendable {  // the segments are atomic, and stay where they are
  private static let size = 16
  /// Far enough from overflow for what is added when there is nothing to take, or to count, any more.
  private static let closed = Int.max / 2
  private static let collected = Int.min / 2

  private struct Segment: ~Copyable {
    /// How many were taken; `closed` or more when none is handed out any more.
    let next = Atomic(0)
    /// How many are done; `collected` or a little more when they are not counted here any more.
    let done = Atomic(0)
    // So that no two segments' counters share a line of the cache.
    private let padding: (Int, Int, Int, Int, Int, Int) = (0, 0, 0, 0, 0, 0)
  }

  private let count: Int
  /// Made when it opens. Not an array, which would count references to itself on each access, by all threads.
  private var segments: UnsafeMutablePointer<Segment>?
  /// The first segment that nobody has taken up; `closed` or more when nothing is handed out any more.
  private let fresh = Atomic(0)
  /// All segments before this one are exhausted.
  private let firstLeft = Atomic(0)

  /// Whether there are so many numbers that it gains more than setting it up costs.
  static func pays(for count: Int) -> Bool { count >= 256 * size }

  init(count: Int) {
    self.count = count
  }

  deinit {
    segments?.deinitialize(count: segmentCount)
    segments?.deallocate()
  }

  /// Begins to hand out. Called once, and nothing else at the same time.
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

  /// A segment to take from: a fresh one, else the first that has something left.
  borrowing func nextSegment() -> Int? {
    var segment = fresh.load(ordering: .relaxed)
    if segment < segmentCount { segment = fresh.wrappingAdd(1, ordering: .relaxed).oldValue }
    if segment < segmentCount { return segment }
    return segment < SegmentedCursor.closed ? firstWithSomethingLeft() : nil
  }

  private borrowing func firstWithSomethingLeft() -> Int? {
    var segment = firstLeft.load(ordering: .relaxed)
    while segment < segmentCount, isExhausted(segment) { segment += 1 }
    firstLeft.store(segment, ordering: .relaxed)
    return segment < segmentCount ? segment : nil
  }

  private borrowing func isExhausted(_ segment: Int) -> Bool {
    segments![segment].next.load(ordering: .relaxed) >= range(of: segment).count
  }

  /// The next number of a segment, each once; `more` if there is another one, here or elsewhere.
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

  /// Hands out nothing any more. Returns what it had not handed out, ascending; nil if it was closed before.
  borrowing func close() -> [Range<Int>]? {
    // Who takes a segment up after this finds none; who did before finds it closed, or was first.
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

  /// Counts one that is done. Returns how many to add to the count of all: those of the whole segment when it is the
  /// last in that, and none before.
  borrowing func countDone(_ number: Int) -> Int {
    let segment = number / SegmentedCursor.size
    let done = segments![segment].done.add(1, ordering: .sequentiallyConsistent).newValue
    if done < 0 { return 1 }
    guard done == range(of: segment).count else { return 0 }
    return collect(segment)
  }

  /// From now on each one is counted by itself. Returns how many were done and have not been returned yet.
  borrowing func collectDone() -> Int {
    var done = 0
    for segment in 0..<segmentCount { done += collect(segment) }
    return done
  }

  private borrowing func collect(_ segment: Int) -> Int {
    max(0, segments![segment].done.exchange(SegmentedCursor.collected, ordering: .sequentiallyConsistent))
  }
}
