public import CompositeOperations

/// A task that was added to an ``OperationManager``: an operation that settles as the task does.
///
/// ```swift
/// let handle = manager.add(Search(query: "Paris"), startImmediately: false)
/// handle.completion = { outcome in show(outcome) }
/// handle.start()
/// ```
///
/// It does everything that operations do: `then`, `timeout`, observers, progress, `value`. Before
/// its start it can become the child of a composite or wait in an `OperationQueue`, which starts
/// it. In a composite it takes no slot, since the manager does the work. An `OperationQueue` counts
/// it until it has settled: do not add it to the queue in which its manager executes attempts. If
/// handles fill that queue, they wait for attempts that find no slot.
///
/// Any thread may call `start()` and `cancel()`, any number of times, also from all callbacks. A
/// cancelled handle settles at once, unless an attempt is executing: then the manager cancels the
/// attempt, and the handle settles when that has ended. If you settle it yourself, with
/// `finish(with:)` for example, the manager gives up the task in the same way, and the handle does
/// not wait for that.
///
/// Its progress is that of the attempt that has come furthest. A task that awaits it continues when
/// the sinks of the manager have received its end, too.
///
/// It does not keep the ``OperationManager`` alive. If it is released before its start, the task is
/// forgotten.
public final class OperationHandle<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // constants
  /// A number that no other handle of the process has, in any manager.
  public let id: Int
  private let owner: any HandleOwner

  init(id: Int, owner: any HandleOwner) {
    self.id = id
    self.owner = owner
    super.init()
    occupyNoSlot()
  }

  deinit {
    if !isFinished { owner.forget(id) }
  }

  /// Where the task is on its way. A cancelled or settled task is `finished`, though its operation
  /// may not have ended.
  public var state: ManagedTaskState {
    outcome == nil ? owner.taskState(of: id) : .finished
  }

  /// Starts the task.
  public override func main() {
    owner.start(self, id: id)
  }

  /// Cancels the task. See the class for what that does.
  public override func cancel() {
    super.cancel()
    if owner.cancel(id) { settle(with: .cancelled) }
  }
}

extension OperationHandle: ProgressForwarding {
  package func progressWasAskedFor() {
    if let operation = owner.operation(of: id) { forwardProgress(of: operation) }
  }

  /// Reports the progress of an attempt as the handle's.
  func forwardProgress(of operation: SettlingOperation) {
    operation.addObserver { [weak self] event in
      if let fraction = event.fractionCompleted { self?.reportProgress(fraction) }
    }
    let fraction = operation.fractionCompleted
    if fraction > 0, !operation.isFinished { reportProgress(fraction) }
  }
}

extension OperationHandle: FinishingLater {
  /// It waits in a queue, which starts it later, if ever: that is not waited for.
  package func finishWasDeferred() { owner.operationDidSettle(self, tag: id) }
}

extension OperationHandle: ReportedByOwner {
  package func resumeWhenReported(_ continuation: UnsafeContinuation<Void, Never>) {
    // The thread that settles the handle may be about to say so.
    owner.operationDidSettle(self, tag: id)
    owner.resumeWhenReported(continuation)
  }
}

/// A manager as its handles and groups know it.
protocol HandleOwner: SettlementObserver {
  /// A handle was started.
  func start(_ handle: SettlingOperation, id: Int)

  /// A handle was cancelled. Returns whether it can settle at once.
  func cancel(_ id: Int) -> Bool

  /// A handle was released before its start.
  func forget(_ id: Int)

  /// The operation of the attempt that is under way.
  func operation(of id: Int) -> SettlingOperation?

  /// Where the task of a handle is on its way.
  func taskState(of id: Int) -> ManagedTaskState

  /// A group was started: between two of its tasks, and until its completion has run, the manager
  /// is not idle.
  ///
  /// - Parameter waiting: the tasks that it starts one after the other.
  func groupStarted(_ waiting: [Int])

  /// A group that was started has ended.
  func groupEnded()

  /// Resumes a task when the streams and sinks have received the events so far.
  func resumeWhenReported(_ continuation: UnsafeContinuation<Void, Never>)
}
