import Foundation

/// Where a thread sleeps that tried to settle or cancel an operation while another thread was
/// settling it.
///
/// One place serves all operations, because it is hardly ever needed. Sleeping, not spinning: the
/// awaited thread may be a less urgent one that was preempted, and spinning would keep the
/// processor from it.
enum Publication {
  private static let place = NSCondition()

  /// Waits until `isReadable` returns true. The thread that makes it true then calls
  /// ``announce()``.
  static func wait(until isReadable: () -> Bool) {
    place.withLock {
      while !isReadable() { place.wait() }
    }
  }

  /// Makes all waiting threads check again.
  @inline(never)
  static func announce() {
    place.withLock { place.broadcast() }
  }
}
