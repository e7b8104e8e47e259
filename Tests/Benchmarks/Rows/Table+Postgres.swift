import DurableOperations
import TestSupport

extension Table {
  /// Durable jobs on a server that this program starts, against the same statements through libpq's
  /// functions in a bare loop. Empty if there is no server to start.
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
    } + together(section) + latencies(section) + [
      Row(
        section: section, name: "enqueue and run 1,000 with 1,000,000 stored", against: "with 1,000 stored",
        count: 1_000,
        budget: .atMost(1.5), rounds: 9,
        measurement: .comparison(
          subject: .async { await millionOnServer.value.enqueueAndRun(1_000) },
          peer: .async { await thousandOnServer.value.enqueueAndRun(1_000) })),
      Row(
        section: section, name: "rounds of 10 with 1,000,000 stored", against: "with 1,000 stored",
        count: 1_000, budget: .atMost(1.5), rounds: 9,
        measurement: .comparison(
          subject: .async { await millionInTens.value.enqueueAndRun(1_000) },
          peer: .async { await thousandInTens.value.enqueueAndRun(1_000) })),
      Row(
        section: section, name: "rounds of 10 behind 100,000 dead jobs", against: "none dead, no old snapshot",
        count: 1_000, budget: .atMost(3), rounds: 9,
        measurement: .comparison(
          subject: .async { await shared(BehindDeadJobs.shared).durable.run(1_000) },
          peer: .async { await inTens.value.run(1_000) })),
    ]
    #else
    return []
    #endif
  }

  #if os(macOS) || os(Linux)
  /// The client's processor time for one job, and for many at the same time.
  private static func together(_ section: String) -> [Row] {
    let subject = Durable.Lazy(.normal, on: .postgres)
    let four = Durable.Lazy { try Durable(.normal, on: .postgres, workers: 4) }
    let single = 1_000, many = 10_000, crowded = 1_600
    return [
      Row(
        section: section, name: "enqueue one at a time, processor time", against: "the same SQL in a bare loop",
        count: single, budget: .atMost(60 / 15),  // µs
        measurement: .comparison(
          subject: .processor { subject.value.enqueue(single, inBatchesOf: 1) },
          peer: .processor { subject.value.enqueueAtPeer(single, inBatchesOf: 1) })),
      Row(
        section: section, name: "enqueue on 16 threads, with wake-ups", against: "16 bare loops without",
        count: crowded, budget: .atMost(1 / 0.8, known: 4),
        measurement: .comparison(
          subject: .blocking { shared(Crowd.sixteen).enqueue(crowded) },
          peer: .blocking { shared(Crowd.sixteen).enqueueAtPeer(crowded) })),
      Row(
        section: section, name: "claim, run and acknowledge, 4 workers", against: "4 loops in rounds of 100",
        count: many, budget: .atMost(2, known: 4),
        measurement: .comparison(
          subject: .async { await four.value.run(many) }, peer: .blocking { four.value.runAtPeer(many) })),
    ]
  }

  /// From one queue to another one.
  private static func latencies(_ section: String) -> [Row] {
    [("p50", 0.5, 3 / 1.1), ("p99", 0.99, 15 / 3.7)].map { name, fraction, limit in
      Row(
        section: section, name: "enqueue to start on an idle queue, \(name)", against: "LISTEN and NOTIFY by hand",
        count: 1, budget: .atMost(limit), rounds: 5,
        measurement: .quantile(
          fraction, subject: { shared(Delivery.shared).times(20) }, peer: { shared(Delivery.shared).timesAtPeer(20) }))
    }
  }

  private static func shared<T>(_ result: Result<T, any Error>) -> T {
    do { return try result.get() } catch { preconditionFailure("\(error)") }
  }
  #endif

  private static let millionOnServer = Durable.Lazy(.normal, on: .postgres, stored: 1_000_000)
  private static let thousandOnServer = Durable.Lazy(.normal, on: .postgres, stored: 1_000)
  private static let millionInTens = Durable.Lazy { try Durable(like: millionOnServer.value, inRoundsOf: 10) }
  private static let thousandInTens = Durable.Lazy { try Durable(like: thousandOnServer.value, inRoundsOf: 10) }
  private static let inTens = Durable.Lazy { try Durable(.normal, on: .postgres, stored: 20_000, inRoundsOf: 10) }
}
