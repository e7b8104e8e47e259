import Foundation
import TestSupport

/// Waiting for something that has no callback, such as the release of an object by the last thread that used it.
enum Patience {
  /// Whether `condition` came to hold within a great number of trips through the dispatch queues: so great that a thread
  /// which a busy machine keeps from running gets its turn meanwhile.
  static func reached(_ condition: @escaping @Sendable () -> Bool) async -> Bool {
    for _ in 0..<1_000_000 {
      if condition() { return true }
      await onWorker {}
    }
    return condition()
  }
}
