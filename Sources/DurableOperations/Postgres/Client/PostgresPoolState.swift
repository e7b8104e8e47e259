#if os(macOS) || os(Linux)
/// What a pool knows: who waits, what is free, and whether an attempt to connect is under way, of which there is one at a time.
/// It does nothing by itself: the pool does what it is told, once the lock is dropped.
struct PostgresPoolState<Connection, Waiter> {
  typealias Instant = ContinuousClock.Instant

  let limit: Int
  /// The one that was used last is the next to be lent.
  private(set) var idle: [Connection] = []
  /// How many are in use.
  private(set) var lent = 0
  /// In the order in which they came. None of them waits while a connection is free.
  private(set) var waiting: [Waiter] = []
  private(set) var isConnecting = false
  /// When the next attempt may begin, after one that failed.
  private(set) var notBefore: Instant?
  private(set) var isClosed = false

  init(limit: Int) {
    precondition(limit > 0, "A pool of \(limit) connections is made; at least one is needed")
    self.limit = limit
  }

  /// When an attempt to connect is to begin.
  enum Connecting: Equatable {
    case now
    case at(Instant)
  }

  // MARK: - Borrowing

  /// A free connection is wanted by one who does not wait; nil if there is none.
  mutating func takeIdle() -> Connection? {
    guard let connection = idle.popLast() else { return nil }
    lent += 1
    return connection
  }

  enum Asked {
    case lend(Connection)
    /// It waits; perhaps an attempt is to begin.
    case wait(Connecting?)
    case refuse
  }

  mutating func ask(_ waiter: Waiter) -> Asked {
    if isClosed { return .refuse }
    if let connection = takeIdle() { return .lend(connection) }
    waiting.append(waiter)
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
    /// Perhaps more of those who wait need an attempt.
    case lend(Waiter, Connecting?)
    case close
  }

  mutating func connected(_ connection: Connection) -> Freed {
    isConnecting = false
    notBefore = nil
    return free(connection)
  }

  /// An attempt failed. Returns those who are told so, and whether the next one is to begin for others.
  ///
  /// While connections are in use those who wait can still get one of them.
  mutating func failed(next: Instant) -> (told: [Waiter], Connecting?) {
    isConnecting = false
    notBefore = next
    guard lent == 0 else { return ([], nextAttempt()) }
    defer { waiting = [] }
    return (waiting, nil)
  }

  // MARK: - Giving back

  mutating func giveBack(_ connection: Connection) -> Freed {
    lent -= 1
    return free(connection)
  }

  /// One that was lent is of no use any more. Returns whether an attempt is to begin.
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
    return .lend(waiting.removeFirst(), nextAttempt())
  }

  /// No connection is lent any more. Returns what is to be closed, and who waits in vain.
  mutating func close() -> (connections: [Connection], waiters: [Waiter]) {
    isClosed = true
    defer { (idle, waiting) = ([], []) }
    return (idle, waiting)
  }
}
#endif
