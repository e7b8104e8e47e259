#if os(macOS) || os(Linux)
import Foundation

extension PostgresConnectionPool {
  /// Uses a connection on the thread of the caller, which is blocked until one is free and until the server has answered.
  @discardableResult
  func sync<R>(_ body: (PostgresConnection) throws -> R) throws -> R {
    let connection = try borrowIdle() ?? borrowBlocking()
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

  private func borrowBlocking() throws -> PostgresConnection {
    let reply = PostgresReply<PostgresConnection>()
    borrow { reply.give($0) }
    return try reply.wait()
  }
}
#endif
