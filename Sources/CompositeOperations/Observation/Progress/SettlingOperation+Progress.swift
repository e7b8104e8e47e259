public import Foundation

extension SettlingOperation {
  // MARK: - Asking

  /// How much of the operation is done, from 0 to 1.
  ///
  /// It never goes back, and is 1 if the operation has succeeded. What it comes from depends on the operation:
  ///
  /// - Without children: what the work reports with ``reportProgress(_:)``.
  /// - A parallel composition: the weights of the children that have settled, and of those that run the part that is
  ///   done, of the weights of all. See ``progressWeight``. A child that was cancelled, or did not run, counts as far as
  ///   it had come.
  /// - A sequence: the same, of the number of operations that its delegate expects; 0 as long as it does not know.
  /// - `then` and `mapAsync`: two steps. `map`, `recover`, `timeout` and the like: the progress of the operation inside.
  ///   What comes before that counts nothing: its dependencies, the conditions and their prerequisites, the waiting for
  ///   what it holds exclusively, delays.
  /// - A workflow: the tasks that have finished, of all.
  ///
  /// May be read from any thread at any moment. Nobody counts until somebody asks for the first time: by reading this,
  /// ``isProgressIndeterminate`` or ``progress``, or with an observer or a stream. Asking late gives the same, apart from
  /// operations that are gone by then: those of a sequence count 1 each, whatever their weights, and attempts before the
  /// last one, which may have been further, count nothing.
  public final var fractionCompleted: Double {
    let state = state.current
    if state.isSettled, state.ending == .success { return 1 }
    return askedNode?.fraction ?? 0
  }

  /// Whether nobody knows how far the operation is: it has not finished, and is a sequence that cannot tell how many
  /// operations there will be, or has no children and has reported nothing yet.
  public final var isProgressIndeterminate: Bool {
    guard !state.current.isSettled else { return false }
    return askedNode?.isIndeterminate ?? true
  }

  /// What the operation counts in the progress of the composite that it is a child of, compared with its siblings. 1
  /// unless set otherwise.
  ///
  /// Set it before the composite starts; a change may be noticed later, or not. It must be finite and not negative; else
  /// this traps.
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
  /// It shows ``fractionCompleted``, is indeterminate as long as the operation's progress is, and never goes back. It is
  /// written by one thread at a time, whichever makes the operation get on.
  ///
  /// When the operation has settled, it is finished after a success, and else cancelled, with the fraction that was
  /// reached.
  ///
  /// Cancelling it cancels the operation. Pausing it holds back all children that wait for their turn, here and in the
  /// compositions inside, until it is resumed; what runs goes on, and what was suspended by `isSuspended` stays so.
  ///
  /// `cancel()`, `pause()` and `resume()` take effect before they return, like ``SettlingOperation/cancel()`` and the
  /// `isSuspended` of a composite: a child whose turn has come already may start at that moment, and no other does.
  ///
  /// It has no children and no parent. On Linux `Progress` is not safe to use from several threads: do not add this one to
  /// another, which may destroy the heap. Compose the operations, and show the progress of the composite.
  public final var progress: Progress {
    progressNode().leaf { FoundationProgress(of: self) }.progress
  }

  // MARK: - Reporting

  /// Tells how much of the work is done, from inside it.
  ///
  /// May be called from any thread. A fraction that is not beyond the last one changes nothing, one outside of 0 to 1 counts
  /// as the nearer of the two. Without effect once the operation has settled, and on compositions, whose progress comes from
  /// their children.
  ///
  /// - Parameter fraction: the part that is done, from 0 to 1. Traps if it is not a number.
  public final func reportProgress(_ fraction: Double) {
    require(
      !fraction.isNaN,
      "\(OperationError.describe(self)) reported a progress that is not a number. Check for a total of 0 before "
        + "dividing by it, or use reportProgress(completed:of:).")
    let state = state.current
    guard !state.isSettled, !state.has(.needsNoSlot) || source == nil else { return }
    let node = progressNode()
    // Before the start nobody is told: the start comes first.
    if state.phase == .executing, let hub = StripedLock.withLock(of: self, { rareFields?.hub }) { node.report(to: hub) }
    node.report(max(0, fraction))
  }

  /// Tells how much of the work is done, from inside it, as a number of pieces.
  ///
  /// See ``reportProgress(_:)``.
  ///
  /// - Parameters:
  ///   - completed: how many pieces are done.
  ///   - total: how many there are. One of 0 or less means that it is not known, and nothing is reported.
  public final func reportProgress(completed: Int, of total: Int) {
    if total > 0 { reportProgress(Double(completed) / Double(total)) }
  }

  // MARK: - The node

  /// The node of a composition, or of an operation without children that has one.
  private var askedNode: ProgressNode? {
    if state.current.has(.needsNoSlot) { return progressNode() }
    return existingProgressNode
  }

  /// The node, which from now on knows how far the operation is.
  final func progressNode() -> ProgressNode {
    var made: [SettlingOperation] = []
    let node = progressNode(adding: &made)
    SettlingOperation.watchForProgress(made)
    return node
  }

  /// Has the nodes of the operations, which have just been made, watch the children.
  static func watchForProgress(_ operations: [SettlingOperation]) {
    var made = operations
    // In a loop, for trees may be deep.
    while let next = made.popLast() {
      let node = next.progressNode(adding: &made)
      node.watch(next, adding: &made)
      // Nobody tells it any more, or not before the completion has run.
      let state = next.state.current
      if state.isSettled { node.ownerDidSettle(succeeded: state.ending == .success) }
    }
  }

  /// Whether somebody has asked for the progress of the operation.
  package final var isProgressAskedFor: Bool { existingProgressNode != nil }

  final var existingProgressNode: ProgressNode? { StripedLock.withLock(of: self) { rareFields?.progressNode } }

  /// The node. If there was none it has yet to watch the children: then the operation is added to those whose nodes do.
  final func progressNode(adding made: inout [SettlingOperation]) -> ProgressNode {
    if let node = existingProgressNode { return node }
    let new = ProgressNode(source: source)
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

  /// Has the observers told how the operation gets on.
  final func reportProgress(to hub: any EventSink) {
    guard state.current.has(.needsNoSlot) else { return }
    progressNode().report(to: hub)
  }
}

/// An operation that reports the progress of another one as its own, once somebody wants to know it.
package protocol ProgressForwarding: SettlingOperation {
  /// Somebody asks for the first time. Called under no lock.
  func progressWasAskedFor()
}

extension RareFields {
  /// There is no other sink.
  fileprivate var progressNode: ProgressNode? { progress.map { unsafeDowncast($0, to: ProgressNode.self) } }
}
