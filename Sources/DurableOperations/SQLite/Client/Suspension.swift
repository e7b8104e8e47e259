import CompositeOperationsSQLite
import Foundation
import Synchronization

/// Whether the queue must leave its files alone, because the app is being suspended: iOS kills a
/// process that is suspended with a lock on a shared file.
final class Suspension: Sendable {
  private let flag = Atomic(false)

  var isOn: Bool {
    get { flag.load(ordering: .acquiring) }
    set { flag.store(newValue, ordering: .releasing) }
  }
}

/// Waits for a lock of another connection as SQLite's own handler does, but not while the queue is
/// being suspended.
final class BusyWait {
  var timeout: Duration
  /// For the last write.
  var ignoresSuspension = false
  private let suspension: Suspension
  private var start = ContinuousClock.now
  /// In milliseconds.
  private static let delays: [Int32] = [1, 2, 5, 10, 15, 20, 25, 25, 25, 50, 50, 100]

  init(timeout: Duration, suspension: Suspension) {
    self.timeout = timeout
    self.suspension = suspension
  }

  /// Whether it refuses to wait, because the queue is suspended.
  var isSuspended: Bool { suspension.isOn && !ignoresSuspension }

  /// - Parameter count: the number of previous calls for the lock.
  /// - Returns: whether to try once more.
  func wait(count: Int) -> Bool {
    if count == 0 { start = .now }
    guard !isSuspended, start.duration(to: .now) < timeout else { return false }
    sqlite3_sleep(Self.delays[min(count, Self.delays.count - 1)])
    return true
  }
}
