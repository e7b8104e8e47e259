import CompositeOperations
import Foundation

/// The state of one tree after its end: the journal, and the state of its operations.
struct TreeObservation: Sendable {
  struct Node: Sendable {
    var isFinished = false
    var isCancelled = false
    var verdict: Verdict?
    /// The outcomes of the children according to the composite.
    var slots: [Verdict?] = []
  }

  let plan: TreePlan
  let index: TreeIndex
  let entries: [TreeJournal.Entry]
  let queueCancels: [TreeJournal.QueueCancel]
  private(set) var nodes: [Node]

  init(_ harness: TreeHarness) {
    plan = harness.plan
    index = harness.index
    entries = harness.journal.entries
    queueCancels = harness.journal.queueCancels
    nodes = harness.index.nodes.map { node in
      guard let operation = harness[node.id] else { return Node() }
      return Node(
        isFinished: operation.isFinished, isCancelled: operation.isCancelled,
        verdict: operation.anyOutcome.map { Verdict($0) },
        slots: (operation as? CompositeOperation)?.childOutcomes.map { $0.map { Verdict($0) } } ?? [])
    }
    // A plain operation may still be cancelled while it finishes: the composite's view counts.
    for node in index.nodes where node.spec.leaf?.kind.isPlain == true {
      if let slot = slot(of: node) { nodes[node.id].verdict = slot }
    }
  }

  func verdict(_ id: Int) -> Verdict? { nodes[id].verdict }

  /// The position of a child among those of its composite: that of a step is the rank in which it
  /// was made.
  func position(of node: TreeIndex.Node) -> Int? {
    guard let parent = node.parent, let position = index[parent].children.firstIndex(of: node.id) else { return nil }
    return index[parent].spec.sequence == nil ? position : entries[parent].made.firstIndex(of: position)
  }

  /// The outcome of the node according to its composite.
  func slot(of node: TreeIndex.Node) -> Verdict? {
    guard let parent = node.parent, let position = position(of: node) else { return nil }
    return position < nodes[parent].slots.count ? nodes[parent].slots[position] : nil
  }

  /// When the node settled; for one that never ran and has no record, when it was to be cancelled.
  func settledTick(_ id: Int) -> Int {
    if index[id].spec.leaf?.kind == .settled { return 0 }
    if let settled = entries[id].settled.first?.tick { return settled }
    let queueCancel = queueCancels.first { index.isReached(id, by: $0.queue) }
    return min(entries[id].cancelRequests.first ?? Int.max, queueCancel?.began ?? Int.max)
  }

  // MARK: What cancelled it

  /// Whether the node may have been cancelled before `tick`: by the plan, by its composite, or with
  /// that.
  func mayHaveBeenCancelled(_ id: Int, before tick: Int) -> Bool {
    wasAskedToCancel(id, before: tick) || wasCancelledByParent(id, before: tick)
  }

  func wasAskedToCancel(_ id: Int, before tick: Int) -> Bool {
    entries[id].cancelRequests.contains { $0 < tick } || wasReachedByQueueCancel(id, before: tick)
  }

  /// Whether all operations of a queue were cancelled that may have contained the node's, directly
  /// or in a lane.
  func wasReachedByQueueCancel(_ id: Int, before tick: Int) -> Bool {
    queueCancels.contains { $0.began < tick && index.isReached(id, by: $0.queue) }
  }

  private func wasCancelledByParent(_ id: Int, before tick: Int) -> Bool {
    guard let parent = index[id].parent else { return false }
    if mayHaveBeenCancelled(parent, before: tick) { return true }
    func sibling(where condition: (Verdict) -> Bool) -> Bool {
      index[parent].children.contains { sibling in
        guard sibling != id, let verdict = verdict(sibling), condition(verdict) else { return false }
        return settledTick(sibling) < tick
      }
    }
    switch index[parent].spec {
    case .parallel(let parallel):
      return parallel.isMisuse || !parallel.waitsForAll && sibling { !$0.isSuccess }
    case .zip, .all:
      return sibling { !$0.isSuccess }
    case .forEach(_, _, let makeFailsAt, _):
      return sibling { !$0.isSuccess } || makeFailsAt != nil && makeFailed(parent)
    case .firstSuccess:
      return sibling { $0.isSuccess }
    case .leaf, .sequential, .map, .then, .recover:
      return false
    }
  }

  /// Whether the call of a `forEach`'s closure that throws was reached.
  func makeFailed(_ id: Int) -> Bool {
    entries[id].begun.count > entries[id].made.count
  }

  /// Whether the node itself was cancelled, by its outcome or by the plan.
  func wasCancelled(_ id: Int) -> Bool {
    verdict(id) == .cancelled && mayHaveBeenCancelled(id, before: settledTick(id))
  }
}
