import Foundation

/// When what executes has begun, so that its end can be reported with a duration.
///
/// Kept by what reports to one sink: where there is no sink there is none.
package struct OpenExecutions<Key: Hashable & Sendable>: Sendable {
  private let starts = LockBox<[Key: Int64]>([:])

  package init() {}

  /// It has begun. Returns how long the one before has executed, if its end was not reported.
  package func begin(_ key: Key) -> Duration? {
    let now = continuousNanoseconds()
    return starts.withLock { $0.updateValue(now, forKey: key) }.map { .nanoseconds(now - $0) }
  }

  /// It has ended. Returns how long it has executed; nil if its start was not reported, or its end
  /// was.
  package func end(_ key: Key) -> Duration? {
    let now = continuousNanoseconds()
    return starts.withLock { $0.removeValue(forKey: key) }.map { .nanoseconds(now - $0) }
  }
}
