#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// A queue's access to jobs on a server. Each call is a transaction on a borrowed connection.
/// Belongs to one caller.
final class PostgresSession: StoreSession {
  let store: PostgresStore
  private let pool: PostgresConnectionPool
  /// A loan from before.
  private let loan: PostgresLoan?
  private let ignoresSuspension: Bool

  init(
    _ store: PostgresStore, pool: PostgresConnectionPool, loan: PostgresLoan? = nil,
    ignoresSuspension: Bool = false
  ) {
    self.store = store
    self.pool = pool
    self.loan = loan
    self.ignoresSuspension = ignoresSuspension
  }

  var schema: SQL { store.schema }
  /// Whether it looks at other processes. How long it has been connected tells what it can know of
  /// them; calls of the user may find no connection meanwhile.
  private var looks: Bool { pool === store.rounds }
  /// How it connects.
  var configuration: PostgresConfiguration { pool.configuration }

  func statement(_ name: String, _ sql: @autoclosure () -> SQL) -> PostgresStatement { store.statement(name, sql()) }

  // MARK: - Connections

  /// Uses a connection. An error of the client layer becomes a ``DatabaseError``.
  ///
  /// - Parameter own: a connection that is not of the pool; nil for one that is.
  func use<R>(_ own: PostgresConnection? = nil, _ body: (PostgresConnection) throws -> R) throws -> R {
    if !ignoresSuspension { try store.refuseWhileSuspended() }
    do {
      if let own { return try register(own, body) }
      if let loan { return try register(try loan.connection(), body) }
      return try pool.sync { try register($0, body) }
    } catch let error as PostgresError {
      // The suspension interrupted it.
      if error.code == .busy, !ignoresSuspension { try store.refuseWhileSuspended() }
      if error.endsConnection, looks { store.state.withLock { $0.connectedSince = nil } }
      // If it was stored, this process and the others must look for what has become due.
      if error.code == .outcomeUnknown { store.notifier.notify(StoreNews(isIncomplete: true)) }
      throw DatabaseError(error, place: store.place)
    }
  }

  /// Uses a connection. A suspension interrupts that, and waits for its end. Refuses if the queue
  /// was suspended while the caller waited for the connection.
  private func register<R>(_ connection: PostgresConnection, _ body: (PostgresConnection) throws -> R) throws -> R {
    let calls = try store.state.withLock { state -> DispatchGroup? in
      if looks, state.connectedSince == nil { state.connectedSince = .now }
      if ignoresSuspension { return nil }
      if state.isSuspended { throw store.suspended }
      state.active[ObjectIdentifier(connection)] = connection
      state.calls.enter()
      return state.calls
    }
    defer {
      if let calls {
        store.state.withLock { $0.active[ObjectIdentifier(connection)] = nil }
        calls.leave()
      }
    }
    return try body(connection)
  }

  // MARK: - Transactions

  /// Runs a closure in a transaction of the queue. Repeats it if the server had a conflict, or if
  /// the connection was lost before anything was stored.
  ///
  /// - Parameter isRepeatable: whether it may run twice, so that it is also repeated if it is
  ///   unknown whether it was stored.
  func transaction<R>(isRepeatable: Bool = false, _ body: (PostgresWork) throws -> R) throws -> R {
    var hasLostConnection = false
    while true {
      do {
        return try withoutConflicts(body)
      } catch let error as DatabaseError where error.code.isOfLostConnection && !hasLostConnection {
        guard isRepeatable || error.code == .connectionLost else { throw error }
        hasLostConnection = true
      }
    }
  }

  /// Runs a closure in a transaction, and again if the server had a conflict.
  ///
  /// - Parameter tells: whether its events are reported.
  func withoutConflicts<R>(tells: Bool = true, _ body: (PostgresWork) throws -> R) throws -> R {
    var conflicts = 0
    while true {
      do {
        return try once(tells: tells, body)
      } catch let error as DatabaseError where error.code == .conflict && conflicts < 5 {
        // From 5 to 80 ms: transactions that were in conflict should not meet again.
        PostgresDeadline.pause(for: .milliseconds(5 << conflicts) * Double.random(in: 0.5...1))
        conflicts += 1
      }
    }
  }

  private func once<R>(tells: Bool, _ body: (PostgresWork) throws -> R) throws -> R {
    let (result, work) = try use { connection in
      let work = PostgresWork(store, connection, ignoresSuspension: ignoresSuspension)
      do {
        let result = try body(work)
        try work.commit()
        return (result, work)
      } catch {
        connection.rollBack()
        throw error
      }
    }
    if tells { work.tellAll() }
    return result
  }

  /// Runs one repeatable statement in one round trip: a process that stands still in between would
  /// keep its locks.
  @discardableResult
  func change(
    _ name: String, _ sql: @autoclosure () -> SQL,
    _ bind: (inout PostgresParameters) throws -> Void = { _ in }
  ) throws -> PostgresResult {
    let statement = statement(name, sql())
    return try transaction(isRepeatable: true) { work in
      var position = 0
      return try work.run(commits: true) { position = try $0.add(statement, bind) }[position]
    }
  }

  /// Asks questions in one round trip; again if the connection was lost. The results are in the
  /// order of the pipeline, to which questions were added before.
  func read(_ build: (inout PostgresPipeline) throws -> Void) throws -> [PostgresResult] {
    var pipeline = PostgresPipeline(.reading)
    if let settings = store.settings(isGuest: false) { pipeline.add(settings) }
    do {
      try build(&pipeline)
    } catch let error as PostgresError {
      // A value that the server cannot hold.
      throw DatabaseError(error, place: store.place)
    }
    do {
      return try use { try $0.run(pipeline) }
    } catch let error as DatabaseError where error.code == .connectionLost {
      return try use { try $0.run(pipeline) }
    }
  }

  /// Asks one question.
  func read(
    _ name: String, _ sql: @autoclosure () -> SQL,
    _ bind: (inout PostgresParameters) throws -> Void = { _ in }
  ) throws -> PostgresResult {
    let statement = statement(name, sql())
    var position = 0
    return try read { position = try $0.add(statement, bind) }[position]
  }

  // MARK: - Kinds

  /// The number of a kind. Assigns one if it has none, in a transaction of its own, so that no
  /// other process waits for the one that needs the kind.
  func kindNumber(_ name: String) throws -> Int64 {
    if let number = store.state.withLock({ $0.kindNumbers[KindName(name)] }) { return number }
    if let number = try knownKindNumber(name) { return number }
    let number = try transaction(isRepeatable: true) { work in
      try work.run(
        "new_kind", "INSERT INTO \(schema).kinds (name) VALUES ($1) ON CONFLICT (name) DO NOTHING"
      ) { try $0.bind(name) }
      return try work.run("kind_number", "SELECT id FROM \(schema).kinds WHERE name OPERATOR(pg_catalog.=) $1") {
        try $0.bind(name)
      }
      .first { $0.integer(0) } ?? 0
    }
    store.remember(kind: name, number)
    return number
  }

  /// Nil if it has none.
  func knownKindNumber(_ name: String) throws -> Int64? {
    if let number = store.state.withLock({ $0.kindNumbers[KindName(name)] }) { return number }
    let found = try read("kind_number", "SELECT id FROM \(schema).kinds WHERE name OPERATOR(pg_catalog.=) $1") {
      try $0.bind(name)
    }
    guard let number = found.first({ $0.integer(0) }) else { return nil }
    store.remember(kind: name, number)
    return number
  }

  func kindName(_ number: Int64) throws -> String {
    if let name = store.state.withLock({ $0.kindNames[number] }) { return name }
    let found = try read("kind_name", "SELECT name FROM \(schema).kinds WHERE id OPERATOR(pg_catalog.=) $1") {
      $0.bind(number)
    }
    let name = found.first { $0.text(0) ?? "" } ?? ""
    store.remember(kind: name, number)
    return name
  }

  func knownKinds() throws -> [String] {
    try read("kinds", "SELECT name FROM \(schema).kinds ORDER BY name COLLATE \"C\"").map { $0.text(0) ?? "" }
  }

  func number(ofKind name: String) throws -> Int64 { try kindNumber(name) }

  func facts() throws -> StoreFacts {
    let identity = try read("identity", "SELECT value FROM \(schema).meta WHERE key = 'identity'")
    return StoreFacts(
      identity: identity.first { $0.text(0) ?? "" } ?? "", kindRules: try kindRules(), loss: nil)
  }
}

extension PostgresStore {
  func remember(kind name: String, _ number: Int64) {
    state.withLock { state in
      state.kindNumbers[KindName(name)] = number
      state.kindNames[number] = name
    }
  }
}
#endif
