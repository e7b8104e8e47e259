#if os(macOS) || os(Linux)
import CompositeOperations
import CompositeOperationsPostgres
import Foundation

/// Receives the notifications of a channel on a connection of its own. Blocks no thread.
final class PostgresListener: Sendable {
  /// The callbacks of a listener, each called on its queue.
  struct Handlers: Sendable {
    /// Receives the text of a notification. Those of this connection are left out.
    var heard: @Sendable (String) -> Void
    /// Receives the end of the connection. Called once, and not after ``PostgresListener/close()``.
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
  /// The socket of the connection.
  private let socket: PostgresSocket
  /// The number of the server's process, which names the sender of a notification.
  let serverProcess: Int32

  /// Connects, and listens to a channel. Blocks the thread of the caller until then: call it on a
  /// queue of Dispatch.
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

  /// Ends the session. No handler is called afterwards, except for a call that is about to begin
  /// now.
  func close() {
    guard let connection = state.withLock({ $0.end() }) else { return }
    // Its queue may be using it.
    socket.queue.async { connection.close() }
  }

  /// Sends a pipeline on the connection, such as a notification. `completion` is called on the
  /// queue of the listener.
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

  /// Call on the queue of the socket. Returns false when the connection is over.
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
      // The end of a connection is reported once, so everything before it is read now.
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
