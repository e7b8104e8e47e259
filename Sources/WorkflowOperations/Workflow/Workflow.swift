public import CompositeOperations
public import Foundation

/// A graph of tasks that run after each other and with each other's results, again and again if need be.
///
/// ```swift
/// let order = Workflow("Order")
/// let user = order.add("user") { FetchUser(id: 7) }
/// let photo = order.addCondition("photo", of: Data.self)
/// let upload = order.add("upload", after: user, photo) { user, photo in Upload(photo, for: user) }
/// try await order.run()
/// ```
///
/// Tasks are added after their prerequisites, so a graph has no cycles. ``start()`` or ``run()`` runs every task whose
/// prerequisites have finished, then those that become ready, until nothing can run any more. That is a *run*; it ends
/// with an ``outcome``. Then tasks, or all of it, can be retried and reset, which is the difference between a workflow
/// and an operation, and run again.
///
/// A workflow that runs keeps itself alive until the run ends. All members may be used from any thread at any moment,
/// also from hooks, delegates and the bodies of tasks. Nothing here blocks a thread.
public final class Workflow: Sendable {
  /// The name, or `workflow` if none was given.
  public let name: String
  /// The queue that tasks run in, unless they have one of their own. Nil: on worker threads of Dispatch, or in the queue
  /// of the composite that the workflow runs in.
  public let operationQueue: OperationQueue?

  let storage = LockBox(WorkflowStorage())

  /// Makes a workflow without tasks.
  ///
  /// - Parameters:
  ///   - name: the name, for descriptions and messages.
  ///   - operationQueue: the queue to run tasks in. Only what can run reaches it.
  public init(_ name: String? = nil, operationQueue: OperationQueue? = nil) {
    self.name = name ?? "workflow"
    self.operationQueue = operationQueue
  }

  deinit {
    for stream in storage.withLock({ $0.streams.all }) { stream.end() }
    // Tasks, results and errors may hold other workflows, and these others again.
    var content: WorkflowStorage? = storage.withLock { storage in
      defer { storage = WorkflowStorage() }
      return storage
    }
    ReleaseList.release(&content)
  }

  // MARK: - How it stands

  /// How the last run ended: success if every task has finished; a failure, which is a ``WorkflowError``, if something
  /// failed and nothing can run any more; or cancelled.
  ///
  /// Nil before the first run and while one is under way; also after `add`, `retry` and `reset`, which give the workflow
  /// something to do again, and after a run that left tasks that are ready and were not started.
  public var outcome: Outcome<Void>? {
    storage.withLock(\.state.settlement).map { settlement in
      switch settlement {
      case .finished: .success(())
      case .failed(let record): .failure(WorkflowError(workflow: self, record: record))
      case .cancelled: .cancelled
      }
    }
  }

  /// What the last run failed with, if it did.
  public var error: WorkflowError? { outcome?.error as? WorkflowError }

  /// Whether a run is under way, or attempts of a cancelled one are still being waited for.
  public var isRunning: Bool {
    storage.withLock(\.state.isRunning)
  }

  /// Whether any task has not finished; failed and cancelled ones have not. False for a workflow without tasks.
  public var hasUnfinishedTasks: Bool {
    storage.withLock { $0.state.counts[.finished] < $0.state.nodes.count }
  }

  /// Whether any task is failed.
  public var hasFailedTasks: Bool {
    storage.withLock { $0.state.counts[.failed] > 0 }
  }

  /// When the last run started.
  public var startDate: Date? { storage.withLock(\.state.startDate) }

  /// When the last run ended; nil while one is under way.
  public var finishDate: Date? { storage.withLock(\.state.finishDate) }

  // MARK: - How it runs

  /// What a failed task means for the others. By default, `.waitForAll`, those that do not depend on it go on.
  /// `.cancelRemaining` cancels whatever is not finished at the first failure. A change holds from the next failure on.
  public var failurePolicy: FailurePolicy {
    get { storage.withLock(\.state.failurePolicy) }
    set { storage.withLock { $0.state.failurePolicy = newValue } }
  }

  /// How many tasks may be unfinished at the same time, asynchronous ones included. A subworkflow counts as one task; a
  /// condition that waits does not count. A change holds from the next task on. Attempts that are left of a cancelled run do
  /// not count in the next one.
  ///
  /// By default as many as there are threads or, in a queue, slots for. Traps if set to 0 or to a negative number other
  /// than `OperationQueue.defaultMaxConcurrentOperationCount`.
  public var maxConcurrentOperationCount: Int {
    get { storage.withLock { $0.width ?? OperationQueue.defaultMaxConcurrentOperationCount } }
    set {
      let isDefault = newValue == OperationQueue.defaultMaxConcurrentOperationCount
      require(
        isDefault || newValue > 0,
        "The maxConcurrentOperationCount of the workflow “\(name)” was set to \(newValue), which would let nothing run. Use 1 "
          + "or more, or OperationQueue.defaultMaxConcurrentOperationCount.")
      let operations = storage.withLock { storage in
        storage.width = isDefault ? nil : newValue
        return storage.runs.values.map(\.operation)
      }
      operations.forEach(applyLimit)
    }
  }

  /// Gives the operation of a run the limit; the latest one, if it is set by several threads at once.
  func applyLimit(to operation: DrivenOperation<Workflow>) {
    var width: Int?
    repeat {
      width = storage.withLock(\.width)
      operation.width = width ?? .max
    } while storage.withLock(\.width) != width
  }

  /// Told what happens; not kept alive by the workflow.
  public var delegate: (any WorkflowDelegate)? {
    get { storage.withLock(\.delegate) }
    set {
      storage.withLock { storage in
        storage.delegate = newValue
        storage.hasDelegate = newValue != nil
        storage.noteObservers()
      }
    }
  }
}

/// Everything of a workflow that changes.
struct WorkflowStorage: Sendable {
  /// The operations of a run, while it goes on.
  struct RunOperations: Sendable {
    let operation: DrivenOperation<Workflow>
    /// Those that wait for the run without being it.
    var joined: [DrivenOperation<Workflow>] = []
  }

  /// The task of another workflow that this one is.
  struct Owner: Sendable {
    weak var workflow: Workflow?
    let index: Int
  }

  var state = WorkflowState()
  var runs: [Int: RunOperations] = [:]
  var width: Int?
  var isSuspended = false
  /// Whether a workflow that this one is in is suspended.
  var isSuspendedAround = false
  var hooks: [Int: TaskHooks] = [:]
  weak var delegate: (any WorkflowDelegate)?
  /// Whether a delegate was set. To look for it would hold it, and might then release it under the lock.
  var hasDelegate = false
  var streams = EventFeeds<WorkflowEvent>()
  var owner: Owner?

  mutating func noteObservers() {
    state.isObserved = hasDelegate || !streams.isEmpty || !hooks.isEmpty
  }
}
