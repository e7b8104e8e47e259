import Foundation

extension Table {
  /// Composites in composites.
  static var nested: [Row] {
    let count = 10_000
    let queue = OperationQueuePeer.queue()
    return [
      Row(
        section: "Nested", name: "mixed trees of \(Figures.grouped(count)) leaves",
        against: "the leaves in an OperationQueue", count: count, budget: .atMost(0.6),
        measurement: .comparison(
          subject: .blocking { MixedTree.tree.run() },
          peer: .blocking {
            queue.addOperations(MixedTree.leaves.map { $0.makeOperation() }, waitUntilFinished: true)
          }))
    ]
  }

  /// How the cost of one child or step changes with their number.
  static var growth: [Row] {
    let children = sizes.map { count in
      Row(
        section: "Growth", name: name(count, "children"), count: count,
        measurement: .time(.blocking { Parallel.run(count) }))
    }
    let steps = sizes.map { count in
      Row(
        section: "Growth", name: name(count, "steps"), count: count,
        measurement: .time(.blocking { Sequential.run(count) }))
    }
    let nested = Row(
      section: "Growth", name: "1,000 composites × 100 children", count: 100_000,
      measurement: .time(.blocking { Parallel.runNested(outer: 1_000, inner: 100) }))
    return children + steps + [nested]
  }
}

/// The measured tree, generated when it is first needed.
private enum MixedTree {
  static let tree = Tree.random(leaves: 10_000)
  static let leaves = tree.leaves
}
