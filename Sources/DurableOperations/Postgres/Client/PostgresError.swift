#if os(macOS) || os(Linux)
/// An error of the client layer. The store turns it into a ``DatabaseError``.
struct PostgresError: Error, Sendable, Equatable {
  enum Code: String, Sendable, CaseIterable {
    /// The connection was lost. Nothing of the request is stored.
    case connectionLost
    /// There is no connection, and connecting failed.
    case cannotConnect
    /// The connection was lost after COMMIT was sent, and before its answer arrived.
    case outcomeUnknown
    case clientLibraryMissing, clientLibraryTooOld, serverTooOld
    /// A standby, or a server that is set to read-only.
    case serverReadOnly
    /// A deadlock, or a transaction that could not be serialized.
    case conflict
    case busy, diskFull, readOnly, constraint, corrupt, notAQueue
    /// A statement of the user would have begun or ended a transaction.
    case transactionEnded
    /// A statement of the user would have changed the session for good.
    case settingOfTheSession
    case statement
  }

  let code: Code
  /// PostgreSQL's five-character code of the error; nil for an error of another origin.
  var sqlState: String?
  /// The message of the server, libpq or this library.
  let message: String
  /// The server's DETAIL and HINT.
  var details: String?
  /// The statement that failed, if any.
  var sql: String?
  /// The server and the database; nil where there is none yet.
  var place: String?

  init(
    _ code: Code, sqlState: String? = nil, message: String, details: String? = nil, sql: String? = nil,
    place: String? = nil
  ) {
    self.code = code
    self.sqlState = sqlState
    self.message = message
    self.details = details
    self.sql = sql
    self.place = place
  }

  /// Whether the server no longer has a session for the connection, or is about to end it.
  var endsConnection: Bool {
    switch code {
    case .connectionLost, .cannotConnect, .outcomeUnknown: true
    default: false
    }
  }
}

extension PostgresError.Code {
  /// The code for an SQLSTATE of the server.
  init(sqlState: String) {
    self =
      switch sqlState {
      case "57P01", "57P02", "57P03", "57P05": .connectionLost
      case "3D000", "53300": .cannotConnect
      case "53100": .diskFull
      case "25006": .serverReadOnly
      case "42501": .readOnly
      case "55P03", "57014": .busy
      case "40001", "40P01": .conflict
      case "XX001", "XX002": .corrupt
      default:
        switch sqlState.prefix(2) {
        case "08": .connectionLost
        case "28": .cannotConnect
        case "23": .constraint
        default: .statement
        }
      }
  }
}
#endif
