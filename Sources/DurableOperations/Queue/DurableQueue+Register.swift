import CompositeOperations
public import Foundation

extension DurableQueue {
  /// Says what jobs of a type do: an operation for each attempt. Any operation: a composite, a workflow's, your own.
  ///
  /// The job is done when the operation succeeds. It runs again, after a delay, when the operation fails; ``JobSnooze`` and
  /// ``PermanentJobFailure`` are treated as they say. If the queue runs, stored jobs of the kind start at once.
  ///
  /// Traps if the kind is registered already, is empty, or the limit is below 1.
  ///
  /// - Parameters:
  ///   - type: the type of the jobs.
  ///   - maxConcurrent: how many of them run at once in this process; nil for as many as the queue allows.
  ///   - upgrade: makes the stored form of today from one of an older version of the type; nil if they decode as they are.
  ///     Called on a worker thread. What it throws makes the job dead.
  ///   - operation: makes the operation. Called on the worker thread that the operation will run on, once for each
  ///     attempt. What it throws is what the attempt fails with.
  /// - Throws: ``DatabaseError``.
  public func register<J: Job>(
    _ type: J.Type, maxConcurrent: Int? = nil, upgrade: (@Sendable (Data, _ version: Int) throws -> Data)? = nil,
    operation: @escaping @Sendable (J, JobContext) throws -> Operation
  ) throws {
    requireKind(of: type)
    try register(
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

  private func checked(_ limit: Int?, _ kind: String) -> Int {
    require(
      limit ?? 1 >= 1, "The kind “\(kind)” was registered with maxConcurrent \(limit ?? 0). Use 1 or more, or pause it."
    )
    return limit ?? .max
  }

  private func register(_ registration: Registration) throws {
    let kind = registration.kind
    let id = try core.database.sync { store in try store.transaction { try store.kindID(kind) } }
    let isNew = core.withLock { storage in
      guard storage.registrations[id] == nil else { return false }
      storage.registrations[id] = registration
      storage.state.register(kind: id, limit: registration.limit)
      return true
    }
    require(isNew, "The kind “\(kind)” was registered twice. Register each type once, with one kind for each.")
    core.pump()
  }
}
