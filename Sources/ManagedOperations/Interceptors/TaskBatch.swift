/// What one interceptor holds in one manager.
///
/// An ``Interceptor`` gets it when it is attached. It does not keep the manager alive; when that is gone, the batch is empty.
/// May be used from any thread, also inside `intercept`.
public struct TaskBatch: Sendable {
  private weak let core: ManagerCore?
  private let interceptor: Int

  init(of interceptor: Int, in core: ManagerCore) {
    self.core = core
    self.interceptor = interceptor
  }

  /// How many tasks are held. Those that were cancelled do not count.
  public var count: Int { core?.heldCount(of: interceptor) ?? 0 }

  /// Has tasks execute that are held, in the order in which they were, without being intercepted again.
  ///
  /// - Parameter maxCount: how many at most; all of them unless said otherwise.
  /// - Returns: how many were released.
  @discardableResult
  public func release(_ maxCount: Int = .max) -> Int {
    core?.release(maxCount, of: interceptor) ?? 0
  }

  /// Has one task execute, if it is held here.
  @discardableResult
  func release(identifier: Int) -> Bool {
    core?.release(identifier: identifier, of: interceptor) ?? false
  }

  /// Whether a task is held here and, if it is, how often the batch had been empty before it was held.
  func generation(of identifier: Int) -> Int? { core?.heldGeneration(of: identifier, interceptor) }

  /// Releases everything, unless the batch has been empty since.
  func release(generation: Int) {
    core?.release(generation: generation, of: interceptor)
  }

  /// Which batch it is, among those of all managers.
  var key: Key? { core.map { Key(core: ObjectIdentifier($0), interceptor: interceptor) } }

  struct Key: Hashable, Sendable {
    let core: ObjectIdentifier
    let interceptor: Int
  }
}

/// An interceptor of this module that knows more of the tasks that it is asked about than others do.
protocol BatchKeeping: Interceptor {
  /// Whether it never changes or discards a task, so that there is nothing to ask about one that it has let pass.
  var onlyHolds: Bool { get }
  /// Decides, as ``Interceptor/intercept(_:batchCount:)`` does. Nil lets the task execute and releases nothing.
  func answer<T: ManagedTask>(about task: inout T, batchCount: Int) async throws -> KeeperAnswer?
  /// A task is held. Called under no lock, perhaps after it has left again.
  ///
  /// - Parameter note: that of the answer.
  func didHold(identifier: Int, note: String?, in batch: TaskBatch)
}

extension BatchKeeping {
  var onlyHolds: Bool { true }
  func didHold(identifier: Int, note: String?, in batch: TaskBatch) {}
}

struct KeeperAnswer {
  let command: InterceptCommand
  /// What it wants to know about the task when that is held.
  var note: String?
}
