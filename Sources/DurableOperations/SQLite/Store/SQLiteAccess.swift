import CompositeOperations
import Foundation

/// A connection, and the serial queue that alone uses it. A call waits for the calls before it, and
/// for the disk.
final class SQLiteAccess: StoreAccess, @unchecked Sendable {  // the session is used on the queue alone
  private var session: SQLiteSession
  /// Opens the file again, if it is only read; nil otherwise.
  private let open: (() throws -> SQLiteSession)?
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
    let open = {
      try SQLiteStore(
        path: path, configuration: configuration, events: events, mustExist: mustExist, isReadOnly: isReadOnly,
        suspension: suspension)
    }
    self.suspension = suspension
    place = path
    let store = try open()
    session = SQLiteSession(store, configuration: configuration)
    self.open = isReadOnly ? { SQLiteSession(try open(), configuration: configuration) } : nil
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
    queue.async { [self] in
      // If it cannot be opened again, its next use reports why.
      if let open, !session.store.connection.isUpToDate, let fresh = try? open() { session = fresh }
      body(session)
    }
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
    // A connection that only reads may be replaced meanwhile, and holds no lock for long.
    if open == nil { session.store.connection.interrupt() }
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        session.store.ignoringSuspension { last(session) }
        continuation.resume()
      }
    }
  }

  /// Call on the queue. Where the file is only read, the body runs again if another program began
  /// to use the file meanwhile: reads until then may be partly old and partly new.
  private func use<R>(_ body: (any StoreSession) throws -> R) throws -> R {
    try session.store.refuseWhileSuspended()
    guard let open else { return try body(session) }
    while true {
      if !session.store.connection.isUpToDate { session = try open() }
      let result = Result { try body(session) }
      if session.store.connection.isUpToDate { return try result.get() }
    }
  }
}
