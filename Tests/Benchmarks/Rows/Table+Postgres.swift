import DurableOperations
import TestSupport

extension Table {
  /// Durable jobs on a server that this program starts, against the same statements through libpq's functions in a bare loop. None
  /// where there is no server to start.
  static var postgres: [Row] {
    #if os(macOS) || os(Linux)
    guard PostgresServer.isAvailable else { return [] }
    let section = "Durable jobs on PostgreSQL"
    let modes: [(String, DurableQueue.Durability)] = [("normal", .normal), ("full", .full)]
    return modes.flatMap { name, mode -> [Row] in
      let subject = Durable.Lazy(mode, on: .postgres)
      let single = 1_000, many = 10_000
      return [
        Row(
          section: section, name: "enqueue one at a time, .\(name)", against: "the same SQL in a bare loop",
          count: single,
          budget: .atMost(1 / 0.7, known: 4),
          measurement: .comparison(
            subject: .blocking { subject.value.enqueue(single, inBatchesOf: 1) },
            peer: .blocking { subject.value.enqueueAtPeer(single, inBatchesOf: 1) })),
        Row(
          section: section, name: "enqueue in batches of 100, .\(name)", against: "the same SQL in a bare loop",
          count: many, budget: .atMost(1.6),
          measurement: .comparison(
            subject: .blocking { subject.value.enqueue(many, inBatchesOf: 100) },
            peer: .blocking { subject.value.enqueueAtPeer(many, inBatchesOf: 100) })),
        Row(
          section: section, name: "claim, run and acknowledge, .\(name)", against: "the same SQL in rounds of 100",
          count: many, budget: .atMost(2, known: 4),
          measurement: .comparison(
            subject: .async { await subject.value.run(many) }, peer: .blocking { subject.value.runAtPeer(many) })),
      ]
    } + [
      Row(
        section: section, name: "enqueue and run 1,000 with 1,000,000 stored", against: "with 1,000 stored",
        count: 1_000,
        budget: .atMost(1.5), rounds: 9,
        measurement: .comparison(
          subject: .async { await millionOnServer.value.enqueueAndRun(1_000) },
          peer: .async { await thousandOnServer.value.enqueueAndRun(1_000) }))
    ]
    #else
    return []
    #endif
  }

  private static let millionOnServer = Durable.Lazy(.normal, on: .postgres, stored: 1_000_000)
  private static let thousandOnServer = Durable.Lazy(.normal, on: .postgres, stored: 1_000)
}
