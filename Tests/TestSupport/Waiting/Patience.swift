import CompositeOperationsTestKit
import Foundation

/// Waits for events without a callback, such as the release of an object by the last thread that
/// used it.
public enum Patience {
  /// How often it looks: in all for more than a minute, so that a thread delayed by a busy machine
  /// gets its turn. Only what never comes takes that long.
  public static let looks = 15_000

  /// Returns whether `condition` becomes true while others have a great number of turns.
  public static func reached(_ condition: @escaping @Sendable () -> Bool) async -> Bool {
    var turns = Turns()
    for _ in 0..<looks {
      if condition() { return true }
      await turns.next()
    }
    return condition()
  }

  /// The same on a thread that may block.
  public static func isReached(_ condition: () -> Bool) -> Bool {
    var turns = Turns()
    for _ in 0..<looks {
      if condition() { return true }
      turns.nextBlocking()
    }
    return condition()
  }

  /// Calls `body` with whether the condition came to hold, on another thread, or this one if it
  /// does now.
  public static func whenReached(
    _ condition: @escaping @Sendable () -> Bool, _ body: @escaping @Sendable (Bool) -> Void
  ) {
    if condition() { return body(true) }
    Task { body(await reached(condition)) }
  }
}
