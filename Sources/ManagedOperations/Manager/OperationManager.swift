public import CompositeOperations
public import Foundation

/// Runs tasks, and lets interceptors look at them before they execute, and reactors after.
///
/// ```swift
/// let manager = OperationManager(interceptors: [.batch(maxCount: 20)], reactors: [.retrying()])
/// let handle = manager.add(Search(query: "Paris"))
/// let cities = try await handle.value
/// ```
///
/// A started task goes through these steps: it waits for its delay, if it has one; the manager asks
/// the interceptors about it, one task at a time, in the order in which tasks were started; it
/// waits for its turn; the manager makes an operation of it, which executes; the manager asks the
/// reactors about the outcome; its handle settles. See ``ManagedTaskState``.
///
/// Any thread may use all members at any moment, also from interceptors, reactors and completions.
/// Nothing here blocks a thread.
///
/// A handle does not keep its manager alive. When the manager is released, attempts under way end
/// normally, and all other tasks fail with ``ManagedTaskError``, whose code is `managerReleased`.
public final class OperationManager: Sendable {
  /// A manager without interceptors, reactors or limits, which lives as long as the process.
  public static let shared = OperationManager(name: "shared")

  /// The name, for descriptions and messages.
  public var name: String { core.name }

  let core: ManagerCore
  /// Not in the core, which handles keep.
  private let taskDefaults: (any TaskDefaults)?

  /// Makes a manager that has nothing to do.
  ///
  /// - Parameters:
  ///   - name: the name, for descriptions and messages.
  ///   - operationQueue: the queue to execute attempts in. Only attempts that can execute reach it.
  ///     Nil: worker threads of Dispatch. Cancelling the operations of that queue cancels the
  ///     attempts, whose tasks end as `.cancelled` unless a reactor decides otherwise.
  ///   - interceptors: are asked before a task executes, in this order.
  ///   - reactors: are asked when an attempt has ended. If several fail a task, the first one
  ///     counts.
  ///   - clock: the clock for delays and timeouts.
  public convenience init(
    name: String = "manager", operationQueue: OperationQueue? = nil, interceptors: [any Interceptor] = [],
    reactors: [any Reactor] = [], clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.init(
      name: name, operationQueue: operationQueue, interceptors: interceptors, reactors: reactors, clock: clock,
      taskDefaults: nil)
  }

  /// - Parameter taskDefaults: what each task gets that has none of its own.
  init(
    name: String, operationQueue: OperationQueue?, interceptors: [any Interceptor], reactors: [any Reactor],
    clock: some Clock<Duration>, taskDefaults: (any TaskDefaults)?
  ) {
    self.taskDefaults = taskDefaults
    core = ManagerCore(
      name: name, operationQueue: operationQueue, interceptors: interceptors, reactors: reactors,
      timekeeper: Timekeeper.of(clock))
  }

  deinit {
    core.release()
  }

  // MARK: - Adding

  /// Adds a task.
  ///
  /// - Parameters:
  ///   - task: the task.
  ///   - startImmediately: whether the manager starts it. If not, start the handle, or add it to a
  ///     composite or to a queue other than that of the manager, which starts it. A handle that
  ///     is released before its start is forgotten, which the event ``ManagedEvent/Kind/dropped``
  ///     tells.
  ///   - delay: how long it waits after its start, before it is intercepted. Not positive: not at
  ///     all.
  ///   - timeout: how long an attempt may execute; nil for the task's own timeout. After that the
  ///     handle settles at once with ``ManagedTaskError``, whose code is `timedOut`, and the
  ///     manager cancels the operation; it does not ask the reactors. Neither delays nor the time
  ///     in batches and queues count. But an attempt that is a composition executes from its start
  ///     on, so the time counts in which its operations wait for slots of the queue.
  /// - Returns: the handle, which starts, cancels and awaits the task. A started task does not need
  ///   you to keep it.
  @discardableResult
  public func add<T: ManagedTask>(
    _ task: T, startImmediately: Bool = true, after delay: Duration? = nil, timeout: Duration? = nil
  ) -> OperationHandle<T.Value> {
    core.add(
      taskDefaults?.applied(to: task) ?? task, startImmediately: startImmediately, after: delay, timeout: timeout)
  }

  /// Adds a task, and waits until it has settled and the sinks of the manager have received its
  /// end. Cancelling the calling task cancels it; if that was cancelled before the call, it does
  /// not execute.
  ///
  /// - Parameters:
  ///   - task: the task.
  ///   - delay: how long it waits before it is intercepted.
  ///   - timeout: how long an attempt may execute; nil for the task's own timeout.
  /// - Returns: the task's value.
  /// - Throws: the task's error, or ``ManagedTaskError``; `CancellationError` if it was cancelled.
  @discardableResult
  public func run<T: ManagedTask>(
    _ task: T, after delay: Duration? = nil, timeout: Duration? = nil
  ) async throws -> T.Value {
    // Started here, because the order of calls counts. Of a cancelled caller nothing starts.
    try await add(task, startImmediately: !Task.isCancelled, after: delay, timeout: timeout).run()
  }

  /// Adds several tasks.
  ///
  /// - Parameters:
  ///   - tasks: the tasks.
  ///   - inOrder: whether each is started when the one before has settled, with whatever outcome.
  ///     Otherwise the group starts all at once.
  ///   - startImmediately: whether the manager starts the group. If not, start it, or add it to a
  ///     composite or to a queue other than that of the manager.
  ///   - delay: how long each waits after its start.
  ///   - timeout: how long an attempt of each may execute; nil for the task's own timeout.
  /// - Returns: an operation for all of them together, with their handles. A started group does not
  ///   need you to keep it.
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

  /// Adds several tasks, and waits until all have settled and the sinks of the manager have
  /// received their ends. Cancelling the calling task cancels them; if that was cancelled before
  /// the call, none executes.
  ///
  /// - Parameters:
  ///   - tasks: the tasks.
  ///   - inOrder: whether each is started when the one before has settled, with whatever outcome.
  ///   - timeout: how long an attempt of each may execute; nil for the task's own timeout.
  /// - Returns: how each task ended, in their order.
  /// - Throws: `CancellationError` if they were cancelled as a whole.
  public func run<T: ManagedTask>(
    contentsOf tasks: some Sequence<T>, inOrder: Bool = false, timeout: Duration? = nil
  ) async throws -> [Outcome<T.Value>] {
    try await add(contentsOf: tasks, inOrder: inOrder, startImmediately: !Task.isCancelled, timeout: timeout).run()
  }

  // MARK: - Limits

  /// How many attempts may be under way at the same time, asynchronous ones included. A change
  /// holds from the next attempt on.
  ///
  /// By default as many as there are threads or, in a queue, slots. Traps if set to 0 or to a
  /// negative number other than `OperationQueue.defaultMaxConcurrentOperationCount`.
  public var maxConcurrentOperationCount: Int {
    get { core.engine.width == .max ? OperationQueue.defaultMaxConcurrentOperationCount : core.engine.width }
    set {
      core.engine.width = requireWidth(
        newValue, of: "The maxConcurrentOperationCount of the manager “\(name)”",
        remedy: " To hold tasks back, set isSuspended.")
    }
  }

  /// Whether the manager holds back all further attempts. Attempts under way go on, and so do
  /// delays, interceptors and reactors.
  public var isSuspended: Bool {
    get { core.withLock { $0.state.isSuspended } }
    set { core.input { $0.setSuspended(newValue) } }
  }

  // MARK: - Held tasks

  /// How many tasks interceptors hold.
  public var heldTaskCount: Int { core.withLock { $0.state.heldCount } }

  /// Lets all tasks execute that interceptors hold, in the order in which they were held, without
  /// intercepting them again.
  ///
  /// - Returns: how many were released.
  @discardableResult
  public func releaseHeldTasks() -> Int { core.input { $0.releaseAll() } }

  // MARK: - Watching

  /// Makes a stream of what happens to all tasks from now on, in the order in which it happens.
  ///
  /// ```swift
  /// Task { for await event in manager.events() { print(event) } }
  /// ```
  ///
  /// Each call makes a stream of its own. What has happened before and is still to be passed on is
  /// not in it. It ends when the manager was released and its last attempt has ended.
  ///
  /// - Parameter bufferingPolicy: how many events are kept for a slow reader; by default the newest
  ///   1,024. ``ManagedEvent/droppedCount`` counts the others.
  public func events(
    bufferingPolicy: AsyncStream<ManagedEvent>.Continuation.BufferingPolicy = .bufferingNewest(1024)
  ) -> AsyncStream<ManagedEvent> {
    let (stream, feed) = EventFeed<ManagedEvent>.makeStream(bufferingPolicy: bufferingPolicy)
    let number = core.addStream(feed)
    feed.whenTerminated { [weak core] in core?.removeStream(number) }
    return stream
  }

  // MARK: - The end

  /// Waits until all started tasks are done: none is delayed, intercepted, held, queued, executing,
  /// reacted to or about to be requeued, and all completions have returned. Observers and sinks
  /// that are called directly have then returned, too, and the events stand in their streams.
  ///
  /// It does not wait for tasks that were not started. It waits for tasks that are added meanwhile,
  /// and for operations of timed-out tasks, until they have ended. It does not wait for an
  /// `OperationQueue` that has yet to start a handle which has settled. Cancelling the calling task
  /// changes nothing: it keeps waiting. A task of this manager must not await it, for it would wait
  /// for itself. A batch that is never released keeps it waiting.
  public func waitUntilIdle() async { await core.waitUntilIdle() }

  /// Stops for good: starts no further attempt, takes no more tasks, and returns when nothing is
  /// left to do or to report, as ``waitUntilIdle()`` does.
  ///
  /// | where a task is | without a grace | with a grace |
  /// |---|---|---|
  /// | not started, delayed, intercepted, held, queued, reacted to | is cancelled at once | the same |
  /// | executing | is cancelled at once | may end by itself; is cancelled when the grace has passed |
  ///
  /// The outcome of an attempt that ends during the grace is that of its task: reactors are not
  /// asked. Interceptions and reactions under way are cancelled and not waited for. Operations are
  /// waited for, so one that ignores its cancellation keeps this waiting.
  ///
  /// Tasks that are added later fail with ``ManagedTaskError``, whose code is `stopped`. Several
  /// calls are fine: each cancels what executes when its own grace has passed, so the shortest one
  /// counts. Cancelling the calling task changes nothing.
  ///
  /// - Parameter grace: how long attempts under way may go on, by the manager's clock; nil, zero
  ///   and less for not at all.
  public func stop(grace: Duration? = nil) async { await core.stop(grace: grace) }
}
