#if os(macOS) || os(Linux)
import Foundation

extension PostgresConnectionPool {
  /// Uses a connection on the thread of the caller, which is blocked until one is free and until the server has answered.
  @discardableResult
  func sync<R>(_ body: (PostgresConnection) throws -> R) throws -> R {
    let connection = try borrowNow()
    defer { giveBack(connection) }
    return try body(connection)
  }

  /// Uses a connection later, on a queue of Dispatch.
  func async(_ body: @escaping @Sendable (Result<PostgresConnection, any Error>) -> Void) {
    borrow { result in
      self.working.async {
        body(result)
        if case .success(let connection) = result { self.giveBack(connection) }
      }
    }
  }

  /// Uses a connection on a queue of Dispatch, and suspends the task until that is done, also one that is cancelled: what
  /// it is about may have to be written all the same.
  @discardableResult
  func run<R: Sendable>(_ body: @escaping @Sendable (PostgresConnection) throws -> R) async throws -> R {
    try await lend { connection, reply in
      self.working.async {
        let result = Result { try body(connection) }
        // Before the task goes on: it finds the connection free.
        self.giveBack(connection)
        reply.give(result)
      }
    }
  }

  /// The same, with another connection in the place of one that breaks meanwhile.
  func runLending<R: Sendable>(_ body: @escaping @Sendable (PostgresLoan) throws -> R) async throws -> R {
    try await lend { connection, reply in
      self.working.async {
        let loan = PostgresLoan(connection, from: self)
        let result = Result { try body(loan) }
        loan.end()
        reply.give(result)
      }
    }
  }

  /// Sends one pipeline, and suspends the task until it is answered. No thread waits meanwhile.
  @discardableResult
  func send(_ pipeline: PostgresPipeline, timeout: Duration? = nil) async throws -> [PostgresResult] {
    let timeout = timeout ?? configuration.statementTimeout
    return try await lend { connection, reply in
      connection.socket.run(pipeline, on: connection, timeout: timeout) { result in
        self.giveBack(connection)
        reply.give(result.mapError { $0 })
      }
    }
  }

  /// Sends one pipeline, some time soon, of which nobody wants to know what becomes.
  func send(_ pipeline: PostgresPipeline) {
    let timeout = configuration.statementTimeout
    borrow { result in
      guard case .success(let connection) = result else { return }
      connection.socket.run(pipeline, on: connection, timeout: timeout) { _ in self.giveBack(connection) }
    }
  }

  /// Has something begin as soon as there is a connection: not when the task goes on, for all threads of tasks may be blocked by
  /// callers of ``sync(_:)`` who wait for this very connection.
  private func lend<R: Sendable>(
    _ begin: @escaping @Sendable (PostgresConnection, PostgresReply<R>) -> Void
  ) async throws -> R {
    let reply = PostgresReply<R>()
    borrow { result in
      switch result {
      case .success(let connection): begin(connection, reply)
      case .failure(let error): reply.give(.failure(error))
      }
    }
    return try await reply.value()
  }

  /// A connection, as soon as there is one. Blocks the thread of the caller until then.
  func borrowNow() throws -> PostgresConnection { try borrowIdle() ?? borrowBlocking() }

  private func borrowBlocking() throws -> PostgresConnection {
    let reply = PostgresReply<PostgresConnection>()
    borrow { reply.give($0) }
    return try reply.wait()
  }
}

/// A connection that is lent, and another one in its place when it breaks. Used by one thread at a time.
final class PostgresLoan {
  private let pool: PostgresConnectionPool
  private var lent: PostgresConnection?

  init(_ connection: PostgresConnection, from pool: PostgresConnectionPool) {
    lent = connection
    self.pool = pool
  }

  /// One that is in order, as far as is known. Those whose connections break at once must not wait for each other: what is broken
  /// is given back before another one is asked for.
  func connection() throws -> PostgresConnection {
    if let lent, !lent.isBroken { return lent }
    end()
    let connection = try pool.borrowNow()
    lent = connection
    return connection
  }

  func end() {
    if let lent { pool.giveBack(lent) }
    lent = nil
  }
}
#endif
