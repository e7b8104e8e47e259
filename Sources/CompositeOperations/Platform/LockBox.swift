import Foundation

/// State behind a lock. The only way in is ``withLock(_:)``; nothing of the user's is ever called inside.
///
/// A pthread mutex (an unfair lock on Apple platforms) rather than `Synchronization.Mutex`, because
/// ThreadSanitizer on Linux reports accesses inside the latter as races.
///
/// Inlinable, so that other targets of the package get it specialised as this one does.
package final class LockBox<State>: @unchecked Sendable {  // `state` is only touched inside the lock
  @usableFromInline let mutex = NativeLock()
  // The lock sees to it that accesses exclude each other; checking that at run time is not for free.
  @exclusivity(unchecked) @usableFromInline var state: State

  package init(_ state: consuming State) {
    self.state = state
  }

  @inlinable
  @inline(__always)
  package func withLock<R>(_ body: (inout State) throws -> R) rethrows -> R {
    mutex.lock()
    defer { mutex.unlock() }
    return try body(&state)
  }
}

/// A small fixed set of locks shared by all operations, for fields so rare that a lock each would be a waste.
///
/// Two operations may share a lock, so nothing may be called, and no second operation locked, inside.
enum StripedLock {
  private static let locks: [NativeLock] = (0..<64).map { _ in NativeLock() }

  @inline(__always)
  static func withLock<R>(of object: AnyObject, _ body: () throws -> R) rethrows -> R {
    // Objects are at least 16 bytes apart, so the lowest bits say nothing.
    let address = UInt(bitPattern: Unmanaged.passUnretained(object).toOpaque())
    let lock = locks[Int((address >> 6) & 63)]
    lock.lock()
    defer { lock.unlock() }
    return try body()
  }
}
