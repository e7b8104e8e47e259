import CompositeOperations
public import Foundation

extension DurableQueue {
  /// Says what jobs of a type do: an operation for each attempt. Any operation: a composite, a workflow's, your own.
  ///
  /// The job is done when the operation succeeds. It runs again, after a delay, when the operation fails; ``JobSnooze`` and
  /// ``PermanentJobFailure`` are treated as they say. If the queue runs, stored jobs of the kind start at once.
  ///
  /// Traps if the kind is empty, or the limit is below 1.
  ///
  /// - Parameters:
  ///   - type: the type of the jobs.
  ///   - maxConcurrent: how many of them run at once in this process; nil for as many as the queue allows.
  ///   - upgrade: makes the stored form of today from one of an older version of the type; nil if they decode as they are.
  ///     Called on a worker thread. What it throws makes the job dead.
  ///   - operation: makes the operation. Called on the worker thread that the operation will run on, once for each
  ///     attempt. What it throws is what the attempt fails with.
  /// - Throws: ``JobError`` if the kind is registered already, which then stays as it is; ``DatabaseError``.
  public func register<J: Job>(
    _ type: J.Type, maxConcurrent: Int? = nil, upgrade: (@Sendable (Data, _ version: Int) throws -> Data)? = nil,
    operation: @escaping @Sendable (J, JobContext) throws -> Operation
  ) throws {
    requireKind(of: type)
    try register(
      Registration(type, limit: checked(maxConcurrent, J.kind), upgrade: upgrade, makeOperation: operation))
  }

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
  public func register<J: Job>(
    _ type: J.Type, maxConcurrent: Int? = nil, upgrade: (@Sendable (Data, _ version: Int) throws -> Data)? = nil,
    operation: @escaping @Sendable (J, JobContext) throws -> Operation
  ) async throws {
    requireKind(of: type)
    try await register(
      Registration(type, limit: checked(maxConcurrent, J.kind), upgrade: upgrade, makeOperation: operation))
  }

  /// Says what jobs of a type do: an `async` closure for each attempt.
  ///
  /// As the other form; the closure runs in a task of its own, which is cancelled when the attempt is. A closure of several
  /// statements none of which awaits needs its `async`, or it is taken for the other form:
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

  /// The same, without using the database on the thread of the caller: the form that `async` functions get.
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

  /// Forgets what jobs of a kind do: none of them is claimed here any more. What executes goes on; other processes, and what is
  /// stored, are as they were. It may be registered again. ``waitUntilIdle()`` no longer waits for its jobs.
  ///
  /// - Returns: whether it was registered.
  @discardableResult
  public func unregister(kind: String) -> Bool {
    let wasRegistered = core.withLock { storage in
      let name = KindName(kind)
      guard let id = storage.registrations.first(where: { KindName($0.value.kind) == name })?.key else { return false }
      storage.registrations[id] = nil
      storage.state.unregister(kind: id)
      return true
    }
    guard wasRegistered else { return false }
    // Others may have waited for a job of it that was to run alone.
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
      // It may have been registered before.
      let running = storage.executions.values.count { $0.job.kind == id }
      storage.state.register(kind: id, limit: registration.limit, running: running)
      return true
    }
    guard isNew else { throw JobError(.registeredTwice, kind: registration.kind) }
    pump()
  }
}
