import Foundation

/// Where a thread sleeps that settled or cancelled an operation in the very moment in which another thread settles it.
///
/// One place for all operations, for it is hardly ever needed. Sleeping, not spinning: the thread that is awaited may be a
/// less urgent one that lost its processor, and a spinning one would keep it from getting that back.
enum Publication {
  private static let place = Place()

  /// Returns when `isReadable` is true. The thread that makes it so calls ``announce()`` afterwards.
  static func wait(until isReadable: () -> Bool) {
    pthread_mutex_lock(place.mutex)
    while !isReadable() { pthread_cond_wait(place.condition, place.mutex) }
    pthread_mutex_unlock(place.mutex)
  }

  /// Has all who wait look again.
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
