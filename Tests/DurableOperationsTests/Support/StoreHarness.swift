import CompositeOperations
import CompositeOperationsTestKit
import Foundation

@testable import DurableOperations

/// A store whose jobs only the test runs, through the calls that a queue makes to any store.
final class StoreHarness {
  let engine: Engine
  let access: any StoreAccess
  let events: EventHub
  /// What the other processes know this one by.
  private(set) var worker: Int64 = 0
  private let clock = ManualClock()
  private let date: LockBox<Int64>

  /// - Parameters:
  ///   - location: a place of the engine's; nil for a new one.
  ///   - log: gets what is reported.
  init(
    on engine: Engine = .sqlite, at location: DurableQueue.Location? = nil,
    log: (@Sendable (JobEvent) -> Void)? = nil
  ) throws {
    self.engine = engine
    events = EventHub(log: log)
    let date = LockBox<Int64>(1_800_000_000_000)
    self.date = date
    var configuration = DurableQueue.Configuration()
    configuration.busyTimeout = .seconds(60)
    configuration.clock = JobClock(clock, now: { Date(milliseconds: date.withLock { $0 }) })
    access = try (location ?? engine.location()).openStore(configuration, events).writer
    worker = try takeIn()
  }

  /// The date, in milliseconds, which only the test changes. Time goes by until a later one, and
  /// the clock is set back to an earlier one.
  var now: Int64 {
    get { date.withLock { $0 } }
    set {
      if newValue > now { clock.advance(by: .milliseconds(newValue - now)) }
      date.withLock { $0 = newValue }
    }
  }

  /// Sets the clock, in no time.
  func setDate(_ date: Int64) { self.date.withLock { $0 = date } }

  static func job(_ kind: String = "a", _ options: JobOptions = JobOptions()) -> JobRequest {
    JobRequest(kind: kind, version: 1, payload: Data("{}".utf8), options: options, occurrence: nil)
  }

  static func acknowledgement(of id: JobID, claim: Int64 = 1, _ result: Acknowledgement.Result = .done)
    -> Acknowledgement
  {
    Acknowledgement(id: id, kind: "a", claim: claim, attempt: 1, result: result, event: .done(id, kind: "a"))
  }

  // MARK: - What a queue asks for

  func session<R>(_ body: (any StoreSession) throws -> R) throws -> R { try access.sync(body) }

  @discardableResult
  func enqueue(_ kind: String = "a", _ options: JobOptions = JobOptions()) throws -> JobID {
    try enqueue(all: [Self.job(kind, options)])[0]
  }

  func enqueue(all jobs: [JobRequest]) throws -> [JobID] { try session { try $0.enqueue([jobs])[0].get() } }

  /// Claims of these kinds, each with its limit, or of one.
  func claim(
    _ limits: KeyValuePairs<String, Int> = ["a": .max], limit: Int = 100, isOnline: Bool = true,
    mayRunAlone: Bool = true
  ) throws -> Claim {
    try claim(limits.map { ($0.key, $0.value) }, limit: limit, isOnline: isOnline, mayRunAlone: mayRunAlone)
  }

  func claim(
    _ limits: [(kind: String, limit: Int)], limit: Int, isOnline: Bool = true, mayRunAlone: Bool = true
  ) throws -> Claim {
    try session { session in
      let request = ClaimRequest(
        kinds: try limits.map { (kind: try session.number(ofKind: $0.kind), limit: $0.limit) }, limit: limit,
        isOnline: isOnline, mayRunAlone: mayRunAlone)
      return try perform(session, claiming: request)
    }
  }

  func claimed(_ limits: KeyValuePairs<String, Int> = ["a": .max], limit: Int = 100, isOnline: Bool = true) throws
    -> [JobID]
  {
    try claim(limits, limit: limit, isOnline: isOnline).jobs.map(\.id)
  }

  /// A round.
  @discardableResult
  func perform(
    _ session: any StoreSession, claiming request: ClaimRequest? = nil, ends: [Acknowledgement] = [],
    keepsDone: Bool = true
  ) throws -> Claim {
    let answer = try session.round(
      StoreRound(
        acknowledgements: ends, keepsDone: keepsDone, request: { request }, worker: worker, lease: .seconds(60),
        isLast: false))
    if let worker = answer.worker { self.worker = worker }
    return answer.claim
  }

  /// Writes the end of the attempt of the job that was claimed last. Returns whether the job no
  /// longer executes.
  @discardableResult
  func end(_ id: JobID, _ result: Acknowledgement.Result, keepsDone: Bool = true) throws -> Bool {
    let claim =
      try number("SELECT claim FROM \(engine.table("jobs")) WHERE id \(engine.equals) ?", .integer(id.rawValue)) ?? 0
    let end = Self.acknowledgement(of: id, claim: claim, result)
    _ = try session { try perform($0, ends: [end], keepsDone: keepsDone) }
    return try state(id) != .executing
  }

  /// Claims a job that is the only one that can be, and ends it.
  func run(_ id: JobID, _ result: Acknowledgement.Result = .done, keepsDone: Bool = true) throws {
    guard try claimed(limit: 1) == [id] else { throw TestFailure(text: "another job came first") }
    try end(id, result, keepsDone: keepsDone)
  }

  /// Makes another process take this one for lost. Returns whether jobs were taken from it.
  @discardableResult
  func lose(_ loss: WorkerLoss, maxCrashes: Int? = nil, maxLapses: Int? = nil) throws -> Bool {
    let until = try number(
      "SELECT lease_until FROM \(engine.table("workers")) WHERE id \(engine.equals) ?", .integer(worker))
    guard let until else { return false }
    let row = WorkerRow(id: worker, identity: .current, lease: 60_000, leaseUntil: until)
    return try session {
      try $0.rescue(
        LostWorkers(workers: [(row, loss)], orphaning: [], maxCrashes: maxCrashes, maxLapses: maxLapses))
    }
  }

  func retryAll(_ state: JobState) throws -> Int {
    try session { session in
      let ids = try session.retriable(state, kind: nil)
      return try session.retry(ids[...], in: state)
    }
  }

  func state(_ id: JobID) throws -> JobState? { try session { try $0.state(of: id) } }

  func record(_ id: JobID) throws -> JobRecord? { try session { try $0.record(id) } }

  func counts() throws -> JobCounts { try session { try $0.counts(registered: []) } }

  /// Why the error is thrown that something throws.
  func reason(_ body: () throws -> Void) -> JobError.Reason? { jobErrorReason(body) }

  // MARK: - Rows

  /// Runs a statement, as users can.
  @discardableResult
  func execute(_ sql: String, _ values: SQLValue...) throws -> [SQLRow] {
    try session { try $0.transact { try $0.execute(sql, values) } }
  }

  func number(_ sql: String, _ values: SQLValue...) throws -> Int64? {
    try session { try $0.transact { try $0.execute(sql, values) } }.first?[0].integerValue
  }

  /// Has this process be one that runs jobs.
  ///
  /// - Parameter number: what it is to be known by; nil for the next one.
  @discardableResult
  func takeIn(_ number: Int64? = nil) throws -> Int64 {
    let identity = ProcessIdentity.current
    let row: [(column: String, value: SQLValue)] = [
      ("boot", .text(identity.bootID)), ("namespace", SQLValue(identity.pidNamespace)),
      ("host", .text(identity.hostName)),
      ("process", .integer(identity.processID)), ("started", .integer(identity.startTime)), ("lease", 60_000),
      ("lease_until", .integer(now + 60_000)),
    ]
    let all = row + (number.map { [("id", .integer($0))] } ?? [])
    let columns = all.map(\.column).joined(separator: ", ")
    let places = all.map { _ in "?" }.joined(separator: ", ")
    let overriding = engine == .postgres ? "OVERRIDING SYSTEM VALUE" : ""
    try session { session in
      worker =
        try session.transact {
          try $0.execute(
            "INSERT INTO \(engine.table("workers")) (\(columns)) \(overriding) VALUES (\(places)) RETURNING id",
            all.map(\.value))
        }[0][0].integerValue ?? 0
    }
    #if os(macOS) || os(Linux)
    if let access = access as? PostgresAccess {
      try execute("INSERT INTO rounds (worker, epoch, number) VALUES (?, 0, 0)", .integer(worker))
      access.store.numbers.withLock { $0.begin(worker) }
    }
    #endif
    return worker
  }
}

// MARK: - SQLite's own

extension StoreHarness {
  /// What is behind the session, for tests of SQLite alone.
  var store: SQLiteStore {
    do { return try access.withSQLite { $0 } } catch { preconditionFailure("\(error)") }
  }

  func change<R>(_ body: (SQLiteStore) throws -> R) throws -> R {
    let store = store
    return try store.transaction { try body(store) }
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
