#if os(macOS) || os(Linux)
import Foundation

extension PostgresConnectionPool {
  /// Uses a connection on the thread of the caller, which is blocked until one is free and until
  /// the server has answered.
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

  /// Uses a connection on a queue of Dispatch, and suspends the task until that is done, even if
  /// the task is cancelled: the work may have to be written all the same.
  @discardableResult
  func run<R: Sendable>(_ body: @escaping @Sendable (PostgresConnection) throws -> R) async throws -> R {
    try await lend { connection, reply in
      self.working.async {
        let result = Result { try body(connection) }
        // Before the task goes on, so that it finds the connection free.
        self.giveBack(connection)
        reply.give(result)
      }
    }
  }

  /// Does the same, and replaces a connection that breaks meanwhile.
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

  /// Sends one pipeline, and suspends the task until it is answered. Blocks no thread.
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

  /// Sends one pipeline soon, and ignores its result.
  func send(_ pipeline: PostgresPipeline) {
    let timeout = configuration.statementTimeout
    borrow { result in
      guard case .success(let connection) = result else { return }
      connection.socket.run(pipeline, on: connection, timeout: timeout) { _ in self.giveBack(connection) }
    }
  }

  /// Begins work as soon as there is a connection, and not when the task goes on: all threads for
  /// tasks may be blocked by callers of ``sync(_:)`` that wait for this very connection.
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

  /// Returns a connection as soon as there is one. Blocks the thread of the caller until then.
  func borrowNow() throws -> PostgresConnection { try borrowIdle() ?? borrowBlocking() }

  private func borrowBlocking() throws -> PostgresConnection {
    let reply = PostgresReply<PostgresConnection>()
    borrow { reply.give($0) }
    return try reply.wait()
  }
}

/// A borrowed connection, replaced when it breaks. Used by one thread at a time.
final class PostgresLoan {
  private let pool: PostgresConnectionPool
  private var lent: PostgresConnection?

  init(_ connection: PostgresConnection, from pool: PostgresConnectionPool) {
    lent = connection
    self.pool = pool
  }

  /// Returns a connection that is usable, as far as is known. Loans whose connections break at the
  /// same time must not wait for each other: a broken connection goes back before the loan asks for
  /// another one.
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
