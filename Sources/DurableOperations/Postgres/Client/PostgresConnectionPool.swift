#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// A pool of connections to one server. Each has one borrower at a time. Borrowers that find none
/// free wait in the order of their arrival.
///
/// Connecting, and the work of `async` code, happens on queues of Dispatch; only callers of
/// ``sync(_:)`` block a thread while they wait for a connection.
final class PostgresConnectionPool: Sendable {
  typealias Connect = @Sendable () -> Result<PostgresConnection, PostgresError>
  typealias Waiter = @Sendable (Result<PostgresConnection, any Error>) -> Void
  typealias State = PostgresPoolState<PostgresConnection, Waiter>

  let configuration: PostgresConfiguration
  let state: LockBox<State>
  private let backoff = LockBox(PostgresBackoff())
  private let connect: Connect
  private let connecting = DispatchQueue(label: "DurableOperations.postgres.connecting", qos: .userInitiated)
  /// It runs at most as many work items at once as there are connections.
  let working = DispatchQueue(
    label: "DurableOperations.postgres.working", qos: .userInitiated, attributes: .concurrent)

  init(_ configuration: PostgresConfiguration, maxConnections: Int, connect: Connect? = nil) {
    self.configuration = configuration
    self.connect =
      connect ?? {
        do throws(PostgresError) { return .success(try .connect(configuration)) } catch { return .failure(error) }
      }
    state = LockBox(State(limit: maxConnections))
  }

  deinit {
    close()
  }

  /// Ends all sessions; those in use end when they are returned. Waiting borrowers get an error.
  func close() {
    let (connections, waiters) = state.withLock { $0.close() }
    for connection in connections { connection.close() }
    for waiter in waiters { waiter(.failure(Self.closed)) }
  }

  // MARK: - Borrowing

  /// Calls `waiter` with a connection once there is one; at once, on this thread, if one is free.
  func borrow(_ waiter: @escaping Waiter) {
    while true {
      switch state.withLock({ $0.ask(waiter) }) {
      case .lend(let connection):
        guard connection.isAlive() else {
          discard(connection)
          continue
        }
        return waiter(.success(connection))
      case .wait(let next):
        if let next { begin(next) }
        return
      case .refuse: return waiter(.failure(Self.closed))
      }
    }
  }

  /// Returns a free connection, if there is one. This needs no waiter.
  func borrowIdle() -> PostgresConnection? {
    while let connection = state.withLock({ $0.takeIdle() }) {
      if connection.isAlive() { return connection }
      discard(connection)
    }
    return nil
  }

  /// Returns a borrowed connection. The pool replaces a broken one when it is needed.
  func giveBack(_ connection: PostgresConnection) {
    // The borrower left a transaction open.
    connection.rollBack()
    guard !connection.isBroken else { return discard(connection) }
    settle(state.withLock { $0.giveBack(connection) }, connection)
  }

  private func discard(_ connection: PostgresConnection) {
    connection.close()
    if let next = state.withLock({ $0.discard() }) { begin(next) }
  }

  private func settle(_ freed: State.Freed, _ connection: PostgresConnection) {
    switch freed {
    case .keep: break
    case .close: connection.close()
    case .lend(let waiter, let next):
      if let next { begin(next) }
      waiter(.success(connection))
    }
  }

  // MARK: - Connecting

  private func begin(_ next: State.Connecting) {
    switch next {
    case .now: connecting.async { [weak self] in self?.attempt() }
    case .at(let instant):
      let left = PostgresDeadline(after: max(ContinuousClock.now.duration(to: instant), .zero)).milliseconds
      connecting.asyncAfter(deadline: .now() + .milliseconds(Int(left))) { [weak self] in self?.attempt() }
    }
  }

  private func attempt() {
    switch connect() {
    case .success(let connection):
      backoff.withLock { $0.reset() }
      settle(state.withLock { $0.connected(connection) }, connection)
    case .failure(let error):
      // In a box: a value without size has no address, but ThreadSanitizer reads it all the same.
      var generator: any RandomNumberGenerator = SystemRandomNumberGenerator()
      let pause = backoff.withLock { $0.next(using: &generator) }
      let (told, next) = state.withLock { $0.failed(next: .now + pause) }
      if let next { begin(next) }
      // Whatever the reason, there is no connection.
      for waiter in told { waiter(.failure(Self.cannotConnect(error))) }
    }
  }

  private static func cannotConnect(_ error: PostgresError) -> PostgresError {
    guard error.code == .connectionLost || error.code == .outcomeUnknown else { return error }
    return PostgresError(
      .cannotConnect, sqlState: error.sqlState, message: error.message, details: error.details, place: error.place)
  }

  private static var closed: PostgresError { PostgresError(.cannotConnect, message: "the queue was closed") }
}
#endif
