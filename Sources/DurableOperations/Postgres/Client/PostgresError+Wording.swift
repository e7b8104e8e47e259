#if os(macOS) || os(Linux)
extension PostgresError: CustomStringConvertible {
  /// A sentence: what failed where, why, and what to do.
  var description: String {
    let statement = sql.map { " The statement was: \($0)" } ?? ""
    return "\(subject) (\(cause)). \(remedy)\(statement)"
  }

  /// What failed where.
  var subject: String {
    let place = place.map { "the database \($0)" } ?? "the database"
    return switch code {
    case .connectionLost: "The connection to \(place) was lost"
    case .cannotConnect: "There is no connection to \(place)"
    case .outcomeUnknown: "The connection to \(place) was lost while it committed"
    case .clientLibraryMissing: "There is no client library of PostgreSQL"
    case .clientLibraryTooOld: "The client library of PostgreSQL is too old"
    case .serverTooOld: "The server of \(place) is too old"
    case .serverReadOnly: "The server of \(place) accepts no changes"
    case .conflict: "Transactions of \(place) were in conflict"
    case .busy: "A statement in \(place) took too long, or waited too long for a lock"
    case .diskFull: "There is no room for \(place)"
    case .readOnly: "This role lacks a right in \(place)"
    case .constraint: "A constraint of \(place) does not hold"
    case .corrupt: "\(place.prefix(1).uppercased())\(place.dropFirst()) is damaged"
    case .notAQueue: "\(place.prefix(1).uppercased())\(place.dropFirst()) has no queue"
    case .transactionEnded: "The transaction of \(place) is not the statement's to begin or end"
    case .settingOfTheSession: "A transaction of \(place) must leave the session as it is"
    case .statement: "A statement failed in \(place)"
    }
  }

  /// Why.
  var cause: String {
    let parts = [message, details, sqlState.map { "SQLSTATE \($0)" }]
    return parts.compactMap(\.self).filter { !$0.isEmpty }.joined(separator: "; ")
  }

  /// What to do.
  var remedy: String {
    switch code {
    case .connectionLost: "Nothing of it is stored. Try again."
    case .cannotConnect: "Check the address, the role and its password, and that the server runs."
    case .outcomeUnknown:
      "It may be stored, or not. Check whether it is, or repeat it in a way that does no harm, such as with a unique key."
    case .clientLibraryMissing: "Install libpq5 (Debian, Ubuntu), libpq (Fedora, Alpine, Homebrew)."
    case .clientLibraryTooOld: "Install that of PostgreSQL 14 or newer."
    case .serverTooOld: "PostgreSQL 13 or newer is needed."
    case .serverReadOnly: "Connect to the primary server."
    case .conflict: "Nothing of it is stored. Repeat the transaction."
    case .busy: "Nothing of it is stored. Try again, raise the timeout, or look for a transaction that is kept open."
    case .diskFull: "Free some; nothing that was stored before is lost."
    case .readOnly: "Grant the role that right."
    case .constraint: "Nothing of the transaction is stored; check the values."
    case .corrupt: "Stop all programs that use it, keep a copy, and recover it from a backup."
    case .notAQueue: "Check the database and the schema."
    case .transactionEnded: "Leave BEGIN, COMMIT and ROLLBACK to the queue."
    case .settingOfTheSession: "Use SET LOCAL, or a connection of your own."
    case .statement: "Check it, and the tables that it names."
    }
  }
}
#endif
