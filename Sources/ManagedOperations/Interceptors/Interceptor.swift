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

  /// It has become an interceptor of a manager. Called once for each, while the manager is being made.
  ///
  /// - Parameter batch: what it holds there, from now on. Keep it to release tasks at any time.
  func didAttach(to batch: TaskBatch)
}

extension Interceptor {
  /// 60 seconds.
  public var timeout: Duration? { .seconds(60) }

  /// Does nothing.
  public func didAttach(to batch: TaskBatch) {}
}

/// What an ``Interceptor`` wants to be done with a task.
///
/// If the combined command is to execute, each interceptor that answered `execute` or `forceExecute` releases what it holds
/// itself: those tasks execute first, in the order in which they were held, and the task in question after them. They are not
/// intercepted again. If it is to hold, they release that when the task is let go, unless all of it has left meanwhile. If it
/// is to discard, nothing is released.
///
/// A task that was let pass is asked about again before it starts if a reaction has ended meanwhile that has such tasks
/// intercepted again; see ``ReactorConfiguration/reinterceptsOnRequeue``. Then only `discard` counts: it is not held again, and
/// releases nothing.
public enum InterceptCommand: Sendable, Equatable, CaseIterable {
  /// Execute it, if the others think so too.
  case execute
  /// Execute it, whatever the others say.
  case forceExecute
  /// Keep it in the batch of this interceptor, until that is released: of the first one that says so.
  case hold
  /// Do not execute it: it fails with ``ManagedTaskError``, whose code is `discarded`.
  case discard
}
