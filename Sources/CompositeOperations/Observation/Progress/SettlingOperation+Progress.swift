public import Foundation

extension SettlingOperation {
  // MARK: - Asking

  /// How much of the operation is done, from 0 to 1.
  ///
  /// The fraction never decreases, and is 1 if the operation has succeeded. How it is computed
  /// depends on the operation:
  ///
  /// - Without children: what the work reports with ``reportProgress(_:)``.
  /// - A parallel composition: the weighted mean of the children's fractions. See
  ///   ``progressWeight``. A failed child counts as done. A child that was cancelled or did not run
  ///   keeps its fraction.
  /// - A sequence: the same, over the number of operations that its delegate expects; 0 while that
  ///   number is unknown.
  /// - `then` and `mapAsync`: two steps. `map`, `recover`, `timeout` and the like: the progress of
  ///   the operation inside. What comes before that operation does not count: waiting for
  ///   dependencies or exclusive categories, conditions and their prerequisites, delays.
  /// - `repeating`: 0 and indeterminate until it ends.
  /// - A workflow: the finished tasks out of all.
  ///
  /// May be read on any thread at any time. Counting begins with the first read of this property,
  /// of ``isProgressIndeterminate`` or of ``progress``, or with an observer or a stream. Counting
  /// that begins late gives the same result, except for operations that are gone by then. Earlier
  /// operations of a sequence then weigh 1 each. Earlier attempts, which may have been further, do
  /// not count. An expected number that has changed is known from the next operation on.
  public final var fractionCompleted: Double {
    let state = state.current
    if state.isSettled, state.ending == .success { return 1 }
    return askedNode?.fraction ?? 0
  }

  /// Whether the progress is unknown. It is unknown while the operation has not settled, and is a
  /// sequence of unknown length or a `repeating`, or has no children and has reported nothing yet.
  public final var isProgressIndeterminate: Bool {
    guard !state.current.isSettled else { return false }
    return askedNode?.isIndeterminate ?? true
  }

  /// The weight of the operation in the progress of its parent composite, relative to its siblings;
  /// 1 by default.
  ///
  /// Set it before the composite starts; a later change may have no effect. Traps unless it is
  /// finite and not negative.
  public final var progressWeight: Double {
    get { StripedLock.withLock(of: self) { rareFields?.progressWeight ?? 1 } }
    set {
      require(
        newValue.isFinite && newValue >= 0,
        "progressWeight of \(OperationError.describe(self)) was set to \(newValue). Use a finite number that is not "
          + "negative.")
      StripedLock.withLock(of: self) { makeRareFields().progressWeight = newValue }
    }
  }

  /// The progress as Foundation's `Progress`, for interfaces that take one. Always the same object.
  ///
  /// It shows ``fractionCompleted``, is indeterminate as long as the operation's progress is, and
  /// never decreases. One thread at a time writes it: the thread that advances the operation.
  ///
  /// When the operation has succeeded, the `Progress` is finished. When the operation has failed or
  /// was cancelled, the `Progress` is cancelled, and keeps its fraction.
  ///
  /// Cancelling the `Progress` cancels the operation, before `cancel()` returns. The `Progress`
  /// cannot be paused: to hold back the children of a composite, set its `isSuspended`.
  ///
  /// The `Progress` has no children and no parent. On Linux `Progress` is not thread-safe, so
  /// adding this one to another may corrupt the heap. Instead, compose the operations, and show the
  /// progress of the composite.
  public final var progress: Progress {
    progressNode().leaf { FoundationProgress(of: self) }
  }

  // MARK: - Reporting

  /// Reports the fraction of the work that is done, from inside the work.
  ///
  /// May be called on any thread. A fraction that is not higher than the last one has no effect. A
  /// fraction outside 0 to 1 is clamped. Has no effect once the operation has settled. Has no
  /// effect on compositions either, because their progress comes from their children.
  ///
  /// - Parameter fraction: the fraction that is done, from 0 to 1. Traps if it is not a number.
  public final func reportProgress(_ fraction: Double) {
    require(
      !fraction.isNaN,
      "\(OperationError.describe(self)) reported a progress that is not a number. Check for a total of 0 before "
        + "dividing by it, or use reportProgress(completed:of:).")
    let state = state.current
    guard !state.isSettled, !state.has(.needsNoSlot) || composition == nil else { return }
    let node = progressNode()
    // Observers receive no progress before `started`.
    if state.phase == .executing, let hub = StripedLock.withLock(of: self, { rareFields?.hub }) { node.report(to: hub) }
    node.report(max(0, fraction))
  }

  /// Reports how many pieces of the work are done, from inside the work.
  ///
  /// See ``reportProgress(_:)``.
  ///
  /// - Parameters:
  ///   - completed: how many pieces are done.
  ///   - total: the number of pieces. If it is 0 or less, the number is unknown, and nothing is
  ///     reported.
  public final func reportProgress(completed: Int, of total: Int) {
    if total > 0 { reportProgress(Double(completed) / Double(total)) }
  }

  // MARK: - The node

  /// The node of a composition, which is made if needed, or of an operation without children that
  /// has a node.
  private var askedNode: ProgressNode? {
    if state.current.has(.needsNoSlot) { return progressNode() }
    return existingProgressNode
  }

  /// Returns the node, which is made if needed, and counts from now on.
  final func progressNode() -> ProgressNode {
    var made: [SettlingOperation] = []
    let node = progressNode(adding: &made)
    SettlingOperation.watchForProgress(made)
    return node
  }

  /// Lets the new nodes of the operations monitor their children.
  static func watchForProgress(_ operations: [SettlingOperation]) {
    var made = operations
    // A loop, because trees may be deep.
    while let next = made.popLast() {
      let node = next.progressNode(adding: &made)
      node.watch(next, adding: &made)
      // No other thread notifies the node of the end, or a thread does so only after the completion
      // has run.
      let state = next.state.current
      if state.isSettled { node.ownerDidSettle(succeeded: state.ending == .success) }
    }
  }

  /// Whether the progress of the operation is being counted.
  package final var isProgressAskedFor: Bool { existingProgressNode != nil }

  final var existingProgressNode: ProgressNode? { StripedLock.withLock(of: self) { rareFields?.progressNode } }

  /// Returns the node. A new node does not monitor the children yet, and its operation is added to
  /// `made`.
  final func progressNode(adding made: inout [SettlingOperation]) -> ProgressNode {
    if let node = existingProgressNode { return node }
    let new = ProgressNode(composition: composition)
    let node = StripedLock.withLock(of: self) {
      let fields = makeRareFields()
      let node = fields.progressNode ?? new
      fields.progress = node
      state.apply { _ = $0.addObserver() }
      return node
    }
    if node === new { made.append(self) }
    if node === new, let self = self as? any ProgressForwarding { self.progressWasAskedFor() }
    return node
  }

  /// Posts the progress of a composition to the observers.
  final func reportProgress(to hub: any EventSink) {
    guard state.current.has(.needsNoSlot) else { return }
    progressNode().report(to: hub)
  }
}

/// An operation that forwards the progress of another operation, once the program asks for
/// progress.
package protocol ProgressForwarding: SettlingOperation {
  /// Called under no lock when the progress is first asked for.
  func progressWasAskedFor()
}

extension RareFields {
  /// The node is the only kind of sink.
  fileprivate var progressNode: ProgressNode? { progress.map { unsafeDowncast($0, to: ProgressNode.self) } }
}
