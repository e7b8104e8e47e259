import CompositeOperations
public import Foundation

extension DurableQueue {
  /// Registers a type of jobs with a closure that makes an operation for each attempt: a composite,
  /// the operation of a workflow, or any other.
  ///
  /// The job is done when the operation succeeds. When the operation fails, the job runs again
  /// after a delay; ``JobSnooze`` and ``PermanentJobFailure`` have their own meaning. If the queue
  /// runs, stored jobs of the kind start at once.
  ///
  /// Traps if the kind is empty, or the limit is below 1.
  ///
  /// - Parameters:
  ///   - type: the type of the jobs.
  ///   - maxConcurrent: how many of them run at once in this process; nil for as many as the queue
  ///     allows.
  ///   - upgrade: converts the stored form of an older version of the type to the current one; nil
  ///     if older forms decode as they are. Called on a worker thread. If it throws, the job is
  ///     dead.
  ///   - operation: makes the operation. Called once for each attempt, on the worker thread that
  ///     will run the operation. If it throws, the attempt fails with that error.
  /// - Throws: ``JobError`` if the kind is registered already, whose registration then stays;
  ///   ``DatabaseError``.
  public func register<J: Job>(
    _ type: J.Type, maxConcurrent: Int? = nil, upgrade: (@Sendable (Data, _ version: Int) throws -> Data)? = nil,
    operation: @escaping @Sendable (J, JobContext) throws -> Operation
  ) throws {
    requireKind(of: type)
    try register(
      Registration(type, limit: checked(maxConcurrent, J.kind), upgrade: upgrade, makeOperation: operation))
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func register<J: Job>(
    _ type: J.Type, maxConcurrent: Int? = nil, upgrade: (@Sendable (Data, _ version: Int) throws -> Data)? = nil,
    operation: @escaping @Sendable (J, JobContext) throws -> Operation
  ) async throws {
    requireKind(of: type)
    try await register(
      Registration(type, limit: checked(maxConcurrent, J.kind), upgrade: upgrade, makeOperation: operation))
  }

  /// Registers a type of jobs with an `async` closure that performs each attempt.
  ///
  /// This works as the other form does; the closure runs in a task of its own, which is cancelled
  /// with the attempt. A closure of several statements without an `await` needs an explicit
  /// `async`; otherwise the compiler takes it for the other form:
  ///
  /// ```swift
  /// try queue.register(Log.self) { entry, context async throws in
  ///   guard entry.isComplete else { throw Incomplete() }
  ///   log.append(entry)
  /// }
  /// ```
  public func register<J: Job>(
    _ type: J.Type, maxConcurrent: Int? = nil, upgrade: (@Sendable (Data, _ version: Int) throws -> Data)? = nil,
    perform: @escaping @Sendable (J, JobContext) async throws -> Void
  ) throws {
    requireKind(of: type)
    try register(
      Registration(type, limit: checked(maxConcurrent, J.kind), upgrade: upgrade) { job, context in
        AsyncOperation { try await perform(job, context) }
      })
  }

  /// Does the same without blocking the thread of the caller on the database; `async` functions
  /// call this form.
  public func register<J: Job>(
    _ type: J.Type, maxConcurrent: Int? = nil, upgrade: (@Sendable (Data, _ version: Int) throws -> Data)? = nil,
    perform: @escaping @Sendable (J, JobContext) async throws -> Void
  ) async throws {
    requireKind(of: type)
    try await register(
      Registration(type, limit: checked(maxConcurrent, J.kind), upgrade: upgrade) { job, context in
        AsyncOperation { try await perform(job, context) }
      })
  }

  private func checked(_ limit: Int?, _ kind: String) -> Int {
    require(
      limit ?? 1 >= 1, "The kind “\(kind)” was registered with maxConcurrent \(limit ?? 0). Use 1 or more, or pause it."
    )
    return limit ?? .max
  }

  /// Removes the registration of a kind: this process claims no more of its jobs. Executing jobs go
  /// on; other processes and stored jobs are unaffected. The kind may be registered again.
  /// ``waitUntilIdle()`` no longer waits for its jobs.
  ///
  /// - Returns: whether it was registered.
  @discardableResult
  public func unregister(kind: String) -> Bool {
    let removed = core.withLock { storage -> Registration? in
      let name = KindName(kind)
      guard let id = storage.registrations.first(where: { KindName($0.value.kind) == name })?.key else { return nil }
      storage.state.unregister(kind: id)
      return storage.registrations.removeValue(forKey: id)
    }
    guard let removed else { return false }
    // Not under the lock: what its closures hold may call the queue when it is released.
    withExtendedLifetime(removed) {}
    // Other jobs may have waited for one of this kind that was to run alone.
    core.pump()
    core.database.async { [core] in core.wakeWaiters(in: $0) }
    return true
  }

  private func register(_ registration: Registration) throws {
    let kind = registration.kind
    let id = try core.database.sync { try $0.number(ofKind: kind) }
    try core.register(registration, id: id)
  }

  private func register(_ registration: Registration) async throws {
    let kind = registration.kind
    let id = try await core.database.run { try $0.number(ofKind: kind) }
    try core.register(registration, id: id)
  }
}

extension QueueCore {
  fileprivate func register(_ registration: Registration, id: Int64) throws {
    let isNew = withLock { storage in
      guard storage.registrations[id] == nil else { return false }
      storage.registrations[id] = registration
      storage.kindNames[id] = registration.kind
      // The kind may have been registered before.
      let running = storage.executions.values.count { $0.job.kind == id }
      storage.state.register(kind: id, limit: registration.limit, running: running)
      return true
    }
    guard isNew else { throw JobError(.registeredTwice, kind: registration.kind) }
    pump()
  }
}
