import Foundation

extension Table {
  /// Operations by themselves, without a composite.
  static var single: [Row] {
    let queue = OperationQueuePeer.queue()
    return [
      Row(
        section: "One SimpleOperation through an OperationQueue", name: "one after the other",
        against: "a BlockOperation", count: 1_000, budget: .atMost(1.1),
        measurement: .comparison(
          subject: .blocking { Single.runOneByOne(1_000, in: queue) },
          peer: .blocking { OperationQueuePeer.runOneByOne(1_000, in: queue) })),
      Row(
        section: "One SimpleOperation through an OperationQueue", name: "10,000 added at once",
        against: "a BlockOperation", count: 10_000, budget: .atMost(1.1),
        measurement: .comparison(
          subject: .blocking { Single.run(10_000, in: queue) },
          peer: .blocking { OperationQueuePeer.run(10_000, in: queue) {} })),
      Row(
        section: "run()", name: "awaited one by one", against: "a continuation and a queue", count: 1_000,
        budget: .atMost(1.0),
        measurement: .comparison(
          subject: .async { await Single.awaitOneByOne(1_000) },
          peer: .async { await OperationQueuePeer.awaitOneByOne(1_000, in: queue) })),
    ]
  }
}
