#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// The stored jobs of one schema: the state that all sessions of a queue share.
final class PostgresStore: Sendable {
  /// For rounds and looks, one at a time.
  let rounds: PostgresConnectionPool
  /// For calls of the user. The same pool where one connection serves everything.
  let callers: PostgresConnectionPool
  let options: PostgresOptions
  let configuration: DurableQueue.Configuration
  let events: EventHub
  /// The server and the database, and the schema unless it has the usual name.
  let place: String
  /// The name of the schema, quoted.
  let schema: SQL
  let state = LockBox(State())
  private let statements = LockBox<[String: PostgresStatement]>([:])
  /// What is known about the rounds of this process.
  let numbers = LockBox(PostgresRoundState())
  /// Where claims begin.
  let cursors: LockBox<PostgresClaimCursors>
  /// Where reading begins for scheduled jobs, and for ended ones.
  let scheduled: LockBox<PostgresFrontCursor>
  let finished: LockBox<PostgresFrontCursor>
  /// Tells other processes what they could do.
  let notifier: PostgresNotifier

  struct State {
    var kindNumbers: [KindName: Int64] = [:]
    var kindNames: [Int64: String] = [:]
    /// The kinds with a limit over all processes, as far as is known.
    var limitedKinds: Set<Int64> = []
    var isSuspended = false
    /// The connections in use, to interrupt them.
    var active: [ObjectIdentifier: PostgresConnection] = [:]
    /// Those who use them, since the queue was resumed last.
    var calls = DispatchGroup()
    /// The requests to cancel something that are on their way, and the time limit of the last one.
    let requests = DispatchGroup()
    var requestLimit: PostgresDeadline?
    /// What waits for these requests, and holds rounds and looks meanwhile.
    var requestWait: PostgresRequestWait?
    /// The threads on which closures of the user run inside a transaction.
    var transacting: Set<UInt> = []
    /// Since when rounds and looks have a connection again after they had none; nil if they have
    /// none.
    var connectedSince: ContinuousClock.Instant?
  }

  init(
    _ connection: PostgresConfiguration, place: String, options: PostgresOptions,
    configuration: DurableQueue.Configuration, events: EventHub, slow: Duration? = nil
  ) {
    let others = options.maxConnections - 1
    rounds = PostgresConnectionPool(connection, maxConnections: 1)
    callers = others > 0 ? PostgresConnectionPool(connection, maxConnections: others) : rounds
    self.options = options
    self.configuration = configuration
    self.events = events
    self.place = place
    schema = SQL(stringLiteral: PostgresStatement.identifier(options.schema))
    let slow = slow ?? Self.slow(configuration)
    cursors = LockBox(PostgresClaimCursors(slow: slow))
    scheduled = LockBox(PostgresFrontCursor(slow: slow))
    finished = LockBox(PostgresFrontCursor(slow: slow))
    notifier = PostgresNotifier(
      channel: options.schema, pool: callers, listener: Self.listener(connection, options))
  }

  /// Where to listen; nil for nowhere.
  private static func listener(_ connection: PostgresConfiguration, _ options: PostgresOptions)
    -> PostgresConfiguration?
  {
    var listener = connection
    switch options.listens.value {
    case .no: return nil
    // A pooler accepts LISTEN, but delivers nothing.
    case .yes: return options.pooler == .none ? connection : nil
    case .at(let url):
      listener.url = url
      listener.isPooled = false
      return listener
    }
  }

  func close() {
    notifier.close()
    rounds.close()
    callers.close()
  }

  // MARK: - Statements

  /// A statement that each connection prepares once, by a name that says what it does. Whatever its
  /// text depends on stays the same for the life of this object.
  func statement(_ name: String, _ sql: @autoclosure () -> SQL) -> PostgresStatement {
    statements.withLock { statements in
      if let known = statements[name] {
        assert(known.sql == sql().text, "Two statements have the name \(name)")
        return known
      }
      let statement = PostgresStatement(sql().text, name: "composite_operations_\(name)")
      statements[name] = statement
      return statement
    }
  }

  /// The statements made so far, for tests of how the server runs them.
  var madeStatements: [PostgresStatement] { statements.withLock { Array($0.values) } }

  /// Makes plans independent of the statistics at planning time: a plan for an empty table is kept.
  static let plans = [
    "enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "jit",
  ]

  /// Where the queue's own transactions and functions look names up: a role that may create
  /// functions in a schema of the session's path could have its own run by the role of the queue.
  ///
  /// What runs in a transaction of the user's, or alone, meets the path of the session. There types
  /// and operators have their schemas, too, as functions have everywhere.
  static let searchPath = "pg_catalog, pg_temp"

  /// The settings at the beginning of a transaction.
  ///
  /// - Parameter isGuest: whether it runs statements of the user, whose plans and names are the
  ///   user's.
  func settings(isGuest: Bool) -> PostgresStatement? {
    let ofSession = options.pooler == .transaction ? sessionSettings : []
    if isGuest { return ofSession.isEmpty ? nil : .settingLocally(ofSession, name: "composite_operations_guest") }
    // Otherwise the server would make a plan for the values of each call, which takes as long as
    // the claim of some jobs; all plans are the same for any values.
    let keepsPlans = ("plan_cache_mode", "force_generic_plan")
    // A process that stands still between two statements would keep its locks for ever.
    let patience = ("idle_in_transaction_session_timeout", Self.timeout(options.statementTimeout))
    return .settingLocally(
      [("search_path", Self.searchPath)] + Self.plans.map { ($0, "off") } + [keepsPlans] + ofSession + [patience],
      name: "composite_operations_settings")
  }

  /// The settings of each connection, or, behind a pooler, of each transaction.
  var sessionSettings: [(name: String, value: String)] {
    Self.sessionSettings(options, configuration)
  }

  static func sessionSettings(
    _ options: PostgresOptions, _ configuration: DurableQueue.Configuration
  ) -> [(name: String, value: String)] {
    [
      ("synchronous_commit", configuration.durability == .full ? "on" : "off"),
      ("lock_timeout", timeout(configuration.busyTimeout)),
      ("statement_timeout", statementTimeout(within: options.statementTimeout)),
    ]
  }

  /// How long the server works on a statement. It must give up before the client: otherwise a slow
  /// statement would look like a lost connection.
  static func statementTimeout(within patience: Duration) -> String { timeout(patience * 9 / 10) }

  /// A duration as a setting. Zero would mean for ever.
  private static func timeout(_ duration: Duration) -> String {
    String(min(max(duration.milliseconds, 1), Int64(Int32.max)))
  }

  /// Adds a statement that sets how long the transaction waits for locks of others from then on.
  func add(waitFor patience: Duration, to pipeline: inout PostgresPipeline) throws {
    try pipeline.add(statement("patience", "SELECT pg_catalog.set_config('lock_timeout', $1, true)")) {
      try $0.bind(Self.timeout(patience))
    }
  }

  /// From here on, reading the front of an index is slow. Not by a test's clock: a machine that is
  /// busy for a moment then does not change when something is seen.
  private static func slow(_ configuration: DurableQueue.Configuration) -> Duration {
    configuration.clock.isMachines ? .milliseconds(5) : .seconds(1_000_000)
  }

  /// The time until claims begin at the front again though that is slow.
  var timeBetweenFronts: Duration { configuration.pollInterval ?? .seconds(1) }

  // MARK: - Time

  /// The time in microseconds. A distant server does not count as slow.
  var clock: PostgresStatement {
    statement("clock", "SELECT (extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint")
  }

  /// The duration of what ran between two questions for the time.
  func duration(from begin: PostgresResult, to end: PostgresResult) -> Duration {
    .microseconds((end.first { $0.integer(0) } ?? 0) - (begin.first { $0.integer(0) } ?? 0))
  }

  /// The time by a test's clock; nil for the server's.
  var testTime: Int64? { configuration.clock.isMachines ? nil : configuration.clock.milliseconds }

  // MARK: - Suspending

  func refuseWhileSuspended() throws {
    if state.withLock({ $0.isSuspended }) { throw suspended }
  }

  var suspended: DatabaseError {
    DatabaseError(.suspended, engine: .postgres, message: "suspend() was called", path: place)
  }

  /// Asks the server to cancel the work of this process, unless the queue was resumed by now.
  /// Returns whether there was any.
  func interrupt() -> Bool {
    let active = state.withLock { $0.isSuspended ? Array($0.active.values) : [] }
    for connection in active { connection.interrupt() }
    return !active.isEmpty
  }

  // MARK: - Transactions of the user's

  private var thread: UInt { Threads.current }

  /// Whether the caller is inside a transaction of the user, and would wait for itself.
  var isInTransaction: Bool { state.withLock { !$0.transacting.isEmpty && $0.transacting.contains(thread) } }

  /// Runs a closure of the user.
  func asTransaction<R>(_ body: () throws -> R) rethrows -> R {
    state.withLock { _ = $0.transacting.insert(thread) }
    defer { state.withLock { _ = $0.transacting.remove(thread) } }
    return try body()
  }
}
#endif
