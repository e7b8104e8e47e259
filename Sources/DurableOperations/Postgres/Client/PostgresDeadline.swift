#if os(macOS) || os(Linux)
import Foundation

/// The moment at which waiting for the server ends.
struct PostgresDeadline {
  let end: ContinuousClock.Instant
  /// The whole time limit.
  let duration: Duration

  init(after duration: Duration) {
    self.duration = duration
    // More than a day is as good as never, and cannot overflow.
    end = .now + min(duration, .seconds(86_400))
  }

  var left: Duration { ContinuousClock.now.duration(to: end) }

  var hasPassed: Bool { left <= .zero }

  /// The remaining time for `poll`, rounded up, so that it does not return before the deadline.
  var milliseconds: Int32 {
    let (seconds, attoseconds) = max(left, .zero).components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Blocks the thread of the caller until a socket is ready. Returns false if the deadline passes
  /// before.
  func wait(for events: Int32, at descriptor: Int32) -> Bool {
    while true {
      let milliseconds = milliseconds
      let count = Self.poll(descriptor, events, milliseconds)
      // Reading from the socket finds its error.
      if count > 0 || (count < 0 && errno != EINTR) { return true }
      if milliseconds == 0 { return false }
    }
  }

  /// Blocks the thread of the caller for a while.
  static func pause(for duration: Duration) { _ = PostgresDeadline(after: duration).wait(for: 0, at: -1) }

  /// Whether there is something to read, or the connection ended.
  static func isReadable(_ descriptor: Int32) -> Bool { poll(descriptor, POLLIN, 0) != 0 }

  private static func poll(_ descriptor: Int32, _ events: Int32, _ milliseconds: Int32) -> Int32 {
    var file = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
    return Foundation.poll(&file, 1, milliseconds)
  }
}
#endif
