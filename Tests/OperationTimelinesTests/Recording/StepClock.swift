import CompositeOperations
import OperationTimelines
import TestSupport

/// A clock that stands still until a test moves it.
final class StepClock: Clock, Sendable {
  struct Instant: InstantProtocol {
    var offset: Duration
    func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
    func duration(to other: Instant) -> Duration { other.offset - offset }
    static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
  }

  private let time = Locked(Duration.seconds(100))

  var now: Instant { Instant(offset: time.current) }
  var minimumResolution: Duration { .nanoseconds(1) }

  func advance(by duration: Duration) {
    time.withLock { $0 += duration }
  }

  func `sleep`(until deadline: Instant, tolerance: Duration?) async throws {
    fatalError("nothing sleeps on this clock")
  }
}
