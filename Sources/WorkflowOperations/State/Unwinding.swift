import CompositeOperations

/// Keeps stacks flat where workflows are nested in workflows: what one does to the next is done at once for some levels, and
/// after that, by the same thread, when those are over.
///
/// So whoever calls finds everything done when the call returns, and no stack holds more than a few levels.
enum Unwinding {
  /// How many levels are done inside each other.
  private static let limit = 8

  private final class Thread {
    var depth = 0
    var pending: [() -> Void] = []
  }

  private static let threadLocal = ThreadLocal { Thread() }

  /// That of the calling thread.
  private static var thread: Thread { threadLocal.current }

  /// Does something that may lead to the same for the next workflow, and so on.
  static func perform(_ body: @escaping () -> Void) {
    let thread = thread
    guard thread.depth < limit else {
      thread.pending.append(body)
      return
    }
    thread.depth += 1
    body()
    // The innermost level that is not too deep goes on with what was put off, in its order.
    while thread.depth == limit, !thread.pending.isEmpty {
      let pending = thread.pending
      thread.pending = []
      for body in pending { body() }
    }
    thread.depth -= 1
  }
}
