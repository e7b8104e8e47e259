import Foundation

/// The progress of one operation: a node of a tree that mirrors the operations, made on demand.
///
/// The node of an operation monitors its composition. It makes nodes for the
/// children that run, and these nodes report to it. Several compositions can wait for the same
/// operation, so a node can have several parents.
final class ProgressNode: ProgressSink, @unchecked Sendable {  // locked; the weak reference is set once
  /// The node of a composition that waits for this operation, with its tag there. Weak, because the
  /// composition may be released without having run.
  private struct Parent {
    weak var node: ProgressNode?
    let tag: Int
  }

  private struct State {
    var progress: ProgressState
    var parents: [Parent] = []
    /// The nodes of running children that stand for the whole work.
    var children: [Int: ProgressNode] = [:]
    var hub: (any EventSink)?
    var leaf: FoundationProgress?

    /// Removes the parents that were released, and those of which `isGone` is true. Returns the
    /// nodes that were looked at: the caller releases them outside of the lock, because a last
    /// reference may go with them.
    mutating func removeParents(where isGone: (ProgressNode, Int) -> Bool) -> [ProgressNode] {
      let nodes = parents.compactMap(\.node)
      parents.removeAll { parent in parent.node.map { isGone($0, parent.tag) } ?? true }
      return nodes
    }
  }

  private let state: LockBox<State>
  private weak var composition: Composition?

  init(composition: Composition?) {
    self.composition = composition
    state = LockBox(State(progress: ProgressState(shape: composition?.progressShape)))
  }

  var fraction: Double {
    // A driver may have changed its count without an event of a child.
    if case .driven = state.withLock({ $0.progress.shape }) { compositionDidChange() }
    return state.withLock { $0.progress.fraction }
  }

  var isIndeterminate: Bool {
    var node = self
    while true {
      let (isIndeterminate, inner) = node.state.withLock { state in
        (state.progress.isIndeterminate, state.progress.innerTag.flatMap { state.children[$0] })
      }
      guard isIndeterminate, let inner else { return isIndeterminate }
      node = inner
    }
  }

  // MARK: - Beginning

  /// Begins to monitor the children, and takes over their current state.
  ///
  /// - Parameters:
  ///   - operation: the operation of this node.
  ///   - made: operations whose nodes do not monitor their children yet.
  func watch(_ operation: SettlingOperation, adding made: inout [SettlingOperation]) {
    guard let composition else { return }
    composition.addMonitor(self, isInherited: false)
    // After adding the monitor, which is notified of later starts.
    let isRunning = operation.state.current.phase != .pending
    _ = updateShape()
    let pastCount = composition.pastCount
    _ = state.withLock { $0.progress.passed(pastCount) }
    composition.forEachChild { child, tag in
      guard let work = composition.work(standingFor: child) else { return }
      _ = state.withLock { $0.progress.added(tag, weight: work.weightOfProgress) }
      if let ending = work.endingOfProgress {
        _ = state.withLock { $0.progress.settled(tag, as: ending) }
      } else if work.isExecuting || isRunning && (work as? SettlingOperation)?.composition != nil {
        // Children that wait are included, because their starts may have been reported already.
        link(work, tag, adding: &made)
      }
    }
    // Read after the children, because a child is released only when its tag is in this list.
    let pastTags = composition.pastTags
    let changed = state.withLock { state in
      for tag in pastTags { _ = state.progress.settled(tag, as: .success) }
      return state.progress.complete()
    }
    if changed { propagate() }
  }

  /// Posts new fractions to the hub from now on.
  func report(to hub: any EventSink) {
    state.withLock { if !$0.progress.isEnded { $0.hub = hub } }
  }

  /// Returns the `Progress` of this node, made by `make` if there is none.
  func leaf(_ make: () -> FoundationProgress) -> FoundationProgress {
    if let leaf = state.withLock({ $0.leaf }) { return leaf }
    let made = make()
    let (leaf, progress) = state.withLock { state in
      let leaf = state.leaf ?? made
      state.leaf = leaf
      return (leaf, state.progress)
    }
    leaf.show(progress.fraction, isIndeterminate: isIndeterminate)
    if progress.endsUnsuccessfully { leaf.endUnsuccessfully() }
    return leaf
  }

  /// - Parameter made: operations whose nodes do not monitor their children yet. When these nodes
  ///   begin to monitor, they report what they find.
  private func link(_ child: Operation, _ tag: Int, adding made: inout [SettlingOperation]) {
    guard let child = child as? SettlingOperation else { return }
    let node = child.progressNode(adding: &made)
    state.withLock { state in
      if state.progress.shape == .inner, !state.progress.isEnded { state.children[tag] = node }
    }
    // If the child ends at the same time, one of the two threads sees the other's change.
    if child.endingOfProgress != nil { unlink(tag) }
    let others = node.state.withLock { state -> [ProgressNode] in
      guard !state.progress.isEnded else { return [] }
      defer { state.parents.append(Parent(node: self, tag: tag)) }
      return state.removeParents { $0 === self && $1 == tag }
    }
    withExtendedLifetime(others) {}
    let fraction = node.fraction
    if isChanged(tag, to: fraction) { propagate() }
  }

  /// Advances a child. Returns whether that changes what this node shows.
  private func isChanged(_ tag: Int, to fraction: Double) -> Bool {
    state.withLock { $0.progress.advanced(tag, to: fraction) || $0.progress.showsThrough(tag) }
  }

  private func unlink(_ tag: Int) {
    let node = state.withLock { $0.children.removeValue(forKey: tag) }
    withExtendedLifetime(node) {}
  }

  private func forget(_ parent: ProgressNode, _ tag: Int) {
    let others = state.withLock { $0.removeParents { $0 === parent && $1 == tag } }
    withExtendedLifetime(others) {}
  }

  // MARK: - Changes

  /// Reports the progress of an operation without children.
  func report(_ fraction: Double) {
    if state.withLock({ $0.progress.report(fraction) }) { propagate() }
  }

  func compositionDidChange() {
    if updateShape() { propagate() }
  }

  /// Takes over the shape of the composition. Returns whether the visible progress has changed.
  private func updateShape() -> Bool {
    guard let composition else { return false }
    var isChanged = false
    while true {
      let shape = composition.progressShape
      if state.withLock({ $0.progress.changeShape(shape) }) { isChanged = true }
      // The count of a driver changes all the time, and only rises.
      if case .driven = shape { return isChanged }
      // The latest shape wins if several threads take one over.
      if composition.progressShape == shape { return isChanged }
    }
  }

  func ownerDidSettle(succeeded: Bool) {
    let (changed, leaf, fraction) = end(succeeded: succeeded)
    guard changed, let leaf else { return }
    leaf.show(fraction, isIndeterminate: false)
    if !succeeded { leaf.endUnsuccessfully() }
  }

  func ownerWasReleased() { _ = end(succeeded: false) }

  /// Ends the node, and lets go of the others.
  private func end(succeeded: Bool) -> (changed: Bool, leaf: FoundationProgress?, fraction: Double) {
    let (ended, result) = state.withLock { state in
      let ended = state
      let changed = state.progress.end(succeeded: succeeded)
      (state.parents, state.children, state.hub) = ([], [:], nil)
      return (ended, (changed, state.leaf, state.progress.fraction))
    }
    withExtendedLifetime(ended) {}  // released outside the lock
    return result
  }

  /// Passes a change to the hub, the leaf and the parents, and from there to further parents. A
  /// loop, because trees may be deep.
  private func propagate() {
    var next: ProgressNode? = self
    var further: [ProgressNode] = []
    while let node = next {
      let (fraction, parents, hub, leaf) = node.state.withLock { ($0.progress.fraction, $0.parents, $0.hub, $0.leaf) }
      leaf?.show(fraction, isIndeterminate: node.isIndeterminate)
      hub?.postProgress(fraction)
      next = nil
      for parent in parents {
        guard let node = parent.node, node.isChanged(parent.tag, to: fraction) else { continue }
        if next == nil { next = node } else { further.append(node) }
      }
      if next == nil { next = further.popLast() }
    }
  }
}

extension ProgressNode: CompositionMonitor {
  func composition(_ composition: Composition, didAdd child: Operation, tag: Int) {
    let isReshaped = updateShape()
    let weight = composition.work(standingFor: child)?.weightOfProgress
    let isCounted = weight.map { weight in state.withLock { $0.progress.added(tag, weight: weight) } }
    if isReshaped || isCounted == true { propagate() }
  }

  func composition(_ composition: Composition, willStart child: Operation, tag: Int) {
    if state.withLock({ $0.progress.misses(tag) }) { self.composition(composition, didAdd: child, tag: tag) }
    guard let work = composition.work(standingFor: child) else { return }
    var made: [SettlingOperation] = []
    link(work, tag, adding: &made)
    SettlingOperation.watchForProgress(made)
  }

  func composition(_ composition: Composition, didSettle child: Operation, tag: Int) {
    unlink(tag)
    guard let work = composition.work(standingFor: child) else { return }
    let ending = work.endingOfProgress
    // Other code started the child. The child continues, but is no longer awaited.
    if ending == nil { (work as? SettlingOperation)?.existingProgressNode?.forget(self, tag) }
    if state.withLock({ $0.progress.settled(tag, as: ending ?? .cancelled) }) { propagate() }
  }
}

extension Operation {
  fileprivate final var weightOfProgress: Double { (self as? SettlingOperation)?.progressWeight ?? 1 }

  /// The ending of the operation; nil until it has settled.
  fileprivate final var endingOfProgress: OperationState.Ending? {
    if let own = self as? SettlingOperation {
      let state = own.state.current
      return state.isSettled ? state.ending : nil
    }
    guard isFinished else { return nil }
    switch anyOutcome {
    case .success, nil: return .success
    case .failure: return .failure
    case .cancelled: return .cancelled
    }
  }
}
