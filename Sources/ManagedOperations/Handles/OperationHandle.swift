public import CompositeOperations

/// A task that was added to an ``OperationManager``: an operation that settles as the task does.
///
/// ```swift
/// let handle = manager.add(Search(query: "Paris"), startImmediately: false)
/// handle.completion = { outcome in show(outcome) }
/// handle.start()
/// ```
///
/// Everything that operations can do it can: `then`, `timeout`, observers, progress, `value`; and one that nobody has started
/// can be the child of a composite or wait in a queue, which starts it. In a composite it takes no slot, for its work is done
/// in the manager's.
///
/// `start()` and `cancel()` may be called from any thread, any number of times, also from all callbacks. Cancelled, it settles
/// at once, unless an attempt is executing: then that is cancelled, and the handle settles when it has ended. Settled by
/// somebody else, with `finish(with:)` or the like, it gives up its work in the same way, without waiting for that.
///
/// Its progress is that of the attempt that has come furthest.
///
/// It does not keep the ``OperationManager`` alive. One that was not started and is released is forgotten.
public final class OperationHandle<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // constants
  /// A number that no other handle of the process has, of whichever manager.
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

  /// Where the task is on its way. A cancelled or settled one is `finished`, though its operation may be winding down.
  public var state: ManagedTaskState {
    outcome == nil ? owner.taskState(of: id) : .finished
  }

  /// Has the manager begin with the task.
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

  /// Reports the progress of an attempt as the handle's, if anybody wants to know it.
  func forwardProgress(of operation: SettlingOperation) {
    operation.addObserver { [weak self] event in
      if let fraction = event.fractionCompleted { self?.reportProgress(fraction) }
    }
    let fraction = operation.fractionCompleted
    if fraction > 0, !operation.isFinished { reportProgress(fraction) }
  }
}
