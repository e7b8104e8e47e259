import CompositeOperations

extension Workflow {
  /// While true, no further attempt starts, in this workflow and in those that are tasks of it. Those under way go on.
  ///
  /// Tasks that were started or become ready wait, and a run goes on until they could run or are cancelled. Conditions begin to
  /// wait, and can be fulfilled, for that starts nothing. Workflows that a task's closure runs by itself are not concerned.
  public var isSuspended: Bool {
    get { storage.withLock(\.isSuspended) }
    set {
      storage.withLock { $0.isSuspended = newValue }
      passOnSuspension()
    }
  }

  /// Whether this workflow is suspended, or one that it is in.
  private var isHeldBack: Bool { storage.withLock { $0.isSuspended || $0.isSuspendedAround } }

  /// Tells the runs of this workflow, and the workflows inside of it. A loop, for they may nest deeper than a stack goes.
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

  /// Has the operation of a run held back, or not; as it was said last, if several threads say so at once.
  func applySuspension(to operation: DrivenOperation<Workflow>) {
    var isSuspended: Bool
    repeat {
      isSuspended = isHeldBack
      operation.isSuspended = isSuspended
    } while isHeldBack != isSuspended
  }

  /// It has become a task of another workflow.
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
