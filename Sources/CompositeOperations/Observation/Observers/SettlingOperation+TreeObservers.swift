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

/// Tells tree observers of the children of one composition, and sees to it that they are told of those inside, too.
///
/// A composition has one, for all operations around it, and itself, that have tree observers. What several compositions
/// wait for may outlive any number of them, so those that have settled are forgotten as others come.
final class TreeObserverMonitor: SourceMonitor, @unchecked Sendable {  // weak loads are atomic; set once in `init`
  private struct Hubs {
    var all: [ObserverHub] = []
    /// At how many those are to be looked for that have no more to tell.
    var limit = 8
  }

  private weak var owner: SettlingOperation?
  private let hubs = LockBox(Hubs())

  private init(of owner: SettlingOperation) {
    self.owner = owner
  }

  /// The one of a composition.
  static func ofSource(_ source: WorkSource, of owner: SettlingOperation) -> TreeObserverMonitor {
    let monitor = source.monitors.first(orAdding: TreeObserverMonitor(of: owner))
    monitor.forgetSettled()
    return monitor
  }

  /// False if the hub is told already. May be called inside its lock.
  func add(_ hub: ObserverHub) -> Bool {
    hubs.withLock { hubs in
      guard !hubs.all.contains(where: { $0 === hub }) else { return false }
      hubs.all.append(hub)
      return true
    }
  }

  /// Gives up those hubs that have no more to tell, if there are many by now.
  func forgetSettled() {
    let all = hubs.withLock { $0.all.count > $0.limit ? $0.all : [] }
    guard !all.isEmpty else { return }
    // Under no lock, for who asks may be the last to release an operation.
    let settled = Set(all.filter(\.isOver).map(ObjectIdentifier.init))
    hubs.withLock { hubs in
      hubs.all.removeAll { settled.contains(ObjectIdentifier($0)) }
      hubs.limit = max(8, hubs.all.count * 2)
    }
    withExtendedLifetime(all) {}
  }

  /// How many are told, or were told and are not forgotten yet.
  var hubCount: Int { hubs.withLock { $0.all.count } }

  private func forEachHub(_ body: (ObserverHub) -> Void) {
    for hub in hubs.withLock({ $0.all }) { body(hub) }
  }

  func source(_ source: WorkSource, didAdd child: Operation, tag: Int) {
    guard let owner else { return }
    forEachHub { $0.post(.childAdded(child), ofInner: owner) }
  }

  func source(_ source: WorkSource, willStart child: Operation, tag: Int) {
    forEachHub { hub in
      if let child = child as? SettlingOperation { hub.watchTree(of: child) }
      hub.post(.started, ofInner: child)
    }
  }

  func source(_ source: WorkSource, didSettle child: Operation, tag: Int) {
    // One that is another owner's, and no longer waited for, goes on.
    guard (child as? SettlingOperation)?.state.current.isSettled ?? child.isFinished else { return }
    let outcome = source.outcome(of: child, tag: tag)
    forEachHub { $0.post(.settled(outcome), ofInner: child) }
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
    guard let source = operation.source, beginWalk(from: source, of: operation) else { return }
    // All are kept until the end, so that no other has the identity of one of them. In a loop, for trees may be deep.
    var found = [source]
    var known: Set = [ObjectIdentifier(source)]
    var next = 0
    while next < found.count {
      found[next].forEachChild { child, _ in
        // Also one that waits: its start may have been told already.
        guard !child.isFinished, let child = child as? SettlingOperation, let inner = child.source,
          known.insert(ObjectIdentifier(inner)).inserted, watch(inner, of: child)
        else { return }
        found.append(inner)
      }
      next += 1
    }
    whileLocked { $0.treeWalks -= 1 }
  }

  /// False if there is nothing to look for in a composition now.
  private func beginWalk(from source: WorkSource, of owner: SettlingOperation) -> Bool {
    let monitor = TreeObserverMonitor.ofSource(source, of: owner)
    return whileLocked { state in
      guard watch(owner, by: monitor, isWalking: state.treeWalks > 0) else { return false }
      state.treeWalks += 1
      return true
    }
  }

  /// The same in a walk that has begun.
  private func watch(_ source: WorkSource, of owner: SettlingOperation) -> Bool {
    let monitor = TreeObserverMonitor.ofSource(source, of: owner)
    return whileLocked { watch(owner, by: monitor, isWalking: $0.treeWalks > 1) }
  }

  /// - Parameter isWalking: whether another walk is under way. In what one of those has found it may not have looked yet;
  ///   else all is watched in what is watched.
  private func watch(_ owner: SettlingOperation, by monitor: TreeObserverMonitor, isWalking: Bool) -> Bool {
    guard monitor.add(self) || isWalking else { return false }
    // What has not started yet is watched when it does.
    return owner.state.current.phase != .pending
  }
}
