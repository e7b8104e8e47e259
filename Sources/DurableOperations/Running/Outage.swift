/// Whether the database can be reached. An outage is reported once, until it ends.
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

  private(set) var cause: Cause?
  /// Changes with each outage.
  private(set) var number = 0

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
    /// Report the failure; the database is unreachable from now on.
    case begin(Cause)
    /// The failure was reported before.
    case known
  }

  mutating func failed(with error: DatabaseError) -> Failed {
    guard let cause = Self.cause(of: error) else { return .tell }
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
}
