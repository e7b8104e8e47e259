#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

@testable import DurableOperations

/// Asks a store for all that it can do, so that it makes each of its statements.
struct StoreTour {
  private let harness: StoreHarness

  init(_ harness: StoreHarness) {
    self.harness = harness
  }

  func run() throws {
    try run(with: "a")
    try keepJobs()
    try manage()
    try lookAround()
    try runPeriodicJobs()
    try ask()
  }

  /// All that becomes of attempts.
  private func run(with kind: String) throws {
    let first = try harness.enqueue()
    let options = JobOptions(
      uniqueKey: UniqueKey("key", whenTaken: .replace), dependsOn: [first], whenPrerequisiteFails: .cancel)
    let jobs = [StoreHarness.job("a", options), StoreHarness.job("b", JobOptions(uniqueKey: UniqueKey("other")))]
    _ = try harness.enqueue(all: jobs)
    let claim = try harness.claim(["a": 1])
    guard let job = claim.jobs.first else { throw TestFailure(text: "nothing was claimed") }
    try harness.session { session in
      _ = try session.setCheckpoint(Data([1]), of: job.id, claim: job.claim)
      _ = try session.heartbeat(of: job.id, claim: job.claim, worker: harness.worker, lease: .seconds(60))
      try session.write([], keepsDone: true, abandoned: [job])
      try session.begin(resuming: harness.worker)
    }
    try harness.end(job.id, .again(after: .zero, isCharged: true, error: "it failed"))
    _ = try harness.claim(["a": 1])
    _ = try harness.session { try $0.setCheckpoint(nil, of: job.id, claim: job.claim + 1) }
    try harness.end(job.id, .done, keepsDone: false)
  }

  private func keepJobs() throws {
    let done = try harness.enqueue("c")
    _ = try harness.claim(["c": 1])
    try harness.end(done, .done, keepsDone: true)
    // Nothing is claimed by a worker that is no more, so that the queue asks first how much there
    // is.
    let left = try harness.enqueue("c")
    _ = try harness.claim(["c": 1])
    _ = try harness.session { try $0.cancel(left) }
    try harness.lose(.crashed, maxCrashes: 1)
    try harness.enqueue("c")
    let request = ClaimRequest(
      kinds: [(kind: try harness.session { try $0.number(ofKind: "c") }, limit: 2)], limit: 1, isOnline: true,
      mayRunAlone: true, furtherLimit: 2)
    _ = try harness.session { try harness.perform($0, claiming: request) }
    try harness.session { session in
      try session.giveBackJobs(of: harness.worker, after: [], keepsDone: true, within: .seconds(60))
    }
    try harness.takeIn()
    try harness.enqueue("d")
    _ = try harness.claim(["d": 1])
    try harness.lose(.crashed, maxCrashes: 1)
    try harness.takeIn()
  }

  private func manage() throws {
    let ids = try harness.enqueue(all: (0..<4).map { _ in StoreHarness.job("m") })
    try harness.session { session in
      try session.hold(ids[0])
      try session.retry(ids[0])
      try session.setPriority(.low, of: ids[0])
      _ = try session.setPriority(PriorityChange(major: 3, minor: nil), of: ids[...])
      _ = try session.cancel(ids[0])
      _ = try session.retry(ids[..<1], in: .cancelled)
      try session.delete(ids[0])
      var failed: Set<JobID> = []
      _ = try session.delete(ids[1...1], in: [.waiting], failed: &failed)
      try session.setPaused(true, kind: "m")
      try session.setPaused(false, kind: "m")
      try session.setLimit(3, kind: "m")
      _ = try session.kindRules()
    }
    _ = try harness.claim(["m": 1])
    _ = try harness.session { try $0.cancel(ids[2]) }
    _ = try harness.session { try $0.cancelRequests(worker: harness.worker) }
  }

  private func lookAround() throws {
    try harness.enqueue("s", JobOptions(start: .after(.seconds(1))))
    harness.now += 2000
    try harness.session { session in
      let kinds = [try session.number(ofKind: "s")]
      let everything = StoreAhead.Question(wantsFirstFinish: true, knownKinds: Set(kinds))
      _ = try session.look(StoreLook(worker: harness.worker, kinds: kinds, ahead: everything))
      _ = try session.ahead(everything)
      _ = try session.isBusy(with: kinds)
      _ = try session.isAnythingDue(of: kinds)
      _ = try session.prolongLease(of: harness.worker, by: .seconds(60), knowing: kinds)
      _ = try session.promote()
      _ = try session.prune(keeping: .zero)
      for kind in try session.unknownKinds(besides: []) { _ = try session.giveUp(kind, dueFor: .seconds(-1)) }
    }
    // One with a job, and one without.
    _ = try harness.session { try $0.leave(harness.worker) }
    try harness.takeIn()
    _ = try harness.session { try $0.leave(harness.worker) }
    try harness.takeIn()
  }

  private func runPeriodicJobs() throws {
    let options = JobOptions(uniqueKey: UniqueKey("tick"))
    let start = Date(milliseconds: harness.now)
    func schedule(every interval: Duration) throws {
      try harness.session {
        try $0.schedule(
          StoreHarness.job("p", options), named: "tick", .interval(interval, startingAt: start), .all)
      }
    }
    try schedule(every: .seconds(1))
    // Times that follow each other, of which the second finds the key taken.
    harness.now += 2000
    _ = try harness.session { try $0.enqueueOccurrences() }
    harness.now += 1000
    _ = try harness.session { try $0.enqueueOccurrences() }
    try schedule(every: .seconds(2))
    try harness.session { session in
      // As after a change of the rules of a zone.
      try session.transact {
        _ = try $0.execute("UPDATE \(harness.engine.table("periodic")) SET next_at = 1", [])
      }
      try session.updateNextOccurrences()
    }
    _ = try harness.session { try $0.periodicJobs() }
    _ = try harness.session { try $0.unschedule("tick") }
  }

  private func ask() throws {
    let id = try harness.enqueue()
    _ = try harness.claim(["a": 1])
    try harness.end(id, .dead("it failed"))
    try harness.session { session in
      _ = try session.facts()
      _ = try session.state(of: id)
      _ = try session.record(id)
      _ = try session.records(uniqueKey: "key", kind: "a")
      _ = try session.counts(registered: [])
      // As it is done with many jobs.
      _ = try (session as? PostgresSession)?.approximateCounts(pages: 1)
      _ = try session.knownKinds()
      _ = try session.workers()
    }
    // The names of kinds that another process has given numbers.
    if let access = harness.access as? PostgresAccess { access.store.state.withLock { $0.kindNames = [:] } }
    _ = try harness.record(id)
  }
}
#endif
