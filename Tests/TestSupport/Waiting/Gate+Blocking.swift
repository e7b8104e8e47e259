import Foundation

extension Gate {
  /// Blocks the calling thread until the gate is open.
  ///
  /// Only for bodies that are meant to block, such as children that wait for each other. Never call
  /// it from async code.
  @available(*, noasync)
  public func waitBlocking() {
    let condition = NSCondition()
    let passed = Locked(false)
    whenOpen {
      condition.lock()
      passed.withLock { $0 = true }
      condition.broadcast()
      condition.unlock()
    }
    condition.lock()
    while !passed.current { condition.wait() }
    condition.unlock()
  }
}
