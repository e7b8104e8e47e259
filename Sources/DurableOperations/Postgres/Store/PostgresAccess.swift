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
    set {
      let wait = store.state.withLock { state -> PostgresRequestWait? in
        state.isSuspended = newValue
        guard !newValue else { return nil }
        // A suspension that still waits does not wait for what comes from now on. The next one
        // waits for both.
        let (before, calls) = (state.calls, DispatchGroup())
        calls.enter()
        before.notify(queue: .global(qos: .userInitiated)) { calls.leave() }
        state.calls = calls
        return state.requestWait
      }
      if let wait { shorten(wait) }
    }
  }

  func interrupt(_ last: @escaping @Sendable (any StoreSession) -> Void) async {
    let calls = store.state.withLock(\.calls)
    await withCheckedContinuation { continuation in
      keepInterrupting()
      calls.notify(queue: queue) { [self] in
        afterRequests { [self] in
          last(PostgresSession(store, pool: store.rounds, ignoresSuspension: true))
          continuation.resume()
        }
      }
    }
  }

  /// Asks the server to cancel what runs, now and every tenth of a second until nothing does: a
  /// statement may just be on its way to the server. A closure of the user goes on until its next
  /// statement, which is refused.
  private func keepInterrupting() {
    let requests = store.state.withLock { state in
      state.requestLimit = PostgresDeadline(after: store.options.statementTimeout)
      state.requests.enter()
      return state.requests
    }
    // On a thread of its own: to ask takes a connection.
    DispatchQueue.global(qos: .userInitiated).async { [self] in
      let isAnything = store.interrupt()
      requests.leave()
      guard isAnything else { return }
      DispatchQueue.global(qos: .userInitiated).asyncAfter(deadline: .now() + .milliseconds(100)) { [weak self] in
        self?.keepInterrupting()
      }
    }
  }

  /// Calls `body` when the requests have ended, after all calls: what comes last is not to be
  /// cancelled by one that is still on its way. Call it on the queue, which it holds until `body`
  /// has returned: what comes next must neither be cancelled nor come before that. It holds it
  /// without a thread, so that `body` is called on a thread of its own, where it may wait for the
  /// server.
  ///
  /// If the server is silent, libpq waits for it for ever, and only statements have a time limit.
  /// So has the wait: what a request was to cancel has reached its own limit by then and lost its
  /// connection, so that the request, should it arrive, finds nothing to cancel. If only requests
  /// do not get through, a late one may cancel what comes last, and the jobs are given back later.
  private func afterRequests(_ body: @escaping @Sendable () -> Void) {
    let (requests, limit) = store.state.withLock { ($0.requests, $0.requestLimit) }
    guard let limit else { return body() }
    queue.suspend()
    // It keeps this object: a queue of Dispatch must not be released while it is suspended.
    let wait = PostgresRequestWait { [self] in
      _ = store.state.withLock { $0.requestWait.take() }
      body()
      queue.resume()
    }
    let isSuspended = store.state.withLock { state -> Bool in
      state.requestWait = wait
      return state.isSuspended
    }
    wait.begin(for: requests, until: limit)
    if !isSuspended { shorten(wait) }
  }

  /// A wait does not last much longer than the suspension: what comes after it waits for it. May be
  /// called inside of a lock.
  private func shorten(_ wait: PostgresRequestWait) {
    // The queue may be suspended again by then, and resumed again later.
    wait.endSoon { [store] in !store.state.withLock(\.isSuspended) }
  }
}
#endif
