import Foundation
import TestSupport

@testable import CompositeOperations

/// Waiting for something that has no callback, such as the release of an object by the last thread that used it.
enum Patience {
  static let trips = 1_000_000

  /// Whether `condition` came to hold within a great number of trips through the dispatch queues: so great that a thread
  /// which a busy machine keeps from running gets its turn meanwhile.
  static func reached(_ condition: @escaping @Sendable () -> Bool) async -> Bool {
    for _ in 0..<trips {
      if condition() { return true }
      await onWorker {}
    }
    return condition()
  }

  /// The same on a thread that may block.
  static func isReached(_ condition: () -> Bool) -> Bool {
    for _ in 0..<trips {
      if condition() { return true }
      let trip = Gate()
      DispatchQueue.global().async { trip.open() }
      trip.waitBlocking()
    }
    return condition()
  }

  /// Calls `body` with whether the condition came to hold, on another thread, or this one if it does now.
  static func whenReached(
    trips: Int = Self.trips, _ condition: @escaping @Sendable () -> Bool, _ body: @escaping @Sendable (Bool) -> Void
  ) {
    if condition() { return body(true) }
    guard trips > 0 else { return body(false) }
    DispatchQueue.global().async { whenReached(trips: trips - 1, condition, body) }
  }

  /// Whether a paused progress comes to hold the children of the operation back. Its handlers are called elsewhere.
  static func isHeldBack(_ operation: SettlingOperation) async -> Bool {
    await reached {
      switch operation.source {
      case let source as ParallelSource: source.state.withLock { $0.isHeld }
      case let source as SequentialSource: source.state.withLock { $0.isHeld }
      default: false
      }
    }
  }

  /// Waits until whoever started the operation, a composition for instance, waits for its end: `start()` has returned,
  /// and the thread that called it does something else. For operations without observers and cancel hooks.
  static func untilAwaited(_ operation: SettlingOperation) async {
    while !operation.state.current.has(.hasListeners), !Task.isCancelled { await onWorker {} }
  }
}
