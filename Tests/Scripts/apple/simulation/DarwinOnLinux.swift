// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Put into the core of the package by simulate-darwin, so that its branches for Apple platforms
// compile and run on Linux. It contains only what those branches use, with the effects of Apple
// platforms that matter here.
import Foundation

// MARK: - Locks

@usableFromInline typealias os_unfair_lock = os_unfair_lock_s
@usableFromInline typealias os_unfair_lock_t = UnsafeMutablePointer<os_unfair_lock_s>

@usableFromInline struct os_unfair_lock_s {
  fileprivate var mutex = pthread_mutex_t()
  @usableFromInline init() { pthread_mutex_init(&mutex, nil) }
}

extension UnsafeMutablePointer<os_unfair_lock_s> {
  fileprivate var mutex: UnsafeMutablePointer<pthread_mutex_t> {
    UnsafeMutableRawPointer(self).assumingMemoryBound(to: pthread_mutex_t.self)
  }
}
@usableFromInline func os_unfair_lock_lock(_ lock: os_unfair_lock_t) { _ = pthread_mutex_lock(lock.mutex) }
@usableFromInline func os_unfair_lock_unlock(_ lock: os_unfair_lock_t) { _ = pthread_mutex_unlock(lock.mutex) }
@usableFromInline func os_unfair_lock_trylock(_ lock: os_unfair_lock_t) -> Bool {
  pthread_mutex_trylock(lock.mutex) == 0
}
@usableFromInline func os_unfair_lock_assert_owner(_ lock: os_unfair_lock_t) {}

// MARK: - Time

@usableFromInline let CLOCK_MONOTONIC_RAW = CLOCK_BOOTTIME
@usableFromInline let CLOCK_UPTIME_RAW = CLOCK_MONOTONIC
@usableFromInline func clock_gettime_nsec_np(_ clock: clockid_t) -> UInt64 {
  var time = timespec()
  clock_gettime(clock, &time)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

// MARK: - Threads

extension UInt {
  /// On Apple platforms a thread is a pointer, on Linux a number.
  @usableFromInline init(bitPattern thread: pthread_t) { self = UInt(thread) }
}

@discardableResult
@usableFromInline func pthread_key_create(
  _ key: UnsafeMutablePointer<pthread_key_t>, _ destructor: (@convention(c) (UnsafeMutableRawPointer) -> Void)?
) -> Int32 {
  Foundation.pthread_key_create(
    key, unsafeBitCast(destructor, to: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?.self))
}

@usableFromInline struct qos_class_t: RawRepresentable, Equatable, Sendable {
  @usableFromInline var rawValue: UInt32
  @usableFromInline init(rawValue: UInt32) { self.rawValue = rawValue }
  @usableFromInline init(_ rawValue: UInt32) { self.rawValue = rawValue }
}
@usableFromInline let QOS_CLASS_USER_INTERACTIVE = qos_class_t(0x21)
@usableFromInline let QOS_CLASS_USER_INITIATED = qos_class_t(0x19)
@usableFromInline let QOS_CLASS_DEFAULT = qos_class_t(0x15)
@usableFromInline let QOS_CLASS_UTILITY = qos_class_t(0x11)
@usableFromInline let QOS_CLASS_BACKGROUND = qos_class_t(0x09)
@usableFromInline let QOS_CLASS_UNSPECIFIED = qos_class_t(0)
@usableFromInline func qos_class_self() -> qos_class_t { QOS_CLASS_DEFAULT }
@usableFromInline func qos_class_main() -> qos_class_t { QOS_CLASS_USER_INTERACTIVE }
extension DispatchQoS.QoSClass {
  init?(rawValue: qos_class_t) {
    switch rawValue {
    case QOS_CLASS_USER_INTERACTIVE: self = .userInteractive
    case QOS_CLASS_USER_INITIATED: self = .userInitiated
    case QOS_CLASS_DEFAULT: self = .default
    case QOS_CLASS_UTILITY: self = .utility
    case QOS_CLASS_BACKGROUND: self = .background
    default: return nil
    }
  }
}

// MARK: - Objective-C

/// Events on the calling thread that only an Apple platform would show.
public enum DarwinSimulation {
  public static let isDarwin = true

  private final class ThreadState {
    /// The pools that are open, by their numbers.
    var pools: [Int] = []
  }

  private static let key: pthread_key_t = {
    var key = pthread_key_t()
    Foundation.pthread_key_create(&key) { pointer in
      if let pointer { Unmanaged<AnyObject>.fromOpaque(pointer).release() }
    }
    return key
  }()

  private static var thread: ThreadState {
    if let pointer = pthread_getspecific(key) {
      return Unmanaged<ThreadState>.fromOpaque(pointer).takeUnretainedValue()
    }
    let made = ThreadState()
    pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
    return made
  }

  /// The number of the innermost autorelease pool that is open on this thread; nil if none is.
  public static var pool: Int? { thread.pools.last }

  nonisolated(unsafe) private static var poolCount = 0

  fileprivate static func openPool() {
    let number = lock.withLock {
      poolCount += 1
      return poolCount
    }
    thread.pools.append(number)
  }

  fileprivate static func closePool() { thread.pools.removeLast() }

  /// A key-value observer, with the options for the old and the new value, as in
  /// `NSKeyValueObserving`.
  public final class Observer: @unchecked Sendable {  // everything is guarded by the lock
    private let lock = NSLock()
    private var olds: [String: [Bool]] = [:]
    private var text: [String] = []

    fileprivate func willChange(_ key: String, of operation: Operation) {
      let value = DarwinSimulation.value(key, of: operation)
      lock.withLock { olds[key, default: []].append(value) }
    }

    fileprivate func didChange(_ key: String, of operation: Operation) {
      let value = DarwinSimulation.value(key, of: operation)
      lock.withLock {
        let old = olds[key]?.popLast().map { "\($0)" } ?? "nothing"
        text.append("\(key) \(old) \(value)")
      }
    }

    /// The changes that it received: key, old value, new value.
    public var changes: [String] { lock.withLock { text } }
  }

  private static func value(_ key: String, of operation: Operation) -> Bool {
    switch key {
    case "isExecuting": operation.isExecuting
    case "isFinished": operation.isFinished
    case "isCancelled": operation.isCancelled
    default: false
    }
  }

  nonisolated(unsafe) private static var observers: [ObjectIdentifier: Observer] = [:]
  private static let lock = NSLock()

  /// Observes an operation by key, until it is stopped.
  public static func observe(_ operation: Operation) -> Observer {
    let observer = Observer()
    lock.withLock { observers[ObjectIdentifier(operation)] = observer }
    return observer
  }

  public static func stopObserving(_ operation: Operation) {
    lock.withLock { observers[ObjectIdentifier(operation)] = nil }
  }

  fileprivate static func observer(of object: NSObject) -> Observer? {
    lock.withLock { observers[ObjectIdentifier(object)] }
  }

  fileprivate static func willChange(_ key: String, of operation: Operation) {
    observer(of: operation)?.willChange(key, of: operation)
  }

  fileprivate static func didChange(_ key: String, of operation: Operation) {
    observer(of: operation)?.didChange(key, of: operation)
  }
}

@usableFromInline func autoreleasepool<Failure: Error, Result: ~Copyable>(
  invoking body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  DarwinSimulation.openPool()
  defer { DarwinSimulation.closePool() }
  return try body()
}

extension NSObject {
  @usableFromInline final var observationInfo: UnsafeMutableRawPointer? {
    DarwinSimulation.observer(of: self).map { Unmanaged.passUnretained($0).toOpaque() }
  }
}

// These are found before Foundation's, because they are in the core itself.
extension Operation {
  func willChangeValue(forKey key: String) { DarwinSimulation.willChange(key, of: self) }

  func didChangeValue(forKey key: String) {
    // By their key paths, which leads to Foundation's.
    switch key {
    case "isExecuting": didChangeValue(for: \.isExecuting)
    case "isFinished": didChangeValue(for: \.isFinished)
    case "isReady": didChangeValue(for: \.isReady)
    default: break
    }
    DarwinSimulation.didChange(key, of: self)
  }

  /// Foundation's `cancel()`, which simulate-darwin puts into this. On Apple platforms it announces
  /// what it changes.
  func announcingCancel(_ cancel: () -> Void) {
    willChangeValue(forKey: "isCancelled")
    cancel()
    didChangeValue(forKey: "isCancelled")
  }
}
