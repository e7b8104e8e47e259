import CompositeOperations
import Foundation

/// Jobs that wait to be stored together with others.
struct PendingEnqueue: Sendable {
  let jobs: [JobRequest]
  let reply: Reply<[JobID]>
  let continuation: CheckedContinuation<Void, Never>
}

extension QueueCore {
  /// Throws if one of the jobs cannot be stored.
  func checked(_ requests: [JobRequest]) throws -> [JobRequest] {
    for request in requests { try request.check(maxPayloadSize: configuration.maxPayloadSize) }
    return requests
  }

  func requests<J: Job>(for jobs: [J], _ options: JobOptions) throws -> [JobRequest] {
    requireKind(of: J.self)
    options.check()
    return try checked(jobs.map { JobRequest(encoding: $0, options: options) })
  }

  /// Stores jobs on the thread of the caller.
  func enqueue(_ jobs: [JobRequest]) throws -> [JobID] {
    let ids = try database.sync { store in
      let ids = try store.enqueue([jobs])[0].get()
      didEnqueue(jobs, in: store)
      return ids
    }
    pump()
    return ids
  }

  /// Follows up on stored jobs. Call on a thread of the store; a round must follow.
  func didEnqueue(_ jobs: [JobRequest], in store: any StoreSession) {
    guard !jobs.isEmpty else { return }
    let isRunning = withLock { storage in
      storage.state.workMayHaveCome()
      return storage.state.phase == .running
    }
    if isRunning, jobs.contains(where: { $0.options.start != .atOnce }) {
      lookAhead(in: store)
    } else if jobs.contains(where: { $0.options.uniqueKey?.conflict == .replace }) {
      // A job that was replaced may have ended, or no longer be due.
      wakeWaiters(in: store)
    }
  }

  /// Runs a closure of the user in a transaction. Call on a thread of the store; a round must
  /// follow.
  func transact<R>(in store: any StoreSession, _ body: (DatabaseTransaction) throws -> R) throws -> R {
    let (result, jobs) = try store.transact { try use($0, body) }
    didEnqueue(jobs, in: store)
    return result
  }

  /// Lends a transaction to the user, and reports the jobs that were stored in it.
  func use<R>(
    _ transaction: any StoreTransaction, _ body: (DatabaseTransaction) throws -> R
  ) throws -> (R, stored: [JobRequest]) {
    let transaction = DatabaseTransaction(transaction, self)
    defer { transaction.end() }
    return (try body(transaction), transaction.jobs)
  }

  /// Stores jobs on a thread of the store: all that arrive before their turn share one transaction.
  func enqueueLater(_ jobs: [JobRequest]) async throws -> [JobID] {
    let reply = Reply<[JobID]>()
    await withCheckedContinuation { continuation in
      let isFirst = withLock { storage in
        storage.pendingEnqueues.append(PendingEnqueue(jobs: jobs, reply: reply, continuation: continuation))
        return storage.pendingEnqueues.count == 1
      }
      if isFirst { database.async { [self] store in storePending(in: store) } }
    }
    return try reply.take()
  }

  /// About how many jobs are stored in one turn: rounds and looks, which renew the lease, wait
  /// meanwhile.
  private static let mostOfATurn = 2000

  private func storePending(in store: any StoreSession) {
    let (pending, isMoreLeft) = withLock { storage in
      var room = Self.mostOfATurn
      let pending = storage.pendingEnqueues.prefix { next in
        defer { room -= next.jobs.count }
        return room > 0
      }
      storage.pendingEnqueues.removeFirst(pending.count)
      return (Array(pending), !storage.pendingEnqueues.isEmpty)
    }
    do {
      finish(zip(pending, try store.enqueue(pending.map(\.jobs))).map { ($0, $1) }, in: store)
    } catch {
      finish(pending.map { ($0, .failure(error)) }, in: store)
    }
    pump()
    if isMoreLeft { database.async { [self] store in storePending(in: store) } }
  }

  private func finish(_ results: [(PendingEnqueue, Result<[JobID], any Error>)], in store: any StoreSession) {
    for (pending, result) in results {
      if case .success = result { didEnqueue(pending.jobs, in: store) }
      pending.reply.give(result, resuming: pending.continuation)
    }
  }
}
