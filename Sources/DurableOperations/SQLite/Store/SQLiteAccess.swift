import CompositeOperations
import Foundation

/// A connection, and the serial queue that alone uses it. A call waits for the calls before it, and
/// for the disk.
final class SQLiteAccess: StoreAccess, @unchecked Sendable {  // the session is used on the queue alone
  private var session: SQLiteSession
  /// Opens the file again; nil for a database in memory.
  private let open: (() throws -> SQLiteSession)?
  /// The connection to interrupt; nil for one that only reads, which holds no lock for long.
  private let interruptible: LockBox<Connection?>
  private let queue: DispatchQueue
  /// The same for all connections of one core.
  private let group: ObjectIdentifier
  /// Shared by all connections of the core.
  private let suspension: Suspension
  let place: String

  init(
    path: String, configuration: DurableQueue.Configuration, events: EventHub, label: String, mustExist: Bool = false,
    isReadOnly: Bool = false, besides writer: SQLiteAccess? = nil
  ) throws {
    let suspension = writer?.suspension ?? Suspension()
    func open(mustExist: Bool) throws -> SQLiteSession {
      SQLiteSession(
        try SQLiteStore(
          path: path, configuration: configuration, events: events, mustExist: mustExist, isReadOnly: isReadOnly,
          suspension: suspension), configuration: configuration)
    }
    self.suspension = suspension
    place = path
    session = try open(mustExist: mustExist)
    interruptible = LockBox(isReadOnly ? nil : session.store.connection)
    self.open = path == ":memory:" ? nil : { try open(mustExist: true) }
    queue = DispatchQueue(label: "DurableOperations.\(label)", qos: .userInitiated, autoreleaseFrequency: .workItem)
    group = writer?.group ?? ObjectIdentifier(queue)
    queue.setSpecific(key: StoreQueue.current, value: group)
  }

  func sync<R>(_ body: (any StoreSession) throws -> R) throws -> R {
    // A caller that is already on the queue is inside a transaction of the user.
    if DispatchQueue.getSpecific(key: StoreQueue.current) == group { throw JobError(.insideTransaction) }
    return try queue.sync { try use(body) }
  }

  func async(_ body: @escaping @Sendable (any StoreSession) -> Void) {
    queue.async { [self] in lend(body) }
  }

  func run<R: Sendable>(_ body: @escaping @Sendable (any StoreSession) throws -> R) async throws -> R {
    let reply = Reply<R>()
    await withCheckedContinuation { continuation in
      queue.async { [self] in reply.give(Result { try use(body) }, resuming: continuation) }
    }
    return try reply.take()
  }

  // MARK: - Suspending

  var isSuspended: Bool {
    get { suspension.isOn }
    set { suspension.isOn = newValue }
  }

  func interrupt(_ last: @escaping @Sendable (any StoreSession) -> Void) async {
    interruptible.withLock(\.self)?.interrupt()
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        lend { session in session.store.ignoringSuspension { last(session) } }
        continuation.resume()
      }
    }
  }

  // MARK: - The session. Call on the queue

  private func lend(_ body: (SQLiteSession) -> Void) {
    // If it cannot be opened again, its next use reports why.
    try? renew()
    body(session)
    try? renew()
  }

  /// Where the file is only read, the body runs again if another program began to use the file
  /// meanwhile: reads until then may be partly old and partly new.
  private func use<R>(_ body: (any StoreSession) throws -> R) throws -> R {
    try session.store.refuseWhileSuspended()
    while true {
      try renew()
      let result = Result { try body(session) }
      guard session.store.connection.isUpToDate else { continue }
      try? renew()
      return try result.get()
    }
  }

  /// Opens the file again if what was read of it may be old, or if the connection could not leave
  /// its transaction: its locks would stay.
  private func renew() throws {
    let connection = session.store.connection
    if connection.isStuck { connection.rollBack() }
    guard !connection.isUpToDate || connection.isStuck, let open else { return }
    session = try open()
    interruptible.withLock { if $0 != nil { $0 = session.store.connection } }
  }
}
