import CompositeOperations

/// Keeps stacks flat where workflows are nested in workflows: what one does to the next happens at
/// once for some levels. For the others the same thread does it when those have returned.
///
/// So everything is done when the outermost call returns, and no stack holds more than a few
/// levels.
enum Unwinding {
  /// How many levels call each other.
  private static let limit = 8

  private final class Thread {
    var depth = 0
    var pending: [() -> Void] = []
  }

  private static let threadLocal = ThreadLocal { Thread() }

  /// That of the calling thread.
  private static var thread: Thread { threadLocal.current }

  /// Does something that may call this again for the next workflow, and so on.
  static func perform(_ body: @escaping () -> Void) {
    let thread = thread
    guard thread.depth < limit else {
      thread.pending.append(body)
      return
    }
    thread.depth += 1
    body()
    // The innermost permitted level does what was put off, in order.
    while thread.depth == limit, !thread.pending.isEmpty {
      let pending = thread.pending
      thread.pending = []
      for body in pending { body() }
    }
    thread.depth -= 1
  }
}
