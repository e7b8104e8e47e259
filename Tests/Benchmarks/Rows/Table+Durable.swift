import DurableOperations

extension Table {
  /// Durable jobs against the same statements through SQLite's C functions in a bare loop.
  static var durable: [Row] {
    let modes: [(String, DurableQueue.Durability)] = [("normal", .normal), ("full", .full)]
    return modes.flatMap { name, mode -> [Row] in
      let subject = Durable.Lazy(mode)
      let single = mode == .full ? 500 : 2_000, many = mode == .full ? 5_000 : 10_000
      return [
        Row(
          section: "Durable jobs", name: "enqueue one at a time, .\(name)", against: "the same SQL in a bare loop",
          count: single, budget: .atMost(1 / 0.7),
          measurement: .comparison(
            subject: .blocking { subject.value.enqueue(single, inBatchesOf: 1) },
            peer: .blocking { subject.value.enqueueAtPeer(single, inBatchesOf: 1) })),
        Row(
          section: "Durable jobs", name: "enqueue in batches of 100, .\(name)", against: "the same SQL in a bare loop",
          count: many, budget: .atMost(1 / 0.7),
          measurement: .comparison(
            subject: .blocking { subject.value.enqueue(many, inBatchesOf: 100) },
            peer: .blocking { subject.value.enqueueAtPeer(many, inBatchesOf: 100) })),
        Row(
          section: "Durable jobs", name: "claim, run and acknowledge, .\(name)",
          against: "the same SQL in batches of 100", count: many, budget: .atMost(1 / 0.5),
          measurement: .comparison(
            subject: .async { await subject.value.run(many) }, peer: .blocking { subject.value.runAtPeer(many) })),
      ]
    } + [
      Row(
        section: "Durable jobs", name: "enqueue and run 1,000 with 1,000,000 stored", against: "with 1,000 stored",
        count: 1_000, budget: .atMost(1.5), rounds: 9,
        measurement: .comparison(
          subject: .async { await Durable.Lazy.million.value.enqueueAndRun(1_000) },
          peer: .async { await Durable.Lazy.thousand.value.enqueueAndRun(1_000) })),
      Row(
        section: "Durable jobs", name: "1,000,000 that wait, resident at most", count: 1_000_000, budget: .atMost(64),
        measurement: .mebibytes(.jobs)),
    ]
  }
}
