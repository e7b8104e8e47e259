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
      operations.forEach(applyLimit)
    }
  }

  /// Gives the operation of a run the limit: the latest one, if several threads set it at once.
  func applyLimit(to operation: DrivenOperation<Workflow>) {
    var width: Int?
    repeat {
      width = storage.withLock(\.width)
      operation.width = width ?? .max
    } while storage.withLock(\.width) != width
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

  /// Whether this workflow or one around it is suspended.
  private var isHeldBack: Bool { storage.withLock { $0.isSuspended || $0.isSuspendedAround } }

  /// Suspends or resumes the runs of this workflow and of its subworkflows. In a loop, because
  /// workflows may nest deeper than a stack goes.
  private func passOnSuspension() {
    var pending = [self]
    while let workflow = pending.popLast() {
      let (operations, inside) = workflow.storage.withLock { storage in
        (storage.runs.values.map(\.operation), storage.state.nodes.compactMap(\.plan.subworkflow))
      }
      operations.forEach(workflow.applySuspension)
      pending += inside.filter { $0.follow(suspensionOf: workflow) }
    }
  }

  /// Suspends or resumes the operation of a run: as was set last, if several threads set it at
  /// once.
  func applySuspension(to operation: DrivenOperation<Workflow>) {
    var isSuspended: Bool
    repeat {
      isSuspended = isHeldBack
      operation.isSuspended = isSuspended
    } while isHeldBack != isSuspended
  }

  /// Takes over whether the workflow is suspended that this one was added to.
  func takeOnSuspension(of owner: Workflow) {
    if follow(suspensionOf: owner) { passOnSuspension() }
  }

  /// Returns whether that changed anything.
  private func follow(suspensionOf owner: Workflow) -> Bool {
    var changed = false
    var isSuspended: Bool
    repeat {
      isSuspended = owner.isHeldBack
      let differs = storage.withLock { storage in
        defer { storage.isSuspendedAround = isSuspended }
        return storage.isSuspendedAround != isSuspended
      }
      if differs { changed = true }
    } while owner.isHeldBack != isSuspended
    return changed
  }
}
