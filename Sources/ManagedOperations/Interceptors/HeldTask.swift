/// The place of one task that an ``Interceptor`` holds.
///
/// An interceptor gets it in ``Interceptor/didHold(_:as:)``. It keeps neither the task nor the manager alive. May be used from
/// any thread, at any time: what has left its place cannot be released from there any more.
public struct HeldTask: Sendable {
  /// The identifier of the task, as in ``OperationHandle/identifier`` and ``ManagedEvent/taskIdentifier``.
  public let taskIdentifier: Int
  /// The batch that it is in.
  public let batch: TaskBatch
  /// Which filling of the batch it belongs to: a number that grows each time a task is held while the batch is empty. The
  /// first task with a number is the first of its filling.
  public let filling: Int
  let number: Int

  /// Whether the task is held here: it was neither released nor cancelled.
  public var isHeld: Bool { batch.isHeld(self) }

  /// Has the task execute by itself, without being intercepted again. The others stay.
  ///
  /// - Returns: false if it is not held here any more; nothing happens then.
  @discardableResult
  public func release() -> Bool { batch.release(self) }

  /// Has all tasks execute that are held together with this one, in the order in which they were held, whether or not it has
  /// left itself. Those that are held since the batch was empty stay.
  ///
  /// - Returns: how many were released.
  @discardableResult
  public func releaseFilling() -> Int { batch.release(filling: filling) }
}
