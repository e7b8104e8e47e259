/// The operations that were in a queue, or waited for it, during a `cancelAllOperations`.
///
/// Only certain answers count, so that the judge can rely on them: operations that may have come or
/// gone meanwhile are excluded.
extension TreeObservation {
  /// Whether the root was executing in that queue during the whole call.
  func rootIsInQueue(during queueCancel: TreeJournal.QueueCancel) -> Bool {
    // While a leaf ran, it cannot have settled.
    index.rootQueue == queueCancel.queue && index.nodes.contains { isLeaf($0) && runs($0.id, during: queueCancel) }
  }

  /// The leaves that ran in lanes of that queue during the whole call.
  ///
  /// If the root holds a slot of the queue, they may run in that. Then the root is cancelled, and
  /// they with it.
  func nodesThatRun(during queueCancel: TreeJournal.QueueCancel) -> [Int] {
    guard index.rootQueue != queueCancel.queue else { return [] }
    return index.nodes.filter { node in
      isLeaf(node) && node.queue == queueCancel.queue && runs(node.id, during: queueCancel)
    }.map(\.id)
  }

  /// Whether it is a leaf that the tree starts.
  private func isLeaf(_ node: TreeIndex.Node) -> Bool {
    node.spec.leaf.map { $0.kind != .executing } ?? false
  }

  private func runs(_ id: Int, during queueCancel: TreeJournal.QueueCancel) -> Bool {
    guard let begun = entries[id].begun.first else { return false }
    return begun < queueCancel.began && (entries[id].ended.first ?? Int.max) > queueCancel.ended
  }

  /// The leaves that waited for the only slot of that queue during the whole call, because another
  /// leaf held it.
  func nodesThatWait(during queueCancel: TreeJournal.QueueCancel) -> [Int] {
    guard plan.queues[queueCancel.queue] == 1 else { return [] }
    let running = Set(nodesThatRun(during: queueCancel))
    guard !running.isEmpty else { return [] }
    return index.nodes.flatMap { node -> [Int] in
      guard
        let parallel = node.spec.parallel, node.queue == queueCancel.queue, index.offersAtOnce(node.id),
        node.children.contains(where: running.contains)
      else { return [] }
      return zip(parallel.children, node.children).compactMap { child, id in
        guard child.isUnheldLeaf else { return nil }
        // It did not begin before: there is one slot, and it was taken.
        return (entries[id].begun.first ?? Int.max) > queueCancel.began && settledTick(id) > queueCancel.began
          ? id : nil
      }
    }
  }
}
