import Foundation

extension Table {
  /// Sequences of empty steps, and the steps of long ones before other work gets its turn.
  static var sequential: [Row] {
    let counts = sizes.dropFirst()
    let section = "Sequence"
    let againstLoop = counts.map { count in
      Row(
        section: section, name: name(count, "steps"), against: "a bare loop", count: count,
        budget: .atMost(1.6, aim: 1.3, known: 2.8),
        measurement: .comparison(
          subject: .blocking { Sequential.run(count) },
          peer: .blocking {
            for _ in 0..<count { MinimalOperation().start() }
          }))
    }
    let againstSerialQueue = counts.map { count in
      let queue = OperationQueuePeer.queue(serial: true)
      return Row(
        section: section, name: name(count, "steps"), against: "a serial OperationQueue", count: count,
        budget: .atMost(0.18, known: 0.3),
        measurement: .comparison(
          subject: .blocking { Sequential.run(count) },
          peer: .blocking { OperationQueuePeer.run(count, in: queue) {} }))
    }
    let besideOthers = Row(
      section: "Beside four endless sequences", name: "steps of 50 µs before a trivial run() has ended", count: 1,
      budget: .atMost(300), measurement: .steps { await Sequential.stepsBeforeRun(tries: 41) })
    return againstLoop + againstSerialQueue + [besideOthers]
  }
}
