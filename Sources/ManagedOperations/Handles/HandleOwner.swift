import CompositeOperations

/// A manager as its handles and groups know it.
protocol HandleOwner: AnyObject, Sendable {
  /// A handle was started.
  func start(_ handle: SettlingOperation, id: Int)

  /// A handle was cancelled. Returns whether it can settle at once.
  func cancel(_ id: Int) -> Bool

  /// A handle that nobody has started was released.
  func forget(_ id: Int)

  /// The operation of the attempt that is under way.
  func operation(of id: Int) -> SettlingOperation?

  /// Where the task of a handle is on its way.
  func taskState(of id: Int) -> ManagedTaskState

  /// A group was started: between two of its tasks, and until its completion has run, the manager is not idle.
  func groupStarted()

  /// A group that was started has ended.
  func groupEnded()
}
