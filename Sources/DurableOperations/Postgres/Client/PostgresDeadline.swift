#if os(macOS) || os(Linux)
import Foundation

/// The moment at which waiting for the server ends.
struct PostgresDeadline {
  let end: ContinuousClock.Instant
  /// What was waited for at most.
  let duration: Duration

  init(after duration: Duration) {
    self.duration = duration
    // Beyond a day is as good as never, and cannot overflow.
    end = .now + min(duration, .seconds(86_400))
  }

  var left: Duration { ContinuousClock.now.duration(to: end) }

  var hasPassed: Bool { left <= .zero }

  /// What is left, for `poll`: rounded up, so that it does not return before the deadline.
  var milliseconds: Int32 {
    let (seconds, attoseconds) = max(left, .zero).components
    return Int32(clamping: seconds * 1000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
  }

  /// Waits on the thread of the caller until a socket is ready. Returns false when the deadline has passed before.
  func wait(for events: Int32, at descriptor: Int32) -> Bool {
    while true {
      let milliseconds = milliseconds
      let count = Self.poll(descriptor, events, milliseconds)
      // An error of the socket is found by reading from it.
      if count > 0 || (count < 0 && errno != EINTR) { return true }
      if milliseconds == 0 { return false }
    }
  }

  /// Waits on the thread of the caller, and for nothing.
  static func pause(for duration: Duration) { _ = PostgresDeadline(after: duration).wait(for: 0, at: -1) }

  /// Whether there is something to read, or an end.
  static func isReadable(_ descriptor: Int32) -> Bool { poll(descriptor, POLLIN, 0) != 0 }

  private static func poll(_ descriptor: Int32, _ events: Int32, _ milliseconds: Int32) -> Int32 {
    var file = pollfd(fd: descriptor, events: Int16(truncatingIfNeeded: events), revents: 0)
    return Foundation.poll(&file, 1, milliseconds)
  }
}
#endif
