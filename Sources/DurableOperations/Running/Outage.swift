/// Whether the database can be reached. That it cannot is told once, until it can.
///
/// ```
/// reachable ── fails as it does while nobody can reach it ──▶ out ── answers ──▶ reachable
/// ```
struct Outage: Equatable {
  enum Cause: Equatable {
    /// The file is protected while the device is locked.
    case lockedDevice
    /// There is no connection to a server that takes changes.
    case noServer
  }

  private(set) var cause: Cause?
  /// Changes with each outage.
  private(set) var number = 0

  /// What an error says of it; nil if the database was there, and refused something.
  static func cause(of error: DatabaseError) -> Cause? {
    switch error.code.value {
    case .deviceLocked: .lockedDevice
    case .connectionLost, .cannotConnect, .outcomeUnknown, .serverReadOnly: .noServer
    default: nil
    }
  }

  enum Failed: Equatable {
    /// It is to be told.
    case tell
    /// The same, and the database cannot be reached from now on.
    case begin(Cause)
    /// It was told before.
    case known
  }

  mutating func failed(with error: DatabaseError) -> Failed {
    guard let cause = Self.cause(of: error) else { return .tell }
    guard self.cause == nil else { return .known }
    self.cause = cause
    number += 1
    return .begin(cause)
  }

  /// The database did what was asked of it. Returns what has ended.
  ///
  /// - Parameter takesChanges: whether that shows that it takes changes. A standby, which may be there before the server is
  ///   back, only answers questions.
  mutating func succeeded(takesChanges: Bool) -> Cause? {
    if cause == .noServer, !takesChanges { return nil }
    defer { cause = nil }
    return cause
  }
}
