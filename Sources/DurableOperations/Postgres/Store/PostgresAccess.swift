#if os(macOS) || os(Linux)
import CompositeOperations
import Foundation

/// A queue's access to a server: rounds and looks one after the other, everything else in parallel.
final class PostgresAccess: StoreAccess {
  let store: PostgresStore
  /// For rounds and looks.
  private let queue = DispatchQueue(label: "DurableOperations.postgres", qos: .userInitiated)

  init(_ store: PostgresStore) {
    self.store = store
    queue.setSpecific(key: StoreQueue.current, value: ObjectIdentifier(queue))
  }

  deinit {
    store.close()
  }

  var place: String { store.place }

  /// A test with its own clock decides when it is time.
  var isPaced: Bool { store.configuration.clock.isMachines }

  func sync<R>(_ body: (any StoreSession) throws -> R) throws -> R {
    if store.isInTransaction { throw JobError(.insideTransaction) }
    return try body(PostgresSession(store, pool: store.callers))
  }

  func async(_ body: @escaping @Sendable (any StoreSession) -> Void) {
    queue.async { [self] in body(PostgresSession(store, pool: store.rounds)) }
  }

  func run<R: Sendable>(_ body: @escaping @Sendable (any StoreSession) throws -> R) async throws -> R {
    try store.refuseWhileSuspended()
    do {
      return try await store.callers.runLending { [store] loan in
        try body(PostgresSession(store, pool: store.callers, loan: loan))
      }
    } catch let error as PostgresError {
      throw DatabaseError(error, place: place)
    }
  }

  func listen(_ heard: @escaping @Sendable (StoreNews) -> Void) {
    store.notifier.listen { [weak store] news in
      store?.cursors.withLock { $0.workHasCome() }
      heard(news)
    }
  }

  // MARK: - Suspending

  var isSuspended: Bool {
    get { store.state.withLock { $0.isSuspended } }
    set { store.state.withLock { $0.isSuspended = newValue } }
  }

  func interrupt(_ last: @escaping @Sendable (any StoreSession) -> Void) async {
    await withCheckedContinuation { continuation in
      // The server is asked to cancel running work, which takes a connection of its own.
      DispatchQueue.global(qos: .userInitiated).async { [self] in
        store.interrupt()
        queue.async { [self] in
          last(PostgresSession(store, pool: store.rounds, ignoresSuspension: true))
          continuation.resume()
        }
      }
    }
  }
}
#endif
