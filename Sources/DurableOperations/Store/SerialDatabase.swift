import CompositeOperations
import Foundation

/// A connection, and the serial queue that alone uses it. A call waits for the calls before it, and for the disk.
final class SerialDatabase: @unchecked Sendable {  // the store is used on the queue alone
  private let store: JobStore
  private let queue: DispatchQueue
  /// The same for all connections of one core.
  private let group: ObjectIdentifier
  private static let current = DispatchSpecificKey<ObjectIdentifier>()

  init(
    path: String, configuration: DurableQueue.Configuration, events: EventHub, label: String, mustExist: Bool = false,
    besides writer: SerialDatabase? = nil
  ) throws {
    store = try JobStore(path: path, configuration: configuration, events: events, mustExist: mustExist)
    queue = DispatchQueue(label: "DurableOperations.\(label)", qos: .userInitiated, autoreleaseFrequency: .workItem)
    group = writer?.group ?? ObjectIdentifier(store)
    queue.setSpecific(key: Self.current, value: group)
  }

  /// Uses the store, and waits until that is done.
  func sync<R>(_ body: (JobStore) throws -> R) throws -> R {
    // Whoever is on the queue already is inside of a transaction of the user's.
    if DispatchQueue.getSpecific(key: Self.current) == group { throw JobError(.insideTransaction) }
    return try queue.sync { try body(store) }
  }

  /// Uses the store later.
  func async(_ body: @escaping @Sendable (JobStore) -> Void) {
    queue.async { [self] in body(store) }
  }

  /// Uses the store, and suspends until that is done.
  func run<R: Sendable>(_ body: @escaping @Sendable (JobStore) throws -> R) async throws -> R {
    let reply = Reply<R>()
    await withCheckedContinuation { continuation in
      async { store in reply.give(Result { try body(store) }, resuming: continuation) }
    }
    return try reply.take()
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
