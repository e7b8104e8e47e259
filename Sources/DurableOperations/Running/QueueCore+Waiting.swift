import CompositeOperations
import Foundation

/// A task that waits until the database shows something.
struct DatabaseWaiter: Sendable {
  /// Whether it does, for the registered kinds.
  let isOver: @Sendable (any StoreSession, _ kinds: [Int64]) throws -> Bool
  let reply: Reply<Void>
  let continuation: CheckedContinuation<Void, Never>

  func end(_ result: Result<Void, any Error>) {
    reply.give(result, resuming: continuation)
  }
}

extension QueueCore {
  func waitUntilIdle() async throws {
    try await wait { store, kinds in try !store.isBusy(with: kinds) }
  }

  func waitUntilSettled(_ id: JobID) async throws {
    try await wait { store, _ in try store.state(of: id)?.isSettled ?? true }
  }

  /// Waits until the database shows something. Checks after each change by this process, and in
  /// each look.
  private func wait(
    until isOver: @escaping @Sendable (any StoreSession, _ kinds: [Int64]) throws -> Bool
  ) async throws {
    let number = withLock { storage in
      storage.lastWaiter += 1
      return storage.lastWaiter
    }
    let reply = Reply<Void>()
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        withLock { $0.waiters[number] = DatabaseWaiter(isOver: isOver, reply: reply, continuation: continuation) }
        // The task may have been cancelled before it was registered.
        if Task.isCancelled { return endWaiting(number) }
        database.async { [self] store in
          wakeWaiters(in: store)
          if let interval = configuration.pollInterval { setAlarm(in: interval) }
        }
      }
    } onCancel: {
      endWaiting(number)
    }
    try reply.take()
  }

  private func endWaiting(_ number: Int) {
    withLock { $0.waiters.removeValue(forKey: number) }?.end(.failure(CancellationError()))
  }

  /// Ends the waits that are over. Call on a thread of the store.
  func wakeWaiters(in store: any StoreSession) {
    // The resumed queue checks them again.
    if withLock({ $0.suspension != nil }) { return }
    // Runs after each round, mostly without waiters.
    let (waiters, kinds) = withLock { ($0.waiters, $0.waiters.isEmpty ? [] : Array($0.registrations.keys)) }
    for (number, waiter) in waiters {
      let result = Result { try waiter.isOver(store, kinds) }
      if case .success(false) = result { continue }
      // Suspended meanwhile.
      if case .failure(let error as DatabaseError) = result, error.code == .suspended { continue }
      // The wait may be cancelled in between.
      events.afterReports { [self] in
        withLock { $0.waiters.removeValue(forKey: number) }?.end(result.map { _ in })
      }
    }
  }
}
