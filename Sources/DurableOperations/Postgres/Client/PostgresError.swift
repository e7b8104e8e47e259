#if os(macOS) || os(Linux)
/// What the client layer says of what failed. The store makes a ``DatabaseError`` of it.
struct PostgresError: Error, Sendable, Equatable {
  enum Code: String, Sendable, CaseIterable {
    /// There was a connection, and is none any more. Nothing of what was asked for is stored.
    case connectionLost
    /// There is no connection, and the attempt to make one failed.
    case cannotConnect
    /// The connection went after COMMIT was sent, and before its answer came.
    case outcomeUnknown
    case clientLibraryMissing, clientLibraryTooOld, serverTooOld
    /// A standby, or a server that was told to write nothing.
    case serverReadOnly
    /// A deadlock, or a transaction that could not be serialised.
    case conflict
    case busy, diskFull, readOnly, constraint, corrupt, notAQueue
    /// A statement of the user's would have begun or ended a transaction.
    case transactionEnded
    /// A statement of the user's would have changed the session for good.
    case settingOfTheSession
    case statement
  }

  let code: Code
  /// The five letters of PostgreSQL's that name the error; nil where it is not the server's.
  var sqlState: String?
  /// What the server says, libpq, or this library.
  let message: String
  /// The server's DETAIL and HINT.
  var details: String?
  /// The statement that failed, if it was one.
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

  /// Whether the server has no session of the connection any more, or is about to end it.
  var endsConnection: Bool {
    switch code {
    case .connectionLost, .cannotConnect, .outcomeUnknown: true
    default: false
    }
  }
}

extension PostgresError.Code {
  /// The code for what the server says.
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
