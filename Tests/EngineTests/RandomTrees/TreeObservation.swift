import CompositeOperations
import Foundation

/// What one tree left behind when all of it had ended: the journal, and what its operations say of
/// themselves.
struct TreeObservation: Sendable {
  struct Node: Sendable {
    var isFinished = false
    var isCancelled = false
    var verdict: Verdict?
    /// The outcomes that a composite says its children had.
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
    // A plain operation may still be told that it was cancelled while it finishes. What its
    // composite saw counts.
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

  /// What the node's composite says it came to.
  func slot(of node: TreeIndex.Node) -> Verdict? {
    guard let parent = node.parent, let position = position(of: node) else { return nil }
    return position < nodes[parent].slots.count ? nodes[parent].slots[position] : nil
  }

  /// When the node settled. One that never ran and cannot say counts from when somebody wanted it
  /// cancelled.
  func settledTick(_ id: Int) -> Int {
    if index[id].spec.leaf?.kind == .settled { return 0 }
    if let settled = entries[id].settled.first?.tick { return settled }
    let queueCancel = queueCancels.first { index.isReached(id, by: $0.queue) }
    return min(entries[id].cancelRequests.first ?? Int.max, queueCancel?.began ?? Int.max)
  }

  // MARK: Who cancelled it

  /// Whether somebody may have called the node's `cancel()` before `tick`: the plan, the composite
  /// that owns it, or whoever cancelled that one.
  func mayHaveBeenCancelled(_ id: Int, before tick: Int) -> Bool {
    wasAskedToCancel(id, before: tick) || wasCancelledByParent(id, before: tick)
  }

  func wasAskedToCancel(_ id: Int, before tick: Int) -> Bool {
    entries[id].cancelRequests.contains { $0 < tick } || wasReachedByQueueCancel(id, before: tick)
  }

  /// Whether somebody cancelled all operations of a queue that the node's may have been in, or in a
  /// lane of.
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

  /// Whether the node itself was cancelled: it came to less than its children say, or somebody
  /// wanted it.
  func wasCancelled(_ id: Int) -> Bool {
    verdict(id) == .cancelled && mayHaveBeenCancelled(id, before: settledTick(id))
  }
}
