#if os(macOS) || os(Linux)
/// The state of a pool: the waiting borrowers, the free connections, and whether an attempt to
/// connect is under way, of which there is one at a time. It has no side effects: the pool acts on
/// its results once the lock is dropped.
struct PostgresPoolState<Connection, Waiter> {
  typealias Instant = ContinuousClock.Instant

  let limit: Int
  /// The connection that was used last is lent next.
  private(set) var idle: [Connection] = []
  /// How many are in use.
  private(set) var lent = 0
  /// In the order of arrival. No borrower waits while a connection is free.
  private(set) var waiting: [(waiter: Waiter, since: Instant)] = []
  private(set) var isConnecting = false
  /// When the next attempt may begin after a failure.
  private(set) var notBefore: Instant?
  private(set) var isClosed = false

  /// How long borrowers wait for one of the connections in use while attempts to connect fail.
  private static var patience: Duration { .seconds(5) }

  init(limit: Int) {
    precondition(limit > 0, "A pool of \(limit) connections is made; at least one is needed")
    self.limit = limit
  }

  /// When to begin an attempt to connect.
  enum Connecting: Equatable {
    case now
    case at(Instant)
  }

  // MARK: - Borrowing

  /// Takes a free connection for a borrower that does not wait; nil if there is none.
  mutating func takeIdle() -> Connection? {
    guard let connection = idle.popLast() else { return nil }
    lent += 1
    return connection
  }

  enum Asked {
    case lend(Connection)
    /// The borrower waits; the pool may have to begin an attempt.
    case wait(Connecting?)
    case refuse
  }

  mutating func ask(_ waiter: Waiter, at now: Instant = .now) -> Asked {
    if isClosed { return .refuse }
    if let connection = takeIdle() { return .lend(connection) }
    waiting.append((waiter, now))
    return .wait(nextAttempt())
  }

  // MARK: - Connecting

  private mutating func nextAttempt() -> Connecting? {
    guard !isClosed, !isConnecting, !waiting.isEmpty, idle.count + lent < limit else { return nil }
    isConnecting = true
    return notBefore.map { .at($0) } ?? .now
  }

  enum Freed {
    case keep
    /// Lends; the pool may have to begin an attempt for other borrowers.
    case lend(Waiter, Connecting?)
    case close
  }

  mutating func connected(_ connection: Connection) -> Freed {
    isConnecting = false
    notBefore = nil
    return free(connection)
  }

  /// Notes a failed attempt. Returns the borrowers that get the error, and whether the next attempt
  /// begins for others.
  ///
  /// While connections are in use, borrowers can still get one of them: the server may have no room
  /// for more. They do not wait for ever, since a transaction of the user may outlast an outage.
  mutating func failed(at now: Instant = .now, next: Instant) -> (told: [Waiter], Connecting?) {
    isConnecting = false
    notBefore = next
    let told = lent == 0 ? waiting[...] : waiting.prefix { $0.since.duration(to: now) >= Self.patience }
    waiting.removeFirst(told.count)
    return (told.map(\.waiter), nextAttempt())
  }

  // MARK: - Giving back

  mutating func giveBack(_ connection: Connection) -> Freed {
    lent -= 1
    return free(connection)
  }

  /// Notes that a borrowed connection is unusable. Returns whether to begin an attempt.
  mutating func discard() -> Connecting? {
    lent -= 1
    return nextAttempt()
  }

  private mutating func free(_ connection: Connection) -> Freed {
    if isClosed { return .close }
    guard !waiting.isEmpty else {
      idle.append(connection)
      return .keep
    }
    lent += 1
    return .lend(waiting.removeFirst().waiter, nextAttempt())
  }

  /// Ends lending. Returns the connections to close, and the borrowers that wait in vain.
  mutating func close() -> (connections: [Connection], waiters: [Waiter]) {
    isClosed = true
    defer { (idle, waiting) = ([], []) }
    return (idle, waiting.map(\.waiter))
  }
}
#endif
