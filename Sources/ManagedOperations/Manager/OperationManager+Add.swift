public import CompositeOperations

extension OperationManager {
  /// Adds a task.
  ///
  /// - Parameters:
  ///   - task: the task.
  ///   - startImmediately: whether it is started. If not, somebody starts its handle: you, or a composite or queue that the
  ///     handle is added to.
  ///   - delay: how long it waits after it was started, before it is intercepted. Not positive: not at all.
  ///   - timeout: how long an attempt may execute; nil for the task's own. The handle then settles at once with
  ///     ``ManagedTaskError``, whose code is `timedOut`, and the operation is cancelled; reactors are not asked. Neither delays
  ///     nor the time in batches and queues count.
  /// - Returns: the handle, with which it is started, cancelled and awaited, and which need not be kept once it was started.
  @discardableResult
  public func add<T: ManagedTask>(
    _ task: T, startImmediately: Bool = true, after delay: Duration? = nil, timeout: Duration? = nil
  ) -> OperationHandle<T.Value> {
    core.add(task, startImmediately: startImmediately, after: delay, timeout: timeout)
  }

  /// Adds a task, and waits until it has settled. Cancelling the calling task cancels it.
  ///
  /// - Parameters:
  ///   - task: the task.
  ///   - delay: how long it waits before it is intercepted.
  ///   - timeout: how long an attempt may execute; nil for the task's own.
  /// - Returns: the task's value.
  /// - Throws: the task's error, or ``ManagedTaskError``; `CancellationError` if it was cancelled.
  @discardableResult
  public func run<T: ManagedTask>(
    _ task: T, after delay: Duration? = nil, timeout: Duration? = nil
  ) async throws -> T.Value {
    try await add(task, after: delay, timeout: timeout).run()
  }

  // MARK: - Several

  /// Adds several tasks.
  ///
  /// - Parameters:
  ///   - tasks: the tasks.
  ///   - inOrder: whether each is started when the one before has settled, however it did. Otherwise all are at once.
  ///   - startImmediately: whether the first or all are started now. If not, somebody starts the group.
  ///   - delay: how long each waits after it was started.
  ///   - timeout: how long an attempt of each may execute; nil for the task's own.
  /// - Returns: an operation for all of them together, with their handles. It need not be kept once it was started.
  @discardableResult
  public func add<T: ManagedTask>(
    contentsOf tasks: some Sequence<T>, inOrder: Bool = false, startImmediately: Bool = true,
    after delay: Duration? = nil, timeout: Duration? = nil
  ) -> HandleGroup<T.Value> {
    let handles = tasks.map { add($0, startImmediately: false, after: delay, timeout: timeout) }
    let group = HandleGroup(handles, inOrder: inOrder, owner: core)
    if startImmediately { group.start() }
    return group
  }

  /// Adds several tasks, and waits until all have settled. Cancelling the calling task cancels them.
  ///
  /// - Parameters:
  ///   - tasks: the tasks.
  ///   - inOrder: whether each is started when the one before has settled, however it did.
  ///   - timeout: how long an attempt of each may execute; nil for the task's own.
  /// - Returns: how each task ended, in their order.
  /// - Throws: `CancellationError` if they were cancelled as a whole.
  public func run<T: ManagedTask>(
    contentsOf tasks: some Sequence<T>, inOrder: Bool = false, timeout: Duration? = nil
  ) async throws -> [Outcome<T.Value>] {
    try await add(contentsOf: tasks, inOrder: inOrder, timeout: timeout).run()
  }
}
