import Foundation

/// One value behind one lock, for test doubles that several threads use.
///
/// The value is only reachable inside ``withLock(_:)``; call nothing from there that may come back
/// to the same box.
public final class Locked<Value>: @unchecked Sendable {  // `value` is only touched under `lock`
  private let lock = NSLock()
  private var value: Value

  /// Makes a box that holds `value`.
  public init(_ value: Value) {
    self.value = value
  }

  /// Runs `body` with exclusive access to the value.
  public func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}

extension Locked where Value: Sendable {
  /// A copy of the value as it is now.
  public var current: Value {
    withLock { $0 }
  }
}

extension Locked where Value == Int {
  /// Adds one and returns the new number.
  @discardableResult
  public func increment() -> Int {
    withLock { number in
      number += 1
      return number
    }
  }
}
