#if os(macOS) || os(Linux)
/// Where an index of times is read from: its front as long as that is fast, else the time before which nothing was seen, and its
/// front once a minute.
///
/// While anybody keeps an old snapshot, entries of jobs that had their turn stay at the front. What is written later has a later
/// time, unless its transaction took long.
struct PostgresFrontCursor {
  /// How long what stands before the cursor may stay unseen.
  static let pause = Duration.seconds(60)

  /// From here on, reading the front is slow.
  private let slow: Duration
  private(set) var isSlow = false
  private var reached = Int64.min
  private var lastFromFront: ContinuousClock.Instant?

  init(slow: Duration) {
    self.slow = slow
  }

  /// Reading begins. Returns the time to begin at.
  mutating func begin(at now: ContinuousClock.Instant) -> Int64 {
    if isSlow, let lastFromFront, now - lastFromFront < Self.pause { return reached }
    lastFromFront = now
    return .min
  }

  /// The same, for what is not measured.
  var start: Int64 { isSlow ? reached : .min }

  /// Reading is over, and found nothing before a time.
  mutating func read(from start: Int64, to time: Int64, took duration: Duration) {
    if start == .min { isSlow = duration >= slow }
    reached = time
  }
}
#endif
