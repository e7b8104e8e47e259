import Foundation

// The task-local values of an operation: see ``OperationContext``.

extension SettlingOperation {
  /// The fields that few operations need, if one of them was set. Guarded by the striped lock.
  final var rareFields: RareFields? { extras as? RareFields }

  /// The values of the registered task-locals.
  package final var context: ContextValues? { StripedLock.withLock(of: self) { extras?.context } }

  private final func setContext(_ context: ContextValues?) {
    // Released outside the lock.
    let replaced = StripedLock.withLock(of: self) { () -> ContextHolder? in
      if let rareFields {
        defer { rareFields.setContext(context) }
        return rareFields.context
      }
      defer { extras = context }
      return extras
    }
    withExtendedLifetime(replaced) {}
  }

  /// Takes the values of the composition that runs this operation, where this one has none.
  final func inheritContext(_ outer: ContextValues?) {
    let own = context
    let merged = ContextValues.merge(own, into: outer)
    if merged !== own { setContext(merged) }
  }

  /// Calls `main()`, which sees the values of this operation.
  @inline(__always)
  final func callMain() {
    if OperationContext.isUsed { callMainInContext() } else { withAutoreleasePool { main() } }
  }

  @inline(never)
  private final func callMainInContext() {
    OperationContext.bind(context) { withAutoreleasePool { main() } }
  }

  /// Runs user code for this operation: its calls to operations take effect at once, and see the
  /// values of this operation.
  @inline(__always)
  package final func runUserCode<R, Failure: Error>(_ body: () throws(Failure) -> R) throws(Failure) -> R {
    try ThreadContext.current.runUserCode(in: context, body)
  }

  /// Makes a task that sees the values of this operation.
  ///
  /// - Parameter body: the work. Generic like that of `Task`: a closure of another form would cost
  ///   an allocation.
  final func detachedTask<Success: Sendable>(
    priority: TaskPriority? = nil, _ body: @escaping @Sendable @isolated(any) () async -> Success
  ) -> Task<Success, Never> {
    guard OperationContext.isUsed else { return Task.detached(priority: priority, operation: body) }
    let context = context
    return Task.detached(priority: priority) { await OperationContext.bind(context) { await body() } }
  }
}
