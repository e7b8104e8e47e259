#if os(macOS) || os(Linux)
import CompositeOperationsPostgres
import Foundation

/// A session of a server: the only wrapper around the libpq functions that send and receive.
///
/// One thread at a time uses it: the one that borrowed it from the pool, or the queue of its
/// ``PostgresSocket``.
final class PostgresConnection: @unchecked Sendable {  // used by one thread at a time, which the pool sees to
  let library: PostgresLibrary
  let handle: OpaquePointer
  let configuration: PostgresConfiguration
  let address: PostgresAddress
  /// The descriptor, which stays the same once the connection is established.
  let descriptor: Int32
  /// The statements that the server has prepared under their names.
  var preparedNames: Set<String> = []
  /// Whether the connection is unusable: an answer of the server may belong to another request.
  private(set) var isBroken = false
  private let canceller: PostgresCanceller
  private var isClosed = false
  /// Made by the first pipeline that waits without a thread.
  private var socketIfMade: PostgresSocket?

  /// Takes over an established connection.
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

  /// Ends the session. The connection cannot be used afterwards.
  func close() {
    if isClosed { return }
    isClosed = true
    isBroken = true
    let (library, finish) = (library, UInt(bitPattern: handle))
    let end: @Sendable () -> Void = { library.functions.finish(OpaquePointer(bitPattern: finish)) }
    // A watched socket must not be closed.
    if let socketIfMade { socketIfMade.close(then: end) } else { end() }
    socketIfMade = nil
  }

  /// Marks the connection as unusable.
  func markBroken() { isBroken = true }

  /// Waits for the server without a thread. From its first use, its queue uses the connection while
  /// it waits.
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

  /// The state that the server reported last.
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

  /// Whether the connection can be used: nothing shows that the server has ended the session. For
  /// an idle connection.
  func isAlive() -> Bool {
    // Data on an idle session is nearly always its end, whose last words come first. Otherwise an
    // administrator has changed a setting, and a new session costs little.
    if !isBroken, transactionState == .idle, !PostgresDeadline.isReadable(descriptor) { return true }
    isBroken = true
    return false
  }

  // MARK: - Errors

  /// Makes the error for a lost connection.
  func lost(_ code: PostgresError.Code, _ message: String? = nil) -> PostgresError {
    isBroken = true
    let text = message ?? library.errorMessage(handle)
    return PostgresError(code, message: address.shown(text), place: address.place)
  }

  // MARK: - Cancelling

  /// Asks the server to cancel the current work of this connection. From any thread; it waits until
  /// the server has received the request, for any time if the server is silent. Running work fails
  /// with ``PostgresError/Code/busy``, unless it has ended.
  func interrupt() { canceller.cancel() }
}

/// Cancels the work of a session.
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
