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
    _ = borrow { result in
      self.working.async {
        body(result)
        if case .success(let connection) = result { self.giveBack(connection) }
      }
    }
  }

  /// Uses a connection on a queue of Dispatch, and suspends the task until that is done. A task that is cancelled while it waits for
  /// a free connection throws `CancellationError`; what has begun is not cancelled.
  @discardableResult
  func run<R: Sendable>(_ body: @escaping @Sendable (PostgresConnection) throws -> R) async throws -> R {
    let connection = try await borrow()
    let reply = PostgresReply<R>()
    working.async {
      let result = Result { try body(connection) }
      // Before the task goes on: it finds the connection free.
      self.giveBack(connection)
      reply.give(result)
    }
    return try await reply.value()
  }

  /// Sends one pipeline, and suspends the task until it is answered. No thread waits meanwhile. It is cancelled as ``run(_:)`` is.
  @discardableResult
  func send(_ pipeline: PostgresPipeline, timeout: Duration? = nil) async throws -> [PostgresResult] {
    let connection = try await borrow()
    let reply = PostgresReply<[PostgresResult]>()
    connection.socket.run(pipeline, on: connection, timeout: timeout ?? configuration.statementTimeout) { result in
      self.giveBack(connection)
      reply.give(result.mapError { $0 })
    }
    return try await reply.value()
  }

  private func borrowBlocking() throws -> PostgresConnection {
    let reply = PostgresReply<PostgresConnection>()
    _ = borrow { reply.give($0) }
    return try reply.wait()
  }

  private func borrow() async throws -> PostgresConnection {
    try Task.checkCancellation()
    if let connection = borrowIdle() { return connection }
    let reply = PostgresReply<PostgresConnection>()
    let number = borrow { reply.give($0) }
    return try await withTaskCancellationHandler {
      try await reply.value()
    } onCancel: {
      if let number { cancel(number) }
    }
  }
}
#endif
