#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsPostgres
import Foundation

/// Hears the notifications of a channel on a connection of its own. No thread waits for them.
final class PostgresListener: Sendable {
  /// What the listener tells, each on its queue.
  struct Handlers: Sendable {
    /// The text of a notification. The own ones are left out.
    var heard: @Sendable (String) -> Void
    /// The connection is over. Told once, and not after ``PostgresListener/close()``.
    var lost: @Sendable (PostgresError) -> Void
  }

  private enum State {
    case listening(PostgresConnection)
    case over

    /// Returns the connection the first time.
    mutating func end() -> PostgresConnection? {
      guard case .listening(let connection) = self else { return nil }
      self = .over
      return connection
    }
  }

  private let handlers: Handlers
  private let state: LockBox<State>
  /// That of the connection.
  private let socket: PostgresSocket
  /// The number of the server's process, which names the sender of a notification.
  let serverProcess: Int32

  /// Connects, and listens to a channel. Blocks the thread of the caller until it does: call it on a queue of Dispatch.
  init(_ configuration: PostgresConfiguration, channel: String, handlers: Handlers) throws(PostgresError) {
    let connection = try PostgresConnection.connect(configuration)
    let listen = PostgresStatement("LISTEN \(PostgresStatement.identifier(channel))")
    try connection.run(PostgresPipeline(.reading, listen))
    self.handlers = handlers
    state = LockBox(.listening(connection))
    serverProcess = connection.serverProcess
    socket = connection.socket
    // From here on the connection belongs to its queue.
    socket.listen { [weak self] in self?.takeNotifications() ?? false }
  }

  deinit {
    close()
  }

  /// Ends the session. Nothing is told any more, but for what a handler is about to be told now.
  func close() {
    guard let connection = state.withLock({ $0.end() }) else { return }
    // Its queue may be using it.
    socket.queue.async { connection.close() }
  }

  /// Sends a pipeline on the connection, as one that notifies others does. `completion` is called on the queue of the listener.
  func send(_ pipeline: PostgresPipeline, completion: @escaping PostgresSocket.Completion) {
    let connection: PostgresConnection? = state.withLock {
      if case .listening(let connection) = $0 { connection } else { nil }
    }
    guard let connection else {
      return completion(.failure(PostgresError(.connectionLost, message: "the listener has no connection")))
    }
    socket.run(
      pipeline, on: connection, timeout: connection.configuration.statementTimeout, completion: completion)
  }

  /// On the queue of the socket. Returns false when the connection is over.
  private func takeNotifications() -> Bool {
    let listening: PostgresConnection? = state.withLock {
      if case .listening(let connection) = $0 { connection } else { nil }
    }
    guard let connection = listening else { return false }
    let (functions, handle) = (connection.library.functions, connection.handle)
    var isOver = connection.isBroken
    while true {
      while let notification = functions.notifies(handle) {
        defer { functions.freemem(notification) }
        guard notification.pointee.sender != serverProcess else { continue }
        handlers.heard(notification.pointee.payload.map { String(cString: $0) } ?? "")
      }
      // The end of a connection is told once: all that stands before it is read now.
      guard !isOver, PostgresDeadline.isReadable(connection.descriptor) else { break }
      isOver = functions.consumeInput(handle) == 0 || functions.status(handle) != 0
    }
    guard isOver else { return true }
    let error = connection.lost(.connectionLost)
    if state.withLock({ $0.end() }) != nil {
      connection.close()
      handlers.lost(error)
    }
    return false
  }
}
#endif
