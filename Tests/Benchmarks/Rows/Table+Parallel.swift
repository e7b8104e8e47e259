import Foundation

extension Table {
  /// Parallel composites of empty children, against their peers.
  static var parallel: [Row] {
    againstOperationQueue + [underTheLock] + againstTaskGroup + onGivenQueue + blockChildren
  }

  private static var againstOperationQueue: [Row] {
    zip(sizes, [0.55, 0.40, 0.35, 0.35]).map { count, limit in
      let queue = OperationQueuePeer.queue()
      return Row(
        section: "Parallel", name: name(count, "children"), against: "OperationQueue", count: count,
        budget: .atMost(limit, aim: 0.25),
        measurement: .comparison(
          subject: .blocking { Parallel.run(count) },
          peer: .blocking { OperationQueuePeer.run(count, in: queue) {} }))
    }
  }

  /// What the dispenser saves: a limit, however high, has each child claimed under the lock.
  private static var underTheLock: Row {
    let count = 10_000
    return Row(
      section: "Parallel", name: "10,000 children with a limit of 1,000,000", against: "the same without a limit",
      count: count, budget: .atMost(1.6),
      measurement: .comparison(
        subject: .blocking { Parallel.runLimited(count) },
        peer: .blocking { Parallel.run(count) }))
  }

  private static var againstTaskGroup: [Row] {
    sizes.dropFirst().map { count in
      Row(
        section: "Parallel, awaited", name: name(count, "children"), against: "withTaskGroup", count: count,
        // Making and releasing the operations, Foundation's part, takes half of a task group's time
        // already.
        budget: .atMost(0.6, known: 1.0),
        measurement: .comparison(
          subject: .async { await Parallel.runAwaited(count) },
          peer: .async { await TaskGroupPeer.run(count) {} }))
    }
  }

  private static var onGivenQueue: [Row] {
    sizes.dropFirst().map { count in
      let queue = OperationQueuePeer.queue()
      return Row(
        section: "Parallel, on a given queue", name: name(count, "children"), against: "that OperationQueue alone",
        count: count, budget: .atMost(0.5),
        measurement: .comparison(
          subject: .blocking { Parallel.run(count, in: queue) },
          peer: .blocking { OperationQueuePeer.run(count, in: queue) {} }))
    }
  }

  private static var blockChildren: [Row] {
    let count = 10_000
    let queue = OperationQueuePeer.queue()
    return [
      Row(
        section: "Parallel, BlockOperation children", name: name(count, "children"), against: "OperationQueue",
        count: count, budget: .atMost(0.6),
        measurement: .comparison(
          subject: .blocking { Parallel.runBlocks(count) },
          peer: .blocking { OperationQueuePeer.run(count, in: queue) {} }))
    ]
  }
}
