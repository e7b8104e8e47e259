/// What one interceptor holds in one manager.
///
/// An ``Interceptor`` gets it when it is attached. It does not keep the manager alive; when that is gone, the batch is empty.
/// May be used from any thread, also inside `intercept`. Batches are equal if they are the same one.
public struct TaskBatch: Sendable, Hashable {
  private weak let owner: (any BatchOwner)?
  private let interceptor: Int
  /// What it is known by, also when the manager is gone.
  private let identity = Identity()

  private final class Identity: Sendable {}

  init(of interceptor: Int, in owner: any BatchOwner) {
    self.owner = owner
    self.interceptor = interceptor
  }

  /// Whether the manager is still there.
  public var isAttached: Bool { owner != nil }

  /// How many tasks are held. Those that were cancelled do not count.
  public var count: Int { owner?.heldCount(of: interceptor) ?? 0 }

  /// Has tasks execute that are held, in the order in which they were, without being intercepted again.
  ///
  /// - Parameter maxCount: how many at most; all of them unless said otherwise.
  /// - Returns: how many were released.
  @discardableResult
  public func release(_ maxCount: Int = .max) -> Int {
    owner?.release(maxCount, of: interceptor) ?? 0
  }

  func isHeld(_ task: HeldTask) -> Bool {
    owner?.isHeld(task.taskIdentifier, number: task.number, by: interceptor) ?? false
  }

  func release(_ task: HeldTask) -> Bool {
    owner?.release(task.taskIdentifier, number: task.number, of: interceptor) ?? false
  }

  func release(filling: Int) -> Int {
    owner?.release(filling: filling, of: interceptor) ?? 0
  }

  /// Whether both are the same batch.
  public static func == (left: TaskBatch, right: TaskBatch) -> Bool { left.identity === right.identity }

  /// Hashes what makes the batch different from others.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}
