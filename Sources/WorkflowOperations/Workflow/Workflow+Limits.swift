import CompositeOperations
import Foundation

// How many tasks run at the same time, and whether tasks start.

extension Workflow {
  /// How many tasks may be unfinished at the same time, asynchronous ones included.
  ///
  /// A subworkflow counts as one task; a condition that waits does not count. An attempt whose
  /// operation waits for its dependencies may not count until these have finished; one in a queue
  /// of its own always counts. A change applies from the next task on. Attempts that are left of a
  /// cancelled run do not count in the next run.
  ///
  /// The default is as many as there are threads or, in a queue, slots. Traps if set to 0, or to a
  /// negative number other than `OperationQueue.defaultMaxConcurrentOperationCount`.
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
      operations.forEach(applyLimits)
    }
  }

  /// Gives the operation of a run the limit, and suspends or resumes it. Inside of the lock, so
  /// that of several threads that do none brings back what another one has replaced.
  func applyLimits(to operation: DrivenOperation<Workflow>) {
    let mayStart = storage.withLock { storage in
      operation.setLimits(width: storage.width ?? .max, isSuspended: storage.isHeldBack)
    }
    if mayStart { operation.startMore() }
  }

  // MARK: - Suspension

  /// While true, no further attempt starts in this workflow and its subworkflows. Attempts that are
  /// under way go on.
  ///
  /// Tasks that were started or become ready wait, and the run goes on until they have run or are
  /// cancelled. Conditions execute, and can be fulfilled. Workflows that the closure of a task runs
  /// are not suspended.
  public var isSuspended: Bool {
    get { storage.withLock(\.isSuspended) }
    set {
      storage.withLock { $0.isSuspended = newValue }
      passOnSuspension()
    }
  }

  /// Suspends or resumes the runs of this workflow and of its subworkflows: of all, for another
  /// thread that does may not have reached them yet. In a loop, because workflows may nest deeper
  /// than a stack goes.
  func passOnSuspension() {
    var pending = [self]
    while let workflow = pending.popLast() {
      let (operations, inside) = workflow.storage.withLock { storage in
        (storage.runs.values.map(\.operation), storage.state.nodes.compactMap(\.plan.subworkflow))
      }
      operations.forEach(workflow.applyLimits)
      for subworkflow in inside { subworkflow.follow(suspensionOf: workflow) }
      pending += inside
    }
  }

  /// Takes over whether the workflow is suspended that this one was added to. Returns whether that
  /// changed anything. Takes the lock of the owner, and then that of this
  /// workflow, so that of several threads that do none brings back what another one has replaced.
  @discardableResult
  func follow(suspensionOf owner: Workflow) -> Bool {
    owner.storage.withLock { around in
      storage.withLock { storage in
        defer { storage.isSuspendedAround = around.isHeldBack }
        return storage.isSuspendedAround != around.isHeldBack
      }
    }
  }
}
