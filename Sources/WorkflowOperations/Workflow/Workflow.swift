public import CompositeOperations
public import Foundation

/// A graph of tasks that run after each other, with each other's results, as often as needed.
///
/// ```swift
/// let order = Workflow("Order")
/// let user = order.add("user") { FetchUser(id: 7) }
/// let photo = order.addCondition("photo", of: Data.self)
/// let upload = order.add("upload", after: user, photo) { user, photo in Upload(photo, for: user) }
/// try await order.run()
/// ```
///
/// Tasks are added after their prerequisites, so a graph has no cycles. ``start()`` or ``run()``
/// runs every task whose prerequisites have finished, then those that become ready, until no task
/// is left that can run. That is a *run*; it ends with an ``outcome``. Unlike an operation, a
/// workflow can then be retried or reset, as a whole or task by task, and run again.
///
/// A workflow that runs keeps itself alive until the run ends. All members may be used on any
/// thread at any moment, also in hooks, delegates and the bodies of tasks. Nothing here blocks a
/// thread.
public final class Workflow: Sendable {
  /// The name, or `workflow` if none was given.
  public let name: String
  /// The queue that tasks run in, unless they have one of their own. Nil: on worker threads of
  /// Dispatch, or in the queue of the composite that the workflow runs in.
  public let operationQueue: OperationQueue?

  let storage = LockBox(WorkflowStorage())

  /// Makes a workflow without tasks.
  ///
  /// - Parameters:
  ///   - name: the name, for descriptions and messages.
  ///   - operationQueue: the queue to run tasks in. Only tasks that can run reach it.
  public init(_ name: String? = nil, operationQueue: OperationQueue? = nil) {
    self.name = name ?? "workflow"
    self.operationQueue = operationQueue
  }

  deinit {
    for stream in storage.withLock({ $0.streams.all }) { stream.end() }
    // Tasks, results and errors may hold other workflows, and so on, deeper than a stack goes.
    var content: WorkflowStorage? = storage.withLock { storage in
      defer { storage = WorkflowStorage() }
      return storage
    }
    ReleaseList.release(&content)
  }

  // MARK: - State

  /// How the last run ended: success if every task has finished; a failure, which is a
  /// ``WorkflowError``, if a task failed and no other task can run; or cancelled.
  ///
  /// Nil before the first run and during a run; after `add`, `retry` and `reset`, which give the
  /// workflow something to do again; and after a run that left tasks that are ready and were not
  /// started.
  public var outcome: Outcome<Void>? {
    storage.withLock(\.state.settlement)?.outcome(of: self).map { _ in }
  }

  /// The error of the last run, if that failed.
  public var error: WorkflowError? { outcome?.error as? WorkflowError }

  /// Whether a run is under way, or attempts of a cancelled run have not settled.
  public var isRunning: Bool {
    storage.withLock(\.state.isRunning)
  }

  /// Whether any task has not finished; failed and cancelled tasks have not. False for a workflow
  /// without tasks.
  public var hasUnfinishedTasks: Bool {
    storage.withLock { $0.state.counts[.finished] < $0.state.nodes.count }
  }

  /// When the last run started.
  public var startDate: Date? { storage.withLock(\.state.startDate) }

  /// When the last run ended; nil during a run.
  public var finishDate: Date? { storage.withLock(\.state.finishDate) }

  // MARK: - How it runs

  /// What a failed task means for the others.
  ///
  /// With `.waitForAll`, the default, tasks that do not depend on it go on. With `.cancelRemaining`
  /// the first failure cancels every task that has not finished. A change applies from the next
  /// failure on.
  public var failurePolicy: FailurePolicy {
    get { storage.withLock(\.state.failurePolicy) }
    set { storage.withLock { $0.state.failurePolicy = newValue } }
  }
}

/// Everything of a workflow that changes.
struct WorkflowStorage: Sendable {
  /// The operations of a run, while it goes on.
  struct RunOperations: Sendable {
    let operation: DrivenOperation<Workflow>
    /// Operations that wait for the end of the run and did not begin it.
    var joined: [DrivenOperation<Workflow>] = []
  }

  /// The task of another workflow whose work is this workflow.
  struct Owner: Sendable {
    weak var workflow: Workflow?
    let index: Int
  }

  var state = WorkflowState()
  var runs: [Int: RunOperations] = [:]
  var width: Int?
  var isSuspended = false
  /// Whether a workflow around this one is suspended.
  var isSuspendedAround = false
  /// Whether this workflow or one around it is suspended.
  var isHeldBack: Bool { isSuspended || isSuspendedAround }
  var hooks: [Int: TaskHooks] = [:]
  weak var delegate: (any WorkflowDelegate)?
  /// Whether a delegate was set. Reading the delegate would retain it, and might release it under
  /// the lock.
  var hasDelegate = false
  var streams = EventFeeds<WorkflowEvent>()
  var owner: Owner?

  /// The event that is being passed on, and the thread that does.
  var delivering: (event: Int, onThread: UInt)?

  /// The last event that is too old for a stream that this thread makes.
  var newestEvent: Int {
    if let delivering, delivering.onThread == Threads.current { return delivering.event }
    return state.lastEvent
  }

  /// The operations of all runs, but for the one that began this run. No array is allocated if it
  /// is the only one.
  func operations(except run: Int) -> [DrivenOperation<Workflow>] {
    var operations: [DrivenOperation<Workflow>] = []
    for (number, each) in runs {
      if number != run { operations.append(each.operation) }
      if !each.joined.isEmpty { operations += each.joined }
    }
    return operations
  }

  mutating func noteObservers() {
    state.isObserved = hasDelegate || !streams.isEmpty || !hooks.isEmpty
  }
}
