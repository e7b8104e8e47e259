import Foundation

#if canImport(os)
import os
#endif

// Everything in which Foundation on Linux and on Apple platforms differs for this package is in this file.

// MARK: - Locks and thread keys

#if canImport(Darwin)
/// The platform's lightest lock: here the unfair lock.
@usableFromInline
final class NativeLock: @unchecked Sendable {  // a lock is made to be shared
  private let pointer = UnsafeMutablePointer<os_unfair_lock>.allocate(capacity: 1)
  init() { pointer.initialize(to: os_unfair_lock()) }
  deinit { pointer.deallocate() }
  @usableFromInline @inline(__always) func lock() { os_unfair_lock_lock(pointer) }
  @usableFromInline @inline(__always) func unlock() { os_unfair_lock_unlock(pointer) }
}
#else
/// The platform's lightest lock: here the pthread mutex.
@usableFromInline
final class NativeLock: @unchecked Sendable {  // a lock is made to be shared
  private let pointer = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  init() {
    pointer.initialize(to: pthread_mutex_t())
    pthread_mutex_init(pointer, nil)
  }
  deinit {
    pthread_mutex_destroy(pointer)
    pointer.deallocate()
  }
  @usableFromInline @inline(__always) func lock() { pthread_mutex_lock(pointer) }
  @usableFromInline @inline(__always) func unlock() { pthread_mutex_unlock(pointer) }
}
#endif

/// A new thread key whose values are retained objects, released at the end of their thread.
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

/// What `ContinuousClock` counts, in nanoseconds: several times faster to read than through the clock.
@inline(__always)
func continuousNanoseconds() -> Int64 {
  #if canImport(Darwin)
  return Int64(clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW))
  #else
  var time = timespec()
  clock_gettime(CLOCK_BOOTTIME, &time)
  return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  #endif
}

/// The name of the calling thread, if somebody gave it one.
func currentThreadName() -> String? {
  if Thread.isMainThread { return "main thread" }
  // Linux has room for 15 characters, and gives a new thread the name of the one that made it. Dispatch's own threads
  // have the end of the name of a queue.
  guard let name = Thread.current.name, !name.isEmpty, !name.hasSuffix("-qos"), !name.contains(".root.") else {
    return nil
  }
  return ProcessInfo.processInfo.processName.hasPrefix(name) ? nil : name
}

// MARK: - Announcing state changes

enum FoundationDifferences {
  /// Whether an operation may become finished before Foundation is told that it will.
  @inline(__always) static var finishesInOneStep: Bool {
    #if canImport(Darwin)
    false
    #else
    true
    #endif
  }
}

extension Operation {
  /// Makes `change`, which turns `isExecuting` true. On Linux nobody listens once the property is overridden.
  @inline(__always)
  final func announceStart(_ change: () -> Void) {
    #if canImport(Darwin)
    willChangeValue(forKey: "isExecuting")
    change()
    didChangeValue(forKey: "isExecuting")
    #else
    change()
    #endif
  }

  /// Makes `change`, which turns `isFinished` true, and tells queues, dependents and waiters.
  ///
  /// On Linux `didChangeValue` is a plain function that does the telling, and there are no observers to prepare.
  @inline(__always)
  final func announceEnd(_ change: () -> Void) {
    #if canImport(Darwin)
    willChangeValue(forKey: "isExecuting")
    willChangeValue(forKey: "isFinished")
    change()
    didChangeValue(forKey: "isFinished")
    didChangeValue(forKey: "isExecuting")
    #else
    change()
    didChangeValue(forKey: "isFinished")
    #endif
  }
}

// MARK: - Operations that wait in a queue

extension Operation {
  /// Whether this operation was added to an `OperationQueue` and has not finished.
  ///
  /// No public property says it. On Linux starting or finishing such an operation behind the queue's back leaves a
  /// dangling pointer in the queue, so it must be known; reflection tells. On Apple platforms a queue copes with it,
  /// so there the answer may be false.
  final var isInQueue: Bool {
    #if canImport(Darwin)
    return false
    #else
    var mirror: Mirror? = Mirror(reflecting: self)
    while let current = mirror {
      if current.subjectType == Operation.self {
        let queue = current.children.first { $0.label == "__queue" }?.value
        return (queue as? Unmanaged<OperationQueue>) != nil
      }
      mirror = current.superclassMirror
    }
    return false
    #endif
  }

  /// Has the queue look again whether this operation, which was just added, is ready.
  ///
  /// On Linux a queue misses it if the last dependency finishes while the operation is being added, and would find it
  /// ready only when something else happens in that queue.
  final func repeatReadiness() {
    #if !canImport(Darwin)
    if isReady { didChangeValue(forKey: "isReady") }
    #endif
  }

  /// Gives up the dependencies of an operation that was started, or is released, without all of them having told it
  /// that they finished.
  ///
  /// On Linux a dependency keeps unretained pointers to its dependents, and follows them when it finishes, even those to
  /// dependents that are long gone. `removeDependency` removes that pointer, after waiting for one who is following it.
  /// That `isFinished` is true of a dependency does not mean that it is past that. (`removeDependency` also leaves an
  /// operation that has not started never ready, which is why this is for those that were started.)
  final func leaveDependencies() {
    #if !canImport(Darwin)
    for dependency in dependencies {
      // Ours can say that they are past it; those stay in the list.
      if let own = dependency as? SettlingOperation, own.state.current.phase == .announced { continue }
      removeDependency(dependency)
    }
    #endif
  }
}

extension SettlingOperation {
  /// The queue that is executing this operation, on whose thread this is called; nil if none is.
  final var executingQueue: OperationQueue? {
    // A queue reads `isReady` of what is added to it; an operation of which nobody did has not been added.
    guard state.current.has(.readinessWasRead) else { return nil }
    #if canImport(Darwin)
    return OperationQueue.current
    #else
    return isInQueue ? OperationQueue.current : nil
    #endif
  }
}

// MARK: - Quality of service

extension QualityOfService {
  /// The same in Dispatch's terms.
  var dispatchQoS: DispatchQoS.QoSClass {
    switch self {
    case .userInteractive: .userInteractive
    case .userInitiated: .userInitiated
    case .utility: .utility
    case .background: .background
    case .default: .default
    @unknown default: .default
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
