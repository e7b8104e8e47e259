/// Looks at tasks before they execute, and may change, delay or drop them.
///
/// An ``OperationManager`` asks its interceptors about each task, in their order, one task at a time, in the order in which
/// tasks were started. All are asked; what they answer is combined: ``InterceptCommand/forceExecute`` goes before
/// ``InterceptCommand/discard``, that before ``InterceptCommand/hold``, that before ``InterceptCommand/execute``.
///
/// ```swift
/// struct Localize: Interceptor {
///   func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand {
///     if var search = task as? Search {
///       search.language = "fr"
///       task = search as! T
///     }
///     return .execute
///   }
/// }
/// ```
///
/// For one type of task ``TypedInterceptor`` needs no cast.
///
/// The interceptors of this module do nothing that these requirements do not say. So an interceptor around another one that
/// forwards all of them behaves like that one: ``timeout``, ``onlyHolds``, ``didAttach(to:)`` and ``didHold(_:as:)``, too, which
/// have defaults.
public protocol Interceptor: Sendable {
  /// Decides about a task, and may change it.
  ///
  /// Called in a task of the manager's, on the cooperative pool, under no lock. It may use the manager and any handle. As
  /// long as it has not returned, the tasks behind wait, which is why there is a ``timeout``. If the task in question is
  /// cancelled meanwhile, the Swift task that it runs in is too.
  ///
  /// - Parameters:
  ///   - task: the task. What it is when all interceptors have been asked is what will run.
  ///   - batchCount: how many tasks this interceptor holds, without this one.
  /// - Returns: what to do. See ``InterceptCommand``.
  /// - Throws: makes the task fail with ``ManagedTaskError``, whose code is `interceptionFailed`; `CancellationError`
  ///   cancels it. The interceptors behind this one are not asked, and nothing is released.
  func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand

  /// How long it may take about one task; 60 seconds unless said otherwise, nil for no limit.
  ///
  /// When the time has passed, the task fails with ``ManagedTaskError``, whose code is `interceptionTimedOut`, the Swift task
  /// that it runs in is cancelled, and the manager goes on with the tasks behind.
  var timeout: Duration? { get }

  /// Whether it only holds tasks, and never changes or discards one; false unless said otherwise.
  ///
  /// Then it is not asked again about a task that it has let execute, when a reaction has such tasks intercepted again. Read
  /// once, while the manager is being made.
  var onlyHolds: Bool { get }

  /// It has become an interceptor of a manager. Called once for each, while the manager is being made.
  ///
  /// - Parameter batch: what it holds there, from now on. Keep it to release tasks at any time.
  func didAttach(to batch: TaskBatch)

  /// A task is held here: all interceptors have been asked, and this one's ``InterceptCommand/hold`` decided.
  ///
  /// Called in the Swift task that it was asked in, under no lock, before the next task is intercepted. The task may have
  /// left meanwhile, if it was cancelled or released by others.
  ///
  /// - Parameters:
  ///   - task: the task, as the interceptors have left it.
  ///   - held: its place. Keep it to release the task, or the batch, when the time has come.
  func didHold<T: ManagedTask>(_ task: T, as held: HeldTask)
}

extension Interceptor {
  /// 60 seconds.
  public var timeout: Duration? { .seconds(60) }

  /// False.
  public var onlyHolds: Bool { false }

  /// Does nothing.
  public func didAttach(to batch: TaskBatch) {}

  /// Does nothing.
  public func didHold<T: ManagedTask>(_ task: T, as held: HeldTask) {}
}
