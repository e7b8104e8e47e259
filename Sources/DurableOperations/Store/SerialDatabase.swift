import CompositeOperations
import Foundation

/// A connection, and the serial queue that alone uses it. A call waits for the calls before it, and for the disk.
final class SerialDatabase: @unchecked Sendable {  // the store is used on the queue alone
  private var store: JobStore
  /// Opens the file again, if it is only read; nil if not.
  private let open: (() throws -> JobStore)?
  private let queue: DispatchQueue
  /// The same for all connections of one core.
  private let group: ObjectIdentifier
  /// That of all connections of the core.
  let suspension: Suspension
  let path: String
  static let current = DispatchSpecificKey<ObjectIdentifier>()

  init(
    path: String, configuration: DurableQueue.Configuration, events: EventHub, label: String, mustExist: Bool = false,
    isReadOnly: Bool = false, besides writer: SerialDatabase? = nil
  ) throws {
    let suspension = writer?.suspension ?? Suspension()
    let open = {
      try JobStore(
        path: path, configuration: configuration, events: events, mustExist: mustExist, isReadOnly: isReadOnly,
        suspension: suspension)
    }
    self.suspension = suspension
    self.path = path
    store = try open()
    self.open = isReadOnly ? open : nil
    queue = DispatchQueue(label: "DurableOperations.\(label)", qos: .userInitiated, autoreleaseFrequency: .workItem)
    group = writer?.group ?? ObjectIdentifier(queue)
    queue.setSpecific(key: Self.current, value: group)
  }

  /// Uses the store, and waits until that is done.
  func sync<R>(_ body: (JobStore) throws -> R) throws -> R {
    // Whoever is on the queue already is inside of a transaction of the user's.
    if DispatchQueue.getSpecific(key: Self.current) == group { throw JobError(.insideTransaction) }
    return try queue.sync { try use(body) }
  }

  /// Uses the store later.
  func async(_ body: @escaping @Sendable (JobStore) -> Void) {
    queue.async { [self] in
      // If it cannot be opened again, what uses it says why.
      if let open, !store.connection.isUpToDate, let fresh = try? open() { store = fresh }
      body(store)
    }
  }

  /// Uses the store, and suspends until that is done.
  func run<R: Sendable>(_ body: @escaping @Sendable (JobStore) throws -> R) async throws -> R {
    let reply = Reply<R>()
    await withCheckedContinuation { continuation in
      queue.async { [self] in reply.give(Result { try use(body) }, resuming: continuation) }
    }
    return try reply.take()
  }

  // MARK: - Suspending

  /// Has what runs fail. `last` is called when all is over that was asked before; it may use the store though it is suspended.
  func interrupt(_ last: @escaping @Sendable (JobStore) -> Void) async {
    // One that is only read may be replaced by another meanwhile, and holds no lock for long.
    if open == nil { store.connection.interrupt() }
    await withCheckedContinuation { continuation in
      queue.async { [self] in
        store.ignoringSuspension { last(store) }
        continuation.resume()
      }
    }
  }

  /// On the queue. Where the file is only read it is read again if another program began to use it meanwhile: what was read
  /// until then may be partly old and partly new.
  private func use<R>(_ body: (JobStore) throws -> R) throws -> R {
    try store.refuseWhileSuspended()
    guard let open else { return try body(store) }
    while true {
      if !store.connection.isUpToDate { store = try open() }
      let result = Result { try body(store) }
      if store.connection.isUpToDate { return try result.get() }
    }
  }
}

/// A result for a task that waits. It goes through a lock, and the continuations are checked ones: if a result comes before
/// its task waits, ThreadSanitizer takes the use of that task's memory by unchecked ones for a race.
final class Reply<Value: Sendable>: Sendable {
  private let result = LockBox<Result<Value, any Error>?>(nil)

  func give(_ result: Result<Value, any Error>, resuming waiter: CheckedContinuation<Void, Never>) {
    self.result.withLock { $0 = result }
    waiter.resume()
  }

  func take() throws -> Value {
    guard let result = result.withLock({ $0.take() }) else {
      preconditionFailure("A task goes on before it was given what it waits for")
    }
    return try result.get()
  }
}
