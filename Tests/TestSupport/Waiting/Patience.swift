import CompositeOperationsTestKit
import Foundation

/// Waits for events without a callback, such as the release of an object by the last thread that
/// used it.
public enum Patience {
  /// How many trips through the dispatch queues are a great number.
  public static let trips = 1_000_000

  /// Returns whether `condition` becomes true within a great number of trips through the dispatch
  /// queues, so great that a thread delayed by a busy machine gets its turn.
  public static func reached(_ condition: @escaping @Sendable () -> Bool) async -> Bool {
    for _ in 0..<trips {
      if condition() { return true }
      await onWorker {}
    }
    return condition()
  }

  /// The same on a thread that may block.
  public static func isReached(_ condition: () -> Bool) -> Bool {
    for _ in 0..<trips {
      if condition() { return true }
      let trip = Gate()
      DispatchQueue.global().async { trip.open() }
      trip.waitBlocking()
    }
    return condition()
  }

  /// Calls `body` with whether the condition came to hold, on another thread, or this one if it
  /// does now.
  public static func whenReached(
    trips: Int = Self.trips, _ condition: @escaping @Sendable () -> Bool, _ body: @escaping @Sendable (Bool) -> Void
  ) {
    if condition() { return body(true) }
    guard trips > 0 else { return body(false) }
    DispatchQueue.global().async { whenReached(trips: trips - 1, condition, body) }
  }
}
