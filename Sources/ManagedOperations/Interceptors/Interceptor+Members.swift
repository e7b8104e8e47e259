import CompositeOperations

// The interceptors of this module, to be named after a dot where an interceptor is expected.

extension Interceptor where Self == ClosureInterceptor {
  /// An interceptor for all types of task. See ``ClosureInterceptor``.
  ///
  /// - Parameters:
  ///   - timeout: how long the closure may take about one task; nil for no limit.
  ///   - body: decides, as ``Interceptor/intercept(_:batchCount:)`` does.
  public static func intercepting(
    timeout: Duration? = .seconds(60),
    _ body: @escaping @Sendable (_ task: any ManagedTask, _ batchCount: Int) async throws -> InterceptCommand
  ) -> Self {
    ClosureInterceptor(timeout: timeout, body)
  }
}

extension Interceptor {
  /// An interceptor for one type of task, which it may change. See ``TypedInterceptor``.
  ///
  /// - Parameters:
  ///   - type: the type of the tasks that it is for; it has all others execute.
  ///   - timeout: how long the closure may take about one task; nil for no limit.
  ///   - body: decides, as ``Interceptor/intercept(_:batchCount:)`` does.
  public static func intercepting<Task: ManagedTask>(
    _ type: Task.Type, timeout: Duration? = .seconds(60),
    _ body: @escaping @Sendable (_ task: inout Task, _ batchCount: Int) async throws -> InterceptCommand
  ) -> Self where Self == TypedInterceptor<Task> {
    TypedInterceptor(type, timeout: timeout, body)
  }
}

extension Interceptor where Self == BatchInterceptor {
  /// Holds tasks until there are enough of them, or the first has waited long enough. See ``BatchInterceptor``; make one, and
  /// keep it, to flush it.
  ///
  /// - Parameters:
  ///   - maxCount: how many tasks make a batch; the last of them is not held. Traps if it is less than 1.
  ///   - maxAge: how long the first of a batch is held at most; nil for any time. Traps if it is negative.
  ///   - isFor: which tasks are held; others execute, and release nothing. By default all are.
  public static func batch(
    maxCount: Int = .max, maxAge: Duration? = nil,
    where isFor: @escaping @Sendable (_ task: any ManagedTask) -> Bool = { _ in true }
  ) -> Self {
    BatchInterceptor(maxCount: maxCount, maxAge: maxAge, where: isFor)
  }
}

extension Interceptor where Self == RateLimitInterceptor {
  /// Lets so many tasks execute in a time, and holds the others until it is their turn. See ``RateLimitInterceptor``.
  ///
  /// - Parameters:
  ///   - tokens: how many tasks may execute in `duration`, which may be all at once. Traps if it is less than 1.
  ///   - duration: how long it takes to fill an empty bucket. Traps if it is not positive.
  ///   - key: which bucket a task takes its token from; nil for none, so that it is not limited. By default all take from one.
  public static func rateLimit(
    tokens: Int, per duration: Duration, key: @escaping @Sendable (_ task: any ManagedTask) -> String? = { _ in "" }
  ) -> Self {
    RateLimitInterceptor(tokens: tokens, per: duration, key: key)
  }
}
