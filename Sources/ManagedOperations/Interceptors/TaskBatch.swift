/// The tasks that one interceptor holds in one manager.
///
/// An ``Interceptor`` gets it in ``Interceptor/didAttach(to:)``. It does not keep the manager
/// alive; after the manager's end the batch is empty. Any thread may use it, also inside
/// `intercept`. Two values are equal if they stand for the same batch.
public struct TaskBatch: Sendable, Hashable {
  fileprivate weak let owner: (any BatchOwner)?
  fileprivate let interceptor: Int
  /// Identifies the batch, also when the manager is gone.
  private let identity = Identity()

  private final class Identity: Sendable {}

  init(of interceptor: Int, in owner: any BatchOwner) {
    self.owner = owner
    self.interceptor = interceptor
  }

  /// Whether the manager still exists.
  package var isAttached: Bool { owner != nil }

  /// How many tasks are held. A cancelled task does not count.
  public var count: Int { owner?.heldCount(of: interceptor) ?? 0 }

  /// Lets held tasks execute, in the order in which they were held, without intercepting them
  /// again.
  ///
  /// - Parameter maxCount: how many at most; by default all of them.
  /// - Returns: how many were released.
  @discardableResult
  public func release(_ maxCount: Int = .max) -> Int {
    owner?.release(maxCount, of: interceptor) ?? 0
  }

  /// Whether both stand for the same batch.
  public static func == (left: TaskBatch, right: TaskBatch) -> Bool { left.identity === right.identity }

  /// Hashes the identity of the batch.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(identity)) }
}

/// The place of one task that an ``Interceptor`` holds.
///
/// An interceptor gets it in ``Interceptor/didHold(_:as:)``. It keeps neither the task nor the
/// manager alive. Any thread may use it, at any time: a task that has left its place cannot be
/// released from there.
public struct HeldTask: Sendable {
  /// The id of the task, as in ``OperationHandle/id`` and ``ManagedEvent/taskID``.
  public let taskID: Int
  /// The batch that it is in.
  public let batch: TaskBatch
  /// Which filling of the batch it belongs to: a number that grows each time a task is held while
  /// the batch is empty. The first task with a number is the first of its filling.
  package let filling: Int
  let number: Int

  /// Whether the task is held here: it was neither released nor cancelled.
  public var isHeld: Bool { batch.owner?.isHeld(taskID, number: number, by: batch.interceptor) ?? false }

  /// Lets this task alone execute, without intercepting it again.
  ///
  /// - Returns: false if it is no longer held here; nothing happens then.
  @discardableResult
  public func release() -> Bool { batch.owner?.release(taskID, number: number, of: batch.interceptor) ?? false }

  /// Lets all tasks execute that are held together with this one, in the order in which they were
  /// held, whether or not it has left itself. Tasks that came after the batch was empty stay.
  ///
  /// - Returns: how many were released.
  @discardableResult
  public func releaseFilling() -> Int { batch.owner?.release(filling: filling, of: batch.interceptor) ?? 0 }
}

/// A manager as the batches of its interceptors know it.
protocol BatchOwner: AnyObject, Sendable {
  /// How many tasks an interceptor holds.
  func heldCount(of interceptor: Int) -> Int

  /// Releases the tasks that were held first. Returns how many there were.
  func release(_ maxCount: Int, of interceptor: Int) -> Int

  /// Whether an interceptor holds a task under this number.
  func isHeld(_ id: Int, number: Int, by interceptor: Int) -> Bool

  /// Releases everything, unless the batch has been empty since. Returns how many tasks that were.
  func release(filling: Int, of interceptor: Int) -> Int

  /// Releases one task. Returns whether it was still held.
  func release(_ id: Int, number: Int, of interceptor: Int) -> Bool
}
