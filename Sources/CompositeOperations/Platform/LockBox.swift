import Foundation
import Synchronization

/// State behind a lock, accessible only through ``withLock(_:)``, which never calls user code.
/// Copies share the state.
///
/// A pthread mutex (an unfair lock on Apple platforms) rather than `Synchronization.Mutex`, because
/// ThreadSanitizer on Linux reports accesses inside the latter as races.
///
/// The state is no closure: Swift would put another layer around the closure with each access. Put
/// the closure in a structure.
///
/// Inlinable for compilers that specialize functions of a package in its other targets; that of
/// Swift 6.3 does not.
package struct LockBox<State>: @unchecked Sendable {  // the state is only touched inside the lock
  /// The state and, in the same allocation, the lock.
  @usableFromInline let storage: LockedStorage<State>

  package init(_ state: consuming State) {
    storage = LockedStorage.make(state)
  }

  /// Makes a large state where it stays, which saves a copy.
  init(_ makeState: () -> State) {
    storage = LockedStorage.make(makeState)
  }

  @inlinable
  @inline(__always)
  package func withLock<R>(_ body: (inout State) throws -> R) rethrows -> R {
    try storage.withLock(body)
  }
}

/// State behind a lock that is made when it is first needed, for state that few operations need.
struct LazyLockBox<State>: ~Copyable, @unchecked Sendable {  // as for `LockBox`
  private let storage = Atomic<Unmanaged<LockedStorage<State>>?>(nil)
  private let makeState: () -> State

  init(_ makeState: @escaping @autoclosure () -> State) {
    self.makeState = makeState
  }

  deinit { storage.load(ordering: .acquiring)?.release() }

  func withLock<R>(_ body: (inout State) throws -> R) rethrows -> R {
    try made._withUnsafeGuaranteedRef { try $0.withLock(body) }
  }

  /// Returns nil if the state was not made.
  func withLockIfMade<R>(_ body: (inout State) throws -> R) rethrows -> R? {
    try storage.load(ordering: .acquiring)?._withUnsafeGuaranteedRef { try $0.withLock(body) }
  }

  private var made: Unmanaged<LockedStorage<State>> {
    if let storage = storage.load(ordering: .acquiring) { return storage }
    let new = Unmanaged.passRetained(LockedStorage.make(makeState()))
    let (isFirst, earlier) = storage.compareExchange(expected: nil, desired: new, ordering: .acquiringAndReleasing)
    guard !isFirst, let earlier else { return new }
    new.release()
    return earlier
  }
}

@usableFromInline
final class LockedStorage<State>: ManagedBuffer<State, NativeLock> {
  static func make(_ state: consuming State) -> LockedStorage {
    let state = state
    return make { state }
  }

  static func make(_ makeState: () -> State) -> LockedStorage {
    let storage = create(minimumCapacity: 1) { storage in
      storage.withUnsafeMutablePointerToElements { $0.makeLock() }
      return makeState()
    }
    return unsafeDowncast(storage, to: LockedStorage.self)
  }

  deinit { withUnsafeMutablePointerToElements { $0.destroyLock() } }

  @inlinable
  @inline(__always)
  func withLock<R>(_ body: (inout State) throws -> R) rethrows -> R {
    try withUnsafeMutablePointers { state, lock in
      lock.lock()
      defer { lock.unlock() }
      return try body(&state.pointee)
    }
  }
}

/// A small fixed set of locks that all operations share, for fields too rare for a lock each.
///
/// Two operations may share a lock, so the closure must neither call other code nor lock a second
/// operation.
enum StripedLock {
  private struct Locks: @unchecked Sendable {  // the pointer never changes, and locks are made to be shared
    let first = UnsafeMutablePointer<NativeLock>.allocate(capacity: 64)

    init() {
      for index in 0..<64 { (first + index).makeLock() }
    }
  }

  private static let locks = Locks()

  @inline(__always)
  static func withLock<R>(of object: AnyObject, _ body: () throws -> R) rethrows -> R {
    // Objects are at least 16 bytes apart, so the lowest bits carry no information.
    let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    let lock = locks.first + Int((address >> 6) & 63)
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }
}
