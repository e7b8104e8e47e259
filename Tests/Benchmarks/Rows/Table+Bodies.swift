import Foundation

extension Table {
  /// Children that do something.
  static var bodies: [Row] {
    let count = 10_000
    let busy = [10, 100].map { microseconds in
      let queue = OperationQueuePeer.queue()
      let workload = Workload(microseconds: Double(microseconds))
      return Row(
        section: "Parallel, 10,000 children with bodies", name: "of \(microseconds) µs", against: "OperationQueue",
        count: count, budget: .atMost(1.05),
        measurement: .comparison(
          subject: .blocking { Parallel.run(count) { workload.run() } },
          peer: .blocking { OperationQueuePeer.run(count, in: queue) { workload.run() } }))
    }
    let suspending = Row(
      section: "Parallel, 10,000 children with bodies", name: "AsyncOperation that suspends once",
      against: "withTaskGroup", count: count, budget: .atMost(1.3, known: 2.4),
      measurement: .comparison(
        subject: .async { await Parallel.runAwaited(count) { await Task.yield() } },
        peer: .async { await TaskGroupPeer.run(count) { await Task.yield() } }))
    return busy + [suspending]
  }
}
