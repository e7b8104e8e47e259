import Foundation
import ManagedOperations

extension Table {
  /// Tasks of a manager, each of one empty operation.
  static var managed: [Row] {
    let count = 10_000
    let peer = OperationQueuePeer.queue()
    let queue = OperationQueuePeer.queue()
    let rows: [(String, OperationManager, Double)] = [
      ("no interceptor, no reactor", Managed.manager(), 2),
      ("no interceptor, no reactor, on a given queue", Managed.manager(in: queue), 2),
      ("three interceptors", Managed.manager(interceptors: 3), 4),
    ]
    return rows.map { name, manager, limit in
      Row(
        section: "Managed tasks", name: name, against: "the operation added to an OperationQueue", count: count,
        budget: .atMost(limit),
        measurement: .comparison(
          subject: .async { await Managed.run(count, by: manager) },
          peer: .async { await Managed.runPeer(count, in: peer) }))
    } + [
      Row(
        section: "Managed tasks", name: "100,000 held in a batch and released", against: "100 batches of 1,000",
        count: 100_000, budget: .atMost(1.5), rounds: 3,
        measurement: .comparison(
          subject: .async { await Managed.runInABatch(of: 100_000) },
          peer: .async {
            for _ in 0..<100 { await Managed.runInABatch(of: 1_000) }
          }))
    ]
  }
}
