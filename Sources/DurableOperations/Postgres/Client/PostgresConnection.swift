#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

/// A session of a server: the one wrapper around the functions of libpq that send and receive.
///
/// One thread at a time uses it: the one that borrowed it from the pool, or the queue of its ``PostgresSocket``.
final class PostgresConnection: @unchecked Sendable {  // used by one thread at a time, which the pool sees to
  let library: PostgresLibrary
  let handle: OpaquePointer
  let configuration: PostgresConfiguration
  let address: PostgresAddress
  /// The descriptor, which stays the same once the connection is made.
  let descriptor: Int32
  /// The statements that the server has prepared under their names.
  var preparedNames: Set<String> = []
  /// Whether it must not be used any more: what comes from the server may be the answer to something else.
  private(set) var isBroken = false
  private let canceller: PostgresCanceller
  private var isClosed = false
  /// Made by the first pipeline that waits without a thread.
  private var socketIfMade: PostgresSocket?

  /// Takes over a connection that was made.
  init(
    _ handle: OpaquePointer, library: PostgresLibrary, configuration: PostgresConfiguration, address: PostgresAddress
  ) {
    self.library = library
    self.handle = handle
    self.configuration = configuration
    self.address = address
    descriptor = library.functions.socket(handle)
    canceller = PostgresCanceller(of: handle, library: library)
    _ = library.functions.setnonblocking(handle, 1)
  }

  deinit {
    close()
  }

  /// Ends the session. Nothing can be done with it afterwards.
  func close() {
    if isClosed { return }
    isClosed = true
    isBroken = true
    let (library, finish) = (library, UInt(bitPattern: handle))
    let end: @Sendable () -> Void = { library.functions.finish(OpaquePointer(bitPattern: finish)) }
    // A socket that is watched must not be closed.
    if let socketIfMade { socketIfMade.close(then: end) } else { end() }
    socketIfMade = nil
  }

  /// Says that it must not be used any more.
  func markBroken() { isBroken = true }

  /// What waits for the server without a thread. From the first use on its queue uses the connection, while it waits.
  var socket: PostgresSocket {
    if let socketIfMade { return socketIfMade }
    let socket = PostgresSocket(self)
    socketIfMade = socket
    return socket
  }

  // MARK: - State

  enum TransactionState: Int32 {
    case idle, active, inTransaction, failed, unknown
  }

  /// What the server said last.
  var transactionState: TransactionState {
    TransactionState(rawValue: library.functions.transactionStatus(handle)) ?? .unknown
  }

  /// The number of the server's process.
  var serverProcess: Int32 { library.functions.backendPID(handle) }

  /// Such as 150018.
  var serverVersion: Int32 { library.functions.serverVersion(handle) }

  var usesTLS: Bool { library.functions.sslInUse(handle) == 1 }

  /// A setting that the server reports, such as `server_encoding`.
  func setting(_ name: String) -> String? {
    library.functions.parameterStatus(handle, name).map { String(cString: $0) }
  }

  /// Whether it can be used: nothing says that the server has ended the session meanwhile. For one that does nothing.
  func isAlive() -> Bool {
    // What comes to a session that asked nothing is nearly always its end, and of that the last words come first. Otherwise it
    // is a setting that an administrator has changed, and a new session costs little.
    if !isBroken, transactionState == .idle, !PostgresDeadline.isReadable(descriptor) { return true }
    isBroken = true
    return false
  }

  // MARK: - Errors

  /// Why the connection does not go on.
  func lost(_ code: PostgresError.Code, _ message: String? = nil) -> PostgresError {
    isBroken = true
    let text = message ?? library.errorMessage(handle)
    return PostgresError(code, message: address.shown(text), place: address.place)
  }

  // MARK: - Cancelling

  /// Asks the server to end what it does for this connection. From any thread; it waits until the server has taken notice. What
  /// runs fails with ``PostgresError/Code/busy``, unless it is over.
  func interrupt() { canceller.cancel() }
}

/// The right to cancel what a session does.
private final class PostgresCanceller: Sendable {
  // Libpq allows it from any thread.
  private nonisolated(unsafe) let handle: OpaquePointer?
  private let library: PostgresLibrary

  init(of connection: OpaquePointer, library: PostgresLibrary) {
    handle = library.functions.getCancel(connection)
    self.library = library
  }

  func cancel() {
    var error = [CChar](repeating: 0, count: 256)
    _ = library.functions.cancel(handle, &error, Int32(error.count))
  }

  deinit {
    if let handle { library.functions.freeCancel(handle) }
  }
}
#endif
