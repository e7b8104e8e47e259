import Foundation

#if canImport(os)
import os
#endif

// All differences between Foundation on Linux and on Apple platforms are handled in this file, and
// in those with its name and a suffix.

// MARK: - Locks and thread keys

#if canImport(Darwin)
/// The platform's lightest lock: here the unfair lock.
@usableFromInline typealias NativeLock = os_unfair_lock

extension UnsafeMutablePointer<NativeLock> {
  func makeLock() { initialize(to: os_unfair_lock()) }
  @usableFromInline func destroyLock() {}
  @usableFromInline @inline(__always) func lock() { os_unfair_lock_lock(self) }
  @usableFromInline @inline(__always) func unlock() { os_unfair_lock_unlock(self) }
}
#else
/// The platform's lightest lock: here the pthread mutex.
@usableFromInline typealias NativeLock = pthread_mutex_t

extension UnsafeMutablePointer<NativeLock> {
  func makeLock() {
    initialize(to: pthread_mutex_t())
    pthread_mutex_init(self, nil)
  }
  @usableFromInline func destroyLock() { pthread_mutex_destroy(self) }
  @usableFromInline @inline(__always) func lock() { pthread_mutex_lock(self) }
  @usableFromInline @inline(__always) func unlock() { pthread_mutex_unlock(self) }
}
#endif

/// Makes a thread key whose values are retained objects, released at the end of their thread.
func makeThreadKey() -> pthread_key_t {
  var key = pthread_key_t()
  let result = pthread_key_create(&key) { pointer in
    #if canImport(Darwin)
    Unmanaged<AnyObject>.fromOpaque(pointer).release()
    #else
    if let pointer { Unmanaged<AnyObject>.fromOpaque(pointer).release() }
    #endif
  }
  require(result == 0, "No thread key is left (error \(result)): the process has used them all up.")
  return key
}

// MARK: - Time and threads

/// The nanoseconds for which the machine has been awake, by which turns are measured.
@inline(__always)
func uptimeNanoseconds() -> Int64 {
  #if canImport(Darwin)
  return Int64(clock_gettime_nsec_np(CLOCK_UPTIME_RAW))
  #else
  var time = timespec()
  clock_gettime(CLOCK_MONOTONIC, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  #endif
}

/// The nanoseconds of `ContinuousClock`, several times faster to read than through the clock.
@inline(__always)
package func continuousNanoseconds() -> Int64 {
  #if canImport(Darwin)
  return Int64(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW))
  #else
  var time = timespec()
  clock_gettime(CLOCK_BOOTTIME, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  #endif
}

/// The name of the calling thread, if it was given one.
package func currentThreadName() -> String? {
  if Thread.isMainThread { return "main thread" }
  // Linux has room for 15 characters, and a new thread inherits the name of its creator. Dispatch's
  // own threads are named after the end of a queue's name.
  guard let name = Thread.current.name, !name.isEmpty, !name.hasSuffix("-qos"), !name.contains(".root.") else {
    return nil
  }
  return ProcessInfo.processInfo.processName.hasPrefix(name) ? nil : name
}

// MARK: - Autorelease pools

/// Runs code in an autorelease pool. On Linux nothing is autoreleased.
@inline(__always)
func withAutoreleasePool<R, Failure: Error>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
  #if canImport(ObjectiveC)
  // The result bypasses the pool's closure, so that it does not matter how that rethrows.
  var result: Result<R, Failure>?
  autoreleasepool {
    do throws(Failure) { result = .success(try body()) } catch { result = .failure(error) }
  }
  return try result.unsafelyUnwrapped.get()
  #else
  return try body()
  #endif
}

// MARK: - Quality of service

/// The global queues. On Linux each `DispatchQueue.global(qos:)` makes an object for a queue.
private enum GlobalQueues {
  static let userInteractive = DispatchQueue.global(qos: .userInteractive)
  static let userInitiated = DispatchQueue.global(qos: .userInitiated)
  static let utility = DispatchQueue.global(qos: .utility)
  static let background = DispatchQueue.global(qos: .background)
  static let `default` = DispatchQueue.global(qos: .default)
}

extension QualityOfService {
  /// Dispatch's global queue of the equivalent class.
  var globalQueue: DispatchQueue {
    switch self {
    case .userInteractive: GlobalQueues.userInteractive
    case .userInitiated: GlobalQueues.userInitiated
    case .utility: GlobalQueues.utility
    case .background: GlobalQueues.background
    case .default: GlobalQueues.default
    @unknown default: GlobalQueues.default
    }
  }

  /// Orders the classes by urgency; `default` stands between utility and user-initiated.
  var urgency: Int {
    switch self {
    case .background: 0
    case .utility: 1
    case .default: 2
    case .userInitiated: 3
    case .userInteractive: 4
    @unknown default: 2
    }
  }
}
