import CompositeOperations
public import Foundation

/// Runs tasks, and lets others have a say: interceptors before a task executes, reactors when it has.
///
/// ```swift
/// let manager = OperationManager(interceptors: [.batch(maxCount: 20)], reactors: [.retrying()])
/// let handle = manager.add(Search(query: "Paris"))
/// let cities = try await handle.value
/// ```
///
/// A task that was started goes through these steps: it waits for its delay, if it was given one; the interceptors are asked
/// about it, one task at a time, in the order in which tasks were started; it waits for its turn; an operation is made of it
/// and executes; the reactors are asked about the outcome; its handle settles. See ``ManagedTaskState``.
///
/// All members may be used from any thread at any moment, also from interceptors, reactors and completions. Nothing here blocks
/// a thread.
///
/// When the manager is released, what executes ends normally, and everything else settles with ``ManagedTaskError``, whose code
/// is `managerReleased`: a handle does not keep its manager alive.
public final class OperationManager: Sendable {
  /// A manager without interceptors, reactors or limits, which is always there.
  public static let shared = OperationManager(name: "shared")

  /// The name, for descriptions and messages.
  public var name: String { core.name }
  /// The queue that attempts execute in. Nil: on worker threads of Dispatch.
  public let operationQueue: OperationQueue?
  /// Who is asked before a task executes, in this order.
  public let interceptors: [any Interceptor]
  /// Who is asked when an attempt has ended.
  public let reactors: [any Reactor]

  let core: ManagerCore

  /// Makes a manager that has nothing to do.
  ///
  /// - Parameters:
  ///   - name: the name, for descriptions and messages.
  ///   - operationQueue: the queue to execute attempts in. Only what can execute reaches it. Nil: worker threads of Dispatch.
  ///     To cancel the operations of that queue cancels the attempts, whose tasks end as `.cancelled` unless a reactor says
  ///     otherwise.
  ///   - interceptors: who is asked before a task executes, in this order.
  ///   - reactors: who is asked when an attempt has ended. Of several that fail a task, the first one counts.
  ///   - clock: the clock for delays and timeouts.
  public init(
    name: String = "manager", operationQueue: OperationQueue? = nil, interceptors: [any Interceptor] = [],
    reactors: [any Reactor] = [], clock: some Clock<Duration> = ContinuousClock()
  ) {
    self.operationQueue = operationQueue
    self.interceptors = interceptors
    self.reactors = reactors
    core = ManagerCore(
      name: name, operationQueue: operationQueue, interceptors: interceptors, reactors: reactors,
      timekeeper: Timekeeper.of(clock))
  }

  deinit {
    core.release()
  }

  // MARK: - Limits

  /// How many attempts may be under way at the same time, asynchronous ones included. A change holds from the next one on.
  ///
  /// By default as many as there are threads or, in a queue, slots for. Traps if set to 0 or to a negative number other than
  /// `OperationQueue.defaultMaxConcurrentOperationCount`.
  public var maxConcurrentOperationCount: Int {
    get { core.width ?? OperationQueue.defaultMaxConcurrentOperationCount }
    set {
      let isDefault = newValue == OperationQueue.defaultMaxConcurrentOperationCount
      require(
        isDefault || newValue > 0,
        "The maxConcurrentOperationCount of the manager “\(name)” was set to \(newValue), which would let nothing execute. "
          + "Use 1 or more, or OperationQueue.defaultMaxConcurrentOperationCount; to hold tasks back, set isSuspended.")
      core.width = isDefault ? nil : newValue
    }
  }

  /// While true, no further attempt starts. Those under way go on, and so do delays, interceptors and reactors.
  public var isSuspended: Bool {
    get { core.withLock { $0.state.isSuspended } }
    set { core.input { $0.setSuspended(newValue) } }
  }

  // MARK: - Held tasks

  /// How many tasks interceptors hold.
  public var heldTaskCount: Int { core.withLock { $0.state.heldCount } }

  /// Has all tasks execute that interceptors hold, in the order in which they were held, without being intercepted again.
  ///
  /// - Returns: how many were released.
  @discardableResult
  public func releaseHeldTasks() -> Int { core.input { $0.releaseAll() } }

  // MARK: - Waiting

  /// Waits until nothing that was started is left to do: no task is delayed, intercepted, held, queued, executing, being reacted
  /// to or waiting to be requeued, and all completions have returned.
  ///
  /// Handles that nobody has started do not count. Operations of tasks that have timed out do, until they have ended. Tasks
  /// that are added meanwhile are waited for. Cancelling the calling task changes nothing: it keeps waiting. Not to be awaited
  /// by a task of this manager, which would wait for itself; and a batch that nobody releases keeps it waiting.
  public func waitUntilIdle() async { await core.waitUntilIdle() }

  /// Cancels all tasks, also those that nobody has started, and takes no more. Returns when nothing is left to do.
  ///
  /// Tasks that are added later fail with ``ManagedTaskError``, whose code is `shutDown`. Reactions and interceptions under way
  /// are cancelled and not waited for; operations are, so one that does not listen to being cancelled keeps this waiting. May
  /// be called any number of times.
  public func shutdown() async {
    core.shutDown()
    await core.waitUntilIdle()
  }
}
