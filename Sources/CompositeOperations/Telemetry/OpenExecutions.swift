import Foundation

/// The start times of executions, so that their ends can be reported with durations. Made for each
/// sink.
package struct OpenExecutions<Key: Hashable & Sendable>: Sendable {
  private let starts = LockBox<[Key: Int64]>([:])

  package init() {}

  /// Records a start. Returns how long the previous execution has taken, if its end was not
  /// reported.
  package func begin(_ key: Key) -> Duration? {
    let now = continuousNanoseconds()
    return starts.withLock { $0.updateValue(now, forKey: key) }.map { .nanoseconds(now - $0) }
  }

  /// Records an end. Returns how long the execution has taken; nil if its start was not reported,
  /// or its end was already reported.
  package func end(_ key: Key) -> Duration? {
    let now = continuousNanoseconds()
    return starts.withLock { $0.removeValue(forKey: key) }.map { .nanoseconds(now - $0) }
  }
}
