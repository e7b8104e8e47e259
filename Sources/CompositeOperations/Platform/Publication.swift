import Foundation

/// Where a thread sleeps that tried to settle or cancel an operation while another thread was
/// settling it.
///
/// One place serves all operations, because it is hardly ever needed. Sleeping, not spinning: the
/// awaited thread may be a less urgent one that was preempted, and spinning would keep the
/// processor from it.
enum Publication {
  private static let place = Place()

  /// Waits until `isReadable` returns true. The thread that makes it true then calls
  /// ``announce()``.
  static func wait(until isReadable: () -> Bool) {
    pthread_mutex_lock(place.mutex)
    while !isReadable() { pthread_cond_wait(place.condition, place.mutex) }
    pthread_mutex_unlock(place.mutex)
  }

  /// Makes all waiting threads check again.
  @inline(never)
  static func announce() {
    pthread_mutex_lock(place.mutex)
    pthread_cond_broadcast(place.condition)
    pthread_mutex_unlock(place.mutex)
  }

  private struct Place: @unchecked Sendable {  // the pointers never change, and what they point to is made to be shared
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

    init() {
      mutex.initialize(to: pthread_mutex_t())
      condition.initialize(to: pthread_cond_t())
      pthread_mutex_init(mutex, nil)
      pthread_cond_init(condition, nil)
    }
  }
}
