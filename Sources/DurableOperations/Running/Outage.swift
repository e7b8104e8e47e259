/// Whether the database can be reached. An outage is reported once, until it ends. Other failures
/// are reported each time, but only the first of each kind is logged, until all goes well again.
///
/// ```
/// reachable ── fails as an unreachable database does ──▶ out ── answers ──▶ reachable
/// ```
struct Outage: Equatable {
  enum Cause: Equatable {
    /// The file is protected while the device is locked.
    case lockedDevice
    /// There is no connection to a server that accepts changes.
    case noServer
  }

  /// What the queue uses the database for.
  enum Use { case round, look }

  private(set) var cause: Cause?
  /// Changes with each outage.
  private(set) var number = 0
  /// What has failed, and not succeeded since, though the database was reachable.
  private var failing: Set<Use> = []
  /// The kinds of these failures that were logged.
  private var logged: Set<DatabaseError.Code> = []
  /// Whether something was written since the last of them.
  private var hasWritten = false

  /// The cause that an error stands for; nil if the database was reachable and refused a request.
  static func cause(of error: DatabaseError) -> Cause? {
    switch error.code.value {
    case .deviceLocked: .lockedDevice
    case .connectionLost, .cannotConnect, .outcomeUnknown, .serverReadOnly: .noServer
    default: nil
    }
  }

  enum Failed: Equatable {
    /// Report the failure.
    case tell
    /// Report the failure, to the log as well.
    case log
    /// Report the failure, to the log as well; the database is unreachable from now on.
    case begin(Cause)
    /// The failure was reported before.
    case known
  }

  mutating func failed(with error: DatabaseError, in use: Use) -> Failed {
    guard let cause = Self.cause(of: error) else {
      failing.insert(use)
      hasWritten = false
      return logged.insert(error.code).inserted ? .log : .tell
    }
    guard self.cause == nil else { return .known }
    self.cause = cause
    number += 1
    return .begin(cause)
  }

  /// Notes that the database did its work. Returns the outage that ended.
  ///
  /// - Parameter takesChanges: whether this shows that it accepts changes. A standby, which may be
  ///   there before the server is back, only answers questions.
  mutating func succeeded(takesChanges: Bool) -> Cause? {
    if cause == .noServer, !takesChanges { return nil }
    defer { cause = nil }
    return cause
  }

  /// Notes that a use of the database has succeeded. Returns whether all goes well again after
  /// failures that were logged. A look may go well on a full disk, as it mostly only reads.
  mutating func isOver(after use: Use, hasWritten: Bool) -> Bool {
    failing.remove(use)
    if hasWritten { self.hasWritten = true }
    guard failing.isEmpty, self.hasWritten, !logged.isEmpty else { return false }
    logged = []
    return true
  }
}
