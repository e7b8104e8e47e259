import CompositeOperations
import CompositeOperationsTestKit
import Foundation

@testable import DurableOperations

/// A store in memory whose jobs nobody runs but the test.
final class StoreHarness {
  let store: SQLiteStore
  private let date: LockBox<Int64>
  private(set) var worker: Int64 = 0
  let events: EventHub

  /// - Parameter log: gets what is reported.
  init(log: (@Sendable (JobEvent) -> Void)? = nil) throws {
    events = EventHub(log: log)
    let date = LockBox<Int64>(1_800_000_000_000)
    self.date = date
    var configuration = DurableQueue.Configuration()
    configuration.clock = JobClock(ManualClock(), now: { Date(milliseconds: date.withLock { $0 }) })
    store = try SQLiteStore(path: ":memory:", configuration: configuration, events: events, mustExist: false)
    worker = try store.transaction { try store.addWorker(.current, lease: 60_000) }
  }

  /// The date, in milliseconds, which only the test changes.
  var now: Int64 {
    get { date.withLock { $0 } }
    set { date.withLock { $0 = newValue } }
  }

  static func job(_ kind: String = "a", _ options: JobOptions = JobOptions()) -> JobRequest {
    JobRequest(kind: kind, version: 1, payload: Data("{}".utf8), options: options, occurrence: nil)
  }

  static func acknowledgement(of id: JobID, claim: Int64 = 1, _ result: Acknowledgement.Result = .done)
    -> Acknowledgement
  {
    Acknowledgement(id: id, kind: "a", claim: claim, attempt: 1, result: result, event: .done(id, kind: "a"))
  }

  @discardableResult
  func enqueue(_ kind: String = "a", _ options: JobOptions = JobOptions()) throws -> JobID {
    try enqueue(all: [Self.job(kind, options)])[0]
  }

  func enqueue(all jobs: [JobRequest]) throws -> [JobID] {
    try store.transaction { try store.enqueue(jobs) }
  }

  /// Claims of these kinds, each with its limit, or of one.
  func claim(
    _ limits: KeyValuePairs<String, Int> = ["a": .max], limit: Int = 100, isOnline: Bool = true,
    mayRunAlone: Bool = true
  ) throws -> Claim {
    try store.transaction {
      try store.claim(
        ClaimRequest(
          kinds: try limits.map { (kind: try store.kindID($0.key), limit: $0.value) }, limit: limit, isOnline: isOnline,
          mayRunAlone: mayRunAlone, worker: worker))
    }
  }

  func claimed(_ limits: KeyValuePairs<String, Int> = ["a": .max], limit: Int = 100, isOnline: Bool = true) throws
    -> [JobID]
  {
    try claim(limits, limit: limit, isOnline: isOnline).jobs.map(\.id)
  }

  /// Writes how the attempt of a job that was claimed last has ended.
  @discardableResult
  func end(_ id: JobID, _ result: Acknowledgement.Result, keepsDone: Bool = true) throws -> Bool {
    let claim = try store.connection.execute("SELECT claim FROM durable_jobs WHERE id = ?", [.integer(id.rawValue)])
    let acknowledgement = Self.acknowledgement(of: id, claim: claim[0][0].integerValue ?? 0, result)
    return try store.transaction { try store.acknowledge(acknowledgement, keepsDone: keepsDone) }
  }

  /// Claims a job that is the only one that can be, and ends it.
  func run(_ id: JobID, _ result: Acknowledgement.Result = .done, keepsDone: Bool = true) throws {
    guard try claimed(limit: 1) == [id] else { throw TestFailure(text: "another job came first") }
    try end(id, result, keepsDone: keepsDone)
  }

  func retryAll(_ state: JobState) throws -> Int {
    let ids = try store.retriable(state, kind: nil)
    return try change { try $0.retry(ids[...], in: state) }
  }

  func change<R>(_ body: (SQLiteStore) throws -> R) throws -> R {
    try store.transaction { try body(store) }
  }

  func state(_ id: JobID) throws -> JobState? { try store.state(of: id) }

  func record(_ id: JobID) throws -> JobRecord? { try store.record(id) }

  /// Why the error is thrown that something throws.
  func reason(_ body: () throws -> Void) -> JobError.Reason? {
    do {
      try body()
      return nil
    } catch {
      return (error as? JobError)?.reason
    }
  }
}

extension DurableQueue.Configuration {
  /// With a date that does not go on, in milliseconds.
  static func standingStill(at date: Int64) -> Self {
    var configuration = Self()
    configuration.clock = JobClock(ManualClock(), startingAt: Date(milliseconds: date))
    return configuration
  }
}
