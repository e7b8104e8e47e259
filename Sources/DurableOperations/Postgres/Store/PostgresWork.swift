#if os(macOS) || os(Linux)
import CompositeOperations

/// A transaction that is under way. What it has done is told when it has succeeded.
final class PostgresWork {
  let store: PostgresStore
  let connection: PostgresConnection
  /// Whether statements of the user's run in it.
  let isGuest: Bool
  private var hasBegun = false
  private var isCommitted = false
  private(set) var events: [JobEvent.Content] = []
  /// Set when a job became due by what was written.
  var hasFreedJobs = false
  /// In which lanes, and from which place on.
  private(set) var freed: [Int64: PostgresClaimCursors.Key] = [:]
  /// Lanes in which there is room again for what waits there.
  private var withRoom: Set<Int64> = []
  /// Set when something was changed that others know of kinds.
  var mayHaveChangedRules = false
  /// Set when a job that executes was asked to end.
  var hasCancelRequests = false

  init(_ store: PostgresStore, _ connection: PostgresConnection, isGuest: Bool = false) {
    self.store = store
    self.connection = connection
    self.isGuest = isGuest
  }

  var schema: SQL { store.schema }

  // MARK: - Statements

  /// A statement that is prepared once for each connection; beside statements of the user's, whose settings may be any, it is
  /// planned anew each time, so that no bad plan is kept.
  func statement(_ name: String, _ sql: @autoclosure () -> SQL) -> PostgresStatement {
    isGuest ? PostgresStatement(sql().text) : store.statement(name, sql())
  }

  /// Sends statements at once: a round trip. The first of them begin the transaction.
  ///
  /// - Parameter commits: whether they are the last ones.
  /// - Returns: the results, in the order of the pipeline, to which more may have been added before.
  @discardableResult
  func run(
    commits: Bool = false, _ build: (inout PostgresPipeline) throws -> Void
  ) throws -> [PostgresResult] {
    let boundary: PostgresPipeline.Boundary =
      hasBegun ? (commits ? .closing : .inside) : (commits ? .transaction : .opening)
    var pipeline = PostgresPipeline(boundary)
    if !hasBegun, let settings = store.settings(isGuest: isGuest) { pipeline.add(settings) }
    try build(&pipeline)
    let results = try connection.run(pipeline)
    hasBegun = true
    isCommitted = commits
    return results
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

  /// Runs one statement that is all of the transaction, and needs no plan that lasts: nothing is sent but that.
  func runAlone(
    _ name: String, _ sql: @autoclosure () -> SQL, _ bind: (inout PostgresParameters) throws -> Void
  ) throws -> PostgresResult {
    let statement = statement(name, sql())
    // Behind a pooler each transaction needs the settings of the session.
    guard store.options.pooler == .none else {
      var position = 0
      return try run(commits: true) { position = try $0.add(statement, bind) }[position]
    }
    var pipeline = PostgresPipeline(.implicit)
    try pipeline.add(statement, bind)
    let results = try connection.run(pipeline)
    (hasBegun, isCommitted) = (true, true)
    return results[0]
  }

  func commit() throws {
    guard hasBegun, !isCommitted else { return }
    try connection.run(PostgresPipeline(.closing))
    isCommitted = true
  }

  /// A job of a lane has become due: any, or one whose place is known.
  func free(_ lane: Int64, at key: PostgresClaimCursors.Key = .first) {
    freed[lane] = min(freed[lane] ?? key, key)
  }

  /// Fewer jobs execute of a kind that may have a limit.
  func makeRoom(ofKind name: String) {
    let limited = store.state.withLock { state -> Int64? in
      guard !state.limitedKinds.isEmpty, let kind = state.kindNumbers[KindName(name)] else { return nil }
      return state.limitedKinds.contains(kind) ? kind : nil
    }
    if let limited { withRoom.insert(JobLane.number(ofKind: limited)) }
  }

  // MARK: - Events

  /// Tells something when the transaction has succeeded.
  func tell(_ event: @autoclosure () -> JobEvent.Content) {
    if store.events.isHeard { events.append(event()) }
  }

  /// Tells that a job is dead when the transaction has succeeded, also if nobody listens.
  func tellDead(_ id: JobID, kind: String, error: any Error) {
    events.append(.dead(id, kind: kind, error: error))
  }

  /// The number of what is told so far, to go back to.
  var eventCount: Int { events.count }

  func forgetEvents(after count: Int) { events.removeLast(events.count - count) }

  func keepEvents(_ isKept: (JobEvent.Content) throws -> Bool) rethrows { events = try events.filter(isKept) }

  /// The transaction has succeeded.
  func tellAll() {
    if !freed.isEmpty { store.cursors.withLock { $0.free(freed) } }
    store.events.tell(all: events)
    store.notifier.notify(
      StoreNews(
        lanes: withRoom.union(freed.keys), hasCancelRequests: hasCancelRequests, isIncomplete: mayHaveChangedRules))
  }
}

extension EventHub {
  /// Tells what a transaction has done.
  func tell(all contents: [JobEvent.Content]) {
    for event in contents {
      if case .dead = event { report(event) } else { tell(event) }
    }
  }
}
#endif
