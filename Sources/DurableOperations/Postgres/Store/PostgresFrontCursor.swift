#if os(macOS) || os(Linux)
/// Where to begin reading an index of times: at its front as long as that is fast; otherwise at the
/// time before which nothing was seen, and at the front once a minute.
///
/// While a client holds an old snapshot, entries of handled jobs stay at the front. Entries that
/// are written later have a later time, unless their transaction took long.
struct PostgresFrontCursor {
  /// How long entries before the cursor may stay unseen.
  static let pause = Duration.seconds(60)

  /// From here on, reading the front is slow.
  private let slow: Duration
  private(set) var isSlow = false
  private var reached = Int64.min
  private var lastFromFront: ContinuousClock.Instant?

  init(slow: Duration) {
    self.slow = slow
  }

  /// Begins reading. Returns the time to begin at.
  mutating func begin(at now: ContinuousClock.Instant) -> Int64 {
    if isSlow, let lastFromFront, now - lastFromFront < Self.pause { return reached }
    lastFromFront = now
    return .min
  }

  /// The same, for reading without measuring.
  var start: Int64 { isSlow ? reached : .min }

  /// Ends reading, which found nothing before a time.
  mutating func read(from start: Int64, to time: Int64, took duration: Duration) {
    if start == .min { isSlow = duration >= slow }
    reached = time
  }
}
#endif
