import CompositeOperations

/// Keeps stacks flat where workflows are nested in workflows: what one does to the next happens at
/// once for some levels. For the others the same thread does it when those have returned.
///
/// So everything is done when the outermost call returns, and no stack holds more than a few
/// levels. Hooks, delegates and streams are called as if theirs were the outermost call: what they
/// do is done when it returns.
///
/// Operations that are cancelled are not, though their cancel hooks are the user's as well: they
/// may be composites around the operation of the next workflow, or await its run, and the stack
/// would grow with each.
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
    // The innermost permitted level does what was put off, in the order in which it would have been
    // done at once: what a body puts off comes before the rest.
    if thread.depth == limit {
      var rest: [() -> Void] = []
      while true {
        rest += thread.pending.reversed()
        thread.pending = []
        guard let body = rest.popLast() else { break }
        body()
      }
    }
    thread.depth -= 1
  }

  /// Calls the user's code, whose calls take effect before they return.
  ///
  /// - Parameter context: the task-local values that the code sees.
  static func runUserCode(in context: ContextValues?, _ body: () -> Void) {
    let thread = thread
    let (depth, pending) = (thread.depth, thread.pending)
    thread.depth = 0
    thread.pending = []
    OperationContext.bind(context, body)
    // The outermost level of what it did has done all that was put off.
    assert(thread.depth == 0 && thread.pending.isEmpty)
    thread.depth = depth
    thread.pending = pending
  }
}
