public import Foundation

// Observers of an operation and of all that runs in it.

extension SettlingOperation {
  /// Adds an observer that is called with the events of the operation and of all operations in it.
  ///
  /// ```swift
  /// backup.addTreeObserver { operation, event in
  ///   if let outcome = event.outcome { log("\(operation.name ?? "operation"): \(outcome)") }
  /// }
  /// ```
  ///
  /// The operations in it are those that it runs, at any depth: children of composites, steps of
  /// sequences, attempts, waits of policies, tasks of workflows, plain operations. Operations that
  /// are made later are included. Operations that a body starts by itself are not included.
  ///
  /// For each operation inside, the observer first receives an event of the parent composition with
  /// the new ``OperationEvent/child``. Then it receives ``OperationEvent/Kind/started``, unless the
  /// operation never runs. Then it receives ``OperationEvent/Kind/settled``, before the `settled`
  /// of the parent composition, unless that was settled before its work had ended: by a timeout, or
  /// by your code. ``OperationEvent/Kind/cancelled`` comes for this operation only, and progress
  /// for none. There are no events for operations inside a composition that never runs.
  ///
  /// An operation that other code has started counts as started when a composition begins to wait
  /// for it. If the composition stops waiting before the operation has settled, there is no
  /// `settled`. If several compositions wait for the operation, there are events from each.
  ///
  /// The last event is `settled` of this operation. There are no events for work that ends later,
  /// such as work whose timeout settles at once.
  ///
  /// If the observer is added while the operation runs, it receives the events from then on, not
  /// earlier ones.
  ///
  /// Order, threads and removal are those of ``addObserver(_:)``, for the whole tree. The
  /// observer is called for one event at a time. It is called on the thread that caused the event,
  /// or on a thread that is calling the observers of this operation at that moment. So it may be
  /// called on a thread that does not run the operation of the event, and the state of that
  /// operation may have changed by then. The calling thread continues with its own work only when
  /// no event is left, so the observer should be quick. This operation keeps the observer until the
  /// operation has settled.
  ///
  /// - Parameter observer: the observer. Receives the operation and its event. Released after
  ///   `settled` of this operation, or when it is removed.
  /// - Returns: a token that removes the observer; it need not be kept.
  @discardableResult
  public final func addTreeObserver(
    _ observer: @escaping @Sendable (_ operation: Operation, _ event: OperationEvent) -> Void
  ) -> ObservationToken {
    let record = ObserverRecord(interests: [.tree, .stays]) { event, subject in
      if let subject { observer(subject.operation, event) }
    }
    return add(record)
  }
}

/// Notifies tree observers of the children of one composition, and watches the compositions inside.
///
/// A composition has one such monitor, for all tree observers of itself and of the compositions
/// around it. An operation that several compositions wait for may outlive these compositions. So
/// the hubs of settled operations are removed as further hubs come.
final class TreeObserverMonitor: CompositionMonitor, @unchecked Sendable {  // weak loads are atomic; set once in `init`
  private struct Hubs {
    var all: [ObserverHub] = []
    /// The count above which to look for hubs that are over.
    var limit = 8
  }

  private weak var owner: SettlingOperation?
  private let hubs = LockBox(Hubs())

  private init(of owner: SettlingOperation) {
    self.owner = owner
  }

  /// Returns the monitor of a composition, made if needed.
  static func ofSource(_ composition: Composition, of owner: SettlingOperation) -> TreeObserverMonitor {
    let monitor = composition.monitors.first(orAdding: TreeObserverMonitor(of: owner))
    monitor.forgetSettled()
    return monitor
  }

  /// Adds a hub. Returns false if it was added before. May be called inside the lock of the hub.
  func add(_ hub: ObserverHub) -> Bool {
    hubs.withLock { hubs in
      guard !hubs.all.contains(where: { $0 === hub }) else { return false }
      hubs.all.append(hub)
      return true
    }
  }

  /// Removes the hubs that are over, if there are many by now.
  func forgetSettled() {
    let all = hubs.withLock { $0.all.count > $0.limit ? $0.all : [] }
    guard !all.isEmpty else { return }
    // Under no lock: `isOver` may release the last reference to an operation.
    let settled = Set(all.filter(\.isOver).map(ObjectIdentifier.init))
    hubs.withLock { hubs in
      hubs.all.removeAll { settled.contains(ObjectIdentifier($0)) }
      hubs.limit = max(8, hubs.all.count * 2)
    }
    withExtendedLifetime(all) {}
  }

  /// The number of hubs, including those that are over and not removed yet.
  var hubCount: Int { hubs.withLock { $0.all.count } }

  private func forEachHub(_ body: (ObserverHub) -> Void) {
    for hub in hubs.withLock({ $0.all }) { body(hub) }
  }

  func composition(_ composition: Composition, didAdd child: Operation, tag: Int) {
    guard let owner else { return }
    forEachHub { $0.post(.childAdded(child), ofInner: owner) }
  }

  func composition(_ composition: Composition, willStart child: Operation, tag: Int) {
    forEachHub { hub in
      if let child = child as? SettlingOperation { hub.watchTree(of: child) }
      hub.post(.started, ofInner: child)
    }
  }

  func composition(_ composition: Composition, didSettle child: Operation, tag: Int) {
    // A child that other code started, and that is no longer awaited, may still run.
    let hasSettled = (child as? SettlingOperation)?.state.current.isSettled ?? child.isFinished
    let event: OperationEvent = hasSettled ? .settled(composition.outcome(of: child, tag: tag)) : .left
    forEachHub { $0.post(event, ofInner: child) }
  }
}

extension ObserverHub {
  fileprivate func post(_ event: OperationEvent, ofInner operation: Operation) {
    if state.withLock({ $0.postInner(event, of: operation) }) { deliver() }
  }

  /// Watches an operation for tree observers from now on. It is the operation of this hub, or
  /// inside that operation.
  func watchTree(of operation: SettlingOperation) {
    // A settled operation has no more events. An operation that several composites wait for may
    // have settled.
    guard !operation.state.current.isSettled else { return }
    guard let composition = operation.composition, watch(composition, of: operation, beginsWalk: true) else { return }
    // All are retained until the end, so that no identity is reused. A loop, because trees may be
    // deep.
    var found = [composition]
    var known: Set = [ObjectIdentifier(composition)]
    var next = 0
    while next < found.count {
      found[next].forEachChild { child, _ in
        // Children that wait are included, because their starts may have been reported already.
        guard !child.isFinished, let child = child as? SettlingOperation, let inner = child.composition,
          known.insert(ObjectIdentifier(inner)).inserted, watch(inner, of: child, beginsWalk: false)
        else { return }
        found.append(inner)
      }
      next += 1
    }
    state.withLock { $0.treeWalks -= 1 }
  }

  /// Watches one composition. Returns whether it must be searched now.
  ///
  /// - Parameter beginsWalk: whether the search begins with this composition.
  private func watch(_ composition: Composition, of owner: SettlingOperation, beginsWalk: Bool) -> Bool {
    let monitor = TreeObserverMonitor.ofSource(composition, of: owner)
    return state.withLock { state in
      // Another search that is under way may not yet have searched the compositions that it
      // watches. Without one, everything inside a watched composition is watched.
      let isWalking = state.treeWalks > (beginsWalk ? 0 : 1)
      // An operation that has not started is searched when it starts.
      guard monitor.add(self) || isWalking, owner.state.current.phase != .pending else { return false }
      if beginsWalk { state.treeWalks += 1 }
      return true
    }
  }
}
