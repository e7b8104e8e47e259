#if os(macOS) || os(Linux)
import CompositeOperations

/// A transaction under way. Its events are reported when it has succeeded.
final class PostgresWork {
  let store: PostgresStore
  let connection: PostgresConnection
  /// Whether statements of the user run in it.
  let isGuest: Bool
  private var hasBegun = false
  /// Whether the statements failed that would have begun it. Another BEGIN would be another
  /// transaction.
  private var hasFailed = false
  private let ignoresSuspension: Bool
  /// Whether it was refused since the queue was suspended.
  private var isRefused = false
  private var isCommitted = false
  /// The report of its events, which begins before others can see what it stores.
  private var report: Int?
  private var events: [JobEvent.Content] = []
  /// Numbers of kinds that it may have stored itself, so that others do not see them yet.
  var uncommittedKindNumbers: [KindName: Int64] = [:]
  /// Set when its writes made a job due.
  var hasFreedJobs = false
  /// The lanes of these jobs, and the place from which on they are due.
  private(set) var freed: [Int64: PostgresClaimCursors.Key] = [:]
  /// Lanes with room again for waiting jobs.
  private var withRoom: Set<Int64> = []
  /// Set when a rule of a kind changed that other processes know.
  var mayHaveChangedRules = false
  /// Set when a job that executes was asked to end.
  var hasCancelRequests = false

  init(
    _ store: PostgresStore, _ connection: PostgresConnection, isGuest: Bool = false, ignoresSuspension: Bool = false
  ) {
    self.store = store
    self.connection = connection
    self.isGuest = isGuest
    self.ignoresSuspension = ignoresSuspension
  }

  deinit {
    if let report { store.events.endReport(report) }
  }

  var schema: SQL { store.schema }

  // MARK: - Statements

  /// A statement that each connection prepares once. Beside statements of the user, which may use
  /// any settings, it is planned anew each time, so that no bad plan is kept.
  func statement(_ name: String, _ sql: @autoclosure () -> SQL) -> PostgresStatement {
    isGuest ? PostgresStatement(sql().text) : store.statement(name, sql())
  }

  /// Sends statements in one round trip. The first of them begin the transaction.
  ///
  /// - Parameter commits: whether they are the last ones.
  /// - Returns: the results, in the order of the pipeline, to which more may have been added
  ///   before.
  @discardableResult
  func run(
    commits: Bool = false, _ build: (inout PostgresPipeline) throws -> Void
  ) throws -> [PostgresResult] {
    try requireNoFailure()
    try refuseWhileSuspended()
    let boundary: PostgresPipeline.Boundary =
      hasBegun ? (commits ? .closing : .inside) : (commits ? .transaction : .opening)
    var pipeline = PostgresPipeline(boundary)
    if !hasBegun, let settings = store.settings(isGuest: isGuest) { pipeline.add(settings) }
    try build(&pipeline)
    if commits { beginReport() }
    do {
      let results = try connection.run(pipeline)
      hasBegun = true
      isCommitted = commits
      return results
    } catch {
      hasFailed = !hasBegun
      throw error
    }
  }

  /// Throws if the transaction ended with its first statements, whose error other code has caught.
  private func requireNoFailure() throws(PostgresError) {
    guard hasFailed else { return }
    throw PostgresError(
      connection.isBroken ? .connectionLost : .transactionEnded, message: "its first statement failed",
      place: store.place)
  }

  /// Throws once the queue is suspended. Also when it was resumed since: a part of what was to be
  /// stored is missing.
  private func refuseWhileSuspended() throws {
    if !ignoresSuspension, !isRefused { isRefused = store.state.withLock { $0.isSuspended } }
    if isRefused { throw store.suspended }
  }

  /// Runs one statement.
  @discardableResult
  func run(
    _ name: String, _ sql: @autoclosure () -> SQL, _ bind: (inout PostgresParameters) throws -> Void = { _ in }
  ) throws -> PostgresResult {
    let statement = statement(name, sql())
    var position = 0
    return try run { position = try $0.add(statement, bind) }[position]
  }

  /// Runs one statement that is the whole transaction, and needs no lasting plan: nothing else is
  /// sent.
  func runAlone(
    _ name: String, _ sql: @autoclosure () -> SQL, _ bind: (inout PostgresParameters) throws -> Void
  ) throws -> PostgresResult {
    let statement = statement(name, sql())
    // Behind a pooler each transaction needs the settings of the session.
    guard store.options.pooler == .none else {
      var position = 0
      return try run(commits: true) { position = try $0.add(statement, bind) }[position]
    }
    try refuseWhileSuspended()
    var pipeline = PostgresPipeline(.implicit)
    try pipeline.add(statement, bind)
    beginReport()
    let results = try connection.run(pipeline)
    (hasBegun, isCommitted) = (true, true)
    return results[0]
  }

  func commit() throws {
    try requireNoFailure()
    if isCommitted { return }
    try refuseWhileSuspended()
    guard hasBegun else { return }
    beginReport()
    try connection.run(PostgresPipeline(.closing))
    isCommitted = true
  }

  /// Notes that a job of a lane has become due: any, or one with a known place.
  func free(_ lane: Int64, at key: PostgresClaimCursors.Key = .first) {
    freed[lane] = min(freed[lane] ?? key, key)
  }

  /// Notes that fewer jobs execute of a kind that may have a limit.
  func makeRoom(ofKind name: String) {
    let limited = store.state.withLock { state -> Int64? in
      guard !state.limitedKinds.isEmpty, let kind = state.kindNumbers[KindName(name)] else { return nil }
      return state.limitedKinds.contains(kind) ? kind : nil
    }
    if let limited { withRoom.insert(JobLane.number(ofKind: limited)) }
  }

  // MARK: - Events

  /// Reports an event when the transaction has succeeded.
  func tell(_ event: @autoclosure () -> JobEvent.Content) {
    if store.events.isHeard { events.append(event()) }
  }

  /// Reports a dead job when the transaction has succeeded, even if no stream of events is read.
  func tellDead(_ id: JobID, kind: String, error: any Error) {
    events.append(.dead(id, kind: kind, error: error))
  }

  /// The number of events so far, to go back to.
  var eventCount: Int { events.count }

  func forgetEvents(after count: Int) { events.removeLast(events.count - count) }

  private func beginReport() { report = report ?? store.events.beginReport() }

  /// Reports all events: the transaction has succeeded.
  func tellAll() {
    for (kind, number) in uncommittedKindNumbers { store.remember(kind: kind.text, number) }
    if !freed.isEmpty { store.cursors.withLock { $0.free(freed) } }
    store.events.tell(all: events)
    store.notifier.notify(
      StoreNews(
        lanes: withRoom.union(freed.keys), hasCancelRequests: hasCancelRequests, isIncomplete: mayHaveChangedRules))
  }
}

extension EventHub {
  /// Reports the events of a transaction.
  func tell(all contents: [JobEvent.Content]) {
    for event in contents {
      if case .dead = event { report(event) } else { tell(event) }
    }
  }
}
#endif
