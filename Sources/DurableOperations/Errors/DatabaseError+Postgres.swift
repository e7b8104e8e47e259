#if os(macOS) || os(Linux)
extension DatabaseError {
  /// Makes the error of an error of the client layer.
  init(_ error: PostgresError, place: String) {
    self.init(
      Code(error.code), engine: .postgres, sqlState: error.sqlState,
      message: [error.message, error.details].compactMap(\.self).filter { !$0.isEmpty }.joined(separator: "; "),
      sql: error.sql, path: error.place ?? place)
  }
}

extension DatabaseError.Code {
  init(_ code: PostgresError.Code) {
    self =
      switch code {
      case .connectionLost: .connectionLost
      case .cannotConnect: .cannotConnect
      case .outcomeUnknown: .outcomeUnknown
      case .clientLibraryMissing: .clientLibraryMissing
      case .clientLibraryTooOld: .clientLibraryTooOld
      case .serverTooOld: .serverTooOld
      case .serverReadOnly: .serverReadOnly
      case .conflict: .conflict
      case .busy: .busy
      case .diskFull: .diskFull
      case .readOnly: .readOnly
      case .constraint: .constraint
      case .corrupt: .corrupt
      case .notAQueue: .notAQueue
      case .transactionEnded: .transactionEnded
      case .settingOfTheSession: .settingOfTheQueue
      case .statement: .statement
      }
  }

  /// The code of the client layer; nil for a code that only the queue uses.
  fileprivate var ofClient: PostgresError.Code? {
    self == .settingOfTheQueue ? .settingOfTheSession : PostgresError.Code(rawValue: value.rawValue)
  }
}

extension DatabaseError.Code {
  /// Whether an existing connection was lost.
  var isOfLostConnection: Bool { self == .connectionLost || self == .outcomeUnknown }
}

extension DatabaseError {
  /// The sentence for an error of a server.
  var serverDescription: String {
    switch code.value {
    case .suspended: "The queue of \(path) is suspended (\(message)). Nothing was changed. Call resume() first."
    case .newerSchema:
      "The tables of \(path) were made by a newer version of DurableOperations (\(message)). They were left as they are. Update "
        + "this program."
    case .cannotOpen: "The database \(path) cannot hold a queue (\(message)). Make another one."
    default:
      PostgresError(
        code.ofClient ?? .statement, sqlState: sqlState, message: message, place: path
      ).description
    }
  }
}
#else
extension DatabaseError {
  /// Other platforms have no such errors.
  var serverDescription: String { message }
}
#endif
