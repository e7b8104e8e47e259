public import Foundation

// Observers of an operation and of all that runs in it.

extension SettlingOperation {
  /// Tells an observer what happens, from now on, to the operation and to all operations in it, until this one has
  /// settled.
  ///
  /// ```swift
  /// backup.addTreeObserver { operation, event in
  ///   if let outcome = event.outcome { log("\(operation.name ?? "operation"): \(outcome)") }
  /// }
  /// ```
  ///
  /// The operations in it are those that it runs, however deep: children of composites, steps of sequences, attempts,
  /// what policies wait by, tasks of workflows, plain operations; also those that are made later. What an operation starts
  /// by itself, in its body, is not in it.
  ///
  /// Of each operation these events are told: the composition around it has a new ``OperationEvent/child``; then it has
  /// ``OperationEvent/Kind/started``, unless it never runs; then it has ``OperationEvent/Kind/settled``, before the
  /// composition around it has. ``OperationEvent/Kind/cancelled`` is told of this operation alone, and progress of none.
  /// Of what is inside a composition that never runs, nothing is told.
  /// One that other code has started counts as started when it begins to be waited for, and its end is not told if it is
  /// not waited for until then; one that several compositions wait for is told of by each of them. The end of this
  /// operation is the last event: what winds down after that, as work does whose timeout settles at once, is not told.
  ///
  /// Added while the operation runs, the observer is told of what happens from then on, and not of what has happened.
  ///
  /// Order, place and removal are those of ``addObserver(on:_:)``, for the whole tree: one event at a time, on the thread
  /// that made it happen, or on one that is just telling the observers of this operation something. So an observer without
  /// a queue may be told of the operations of one thread on another, and find them further on; the thread that tells goes
  /// on with its own work when nothing is left to tell, so the observer should be quick. It is kept by this operation, and
  /// released when this one has settled.
  ///
  /// - Parameters:
  ///   - queue: where to call the observer. It is called there one event after the other, whatever the queue's limit is.
  ///   - observer: the observer. Gets the operation that the event is of. Released when it has been told of the end of
  ///     this operation, or removed.
  /// - Returns: a token to remove the observer with, which need not be kept.
  @discardableResult
  public final func addTreeObserver(
    on queue: OperationQueue? = nil,
    _ observer: @escaping @Sendable (_ operation: Operation, _ event: OperationEvent) -> Void
  ) -> ObservationToken {
    let record = ObserverRecord(
      interests: [.tree, .stays], at: queue.map { .mailbox(.queue($0)) } ?? .anywhere
    ) { event, subject in
      if let subject { observer(subject.operation, event) }
    }
    return ObservationToken(record, in: add(record))
  }
}

/// Tells the tree observers of an operation of the children of one composition in it, and sees to it that they are told of
/// those inside, too.
private final class TreeMonitor: SourceMonitor, @unchecked Sendable {  // weak loads are atomic; set once in `init`
  let hub: ObserverHub
  private weak var owner: SettlingOperation?

  init(_ hub: ObserverHub, of owner: SettlingOperation) {
    self.hub = hub
    self.owner = owner
  }

  func source(_ source: WorkSource, didAdd child: Operation, tag: Int) {
    if let owner { hub.post(.childAdded(child), ofInner: owner) }
  }

  func source(_ source: WorkSource, willStart child: Operation, tag: Int) {
    if let child = child as? SettlingOperation { hub.watchTree(of: child) }
    hub.post(.started, ofInner: child)
  }

  func source(_ source: WorkSource, didSettle child: Operation, tag: Int) {
    // One that is another owner's, and no longer waited for, goes on.
    guard (child as? SettlingOperation)?.state.current.isSettled ?? child.isFinished else { return }
    hub.post(.settled(source.outcome(of: child, tag: tag)), ofInner: child)
  }
}

extension ObserverHub {
  fileprivate func post(_ event: OperationEvent, ofInner operation: Operation) {
    if postInner(event, of: operation) { deliver() }
  }

  /// Tells the tree observers of what happens from now on in an operation, which is this hub's or inside of it.
  func watchTree(of operation: SettlingOperation) {
    // Nothing happens any more in one that has settled, as what several composites wait for may have.
    guard !operation.state.current.isSettled else { return }
    guard let source = operation.source, watch(source, of: operation) else { return }
    // What has not started yet is watched when it does.
    guard operation.state.current.phase != .pending else { return }
    var pending = [source]
    // In a loop, for trees may be deep.
    while let source = pending.popLast() {
      source.forEachChild { child, _ in
        // Also one that waits: its start may have been told already.
        guard !child.isFinished, let child = child as? SettlingOperation, let inner = child.source,
          watch(inner, of: child), child.state.current.phase != .pending
        else { return }
        pending.append(inner)
      }
    }
  }

  /// False if the composition is watched already.
  private func watch(_ source: WorkSource, of owner: SettlingOperation) -> Bool {
    whileLocked {
      var isWatched = false
      source.monitors.forEach { monitor in
        if let monitor = monitor as? TreeMonitor, monitor.hub === self { isWatched = true }
      }
      if !isWatched { source.addMonitor(TreeMonitor(self, of: owner), isInherited: false) }
      return !isWatched
    }
  }
}
