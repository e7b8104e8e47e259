/// Looks at tasks before they execute, and may change, delay or drop them.
///
/// An ``OperationManager`` asks its interceptors about each task, in their order, one task at a
/// time, in the order in which tasks were started. It asks all of them, and combines the answers:
/// ``InterceptCommand/forceExecute`` goes before ``InterceptCommand/discard``, that before
/// ``InterceptCommand/hold``, that before ``InterceptCommand/execute``.
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
/// For one type of task, `.intercepting(Search.self) { … }` needs no cast.
///
/// An interceptor that forwards all requirements to another one behaves like that one. This
/// includes the requirements that have defaults: ``timeout``, ``onlyHolds``, ``didAttach(to:)`` and
/// ``didHold(_:as:)``.
public protocol Interceptor: Sendable {
  /// Decides about a task, and may change it.
  ///
  /// The manager calls it in a Swift task of its own, on the cooperative pool, under no lock. It
  /// may use the manager and any handle. The tasks behind wait until it returns, which is why there
  /// is a ``timeout``. When the managed task is cancelled meanwhile, the Swift task is cancelled,
  /// too.
  ///
  /// - Parameters:
  ///   - task: the task. What it is after the last interceptor is what executes.
  ///   - batchCount: how many tasks this interceptor holds, without this one.
  /// - Returns: what to do. See ``InterceptCommand``.
  /// - Throws: makes the task fail with ``ManagedTaskError``, whose code is `interceptionFailed`;
  ///   `CancellationError` cancels it. The manager then asks no further interceptor, and releases
  ///   nothing.
  func intercept<T: ManagedTask>(_ task: inout T, batchCount: Int) async throws -> InterceptCommand

  /// How long it may take about one task; 60 seconds by default, nil for no limit.
  ///
  /// When the time has passed, the task fails with ``ManagedTaskError``, whose code is
  /// `interceptionTimedOut`. The manager cancels the Swift task that asks, and goes on with the
  /// next task.
  var timeout: Duration? { get }

  /// Whether it only holds tasks, and never changes or discards one; false by default.
  ///
  /// The manager does not ask such an interceptor again about a task that it has let execute, when
  /// a reaction has tasks intercepted again. Read once, when the manager is made.
  var onlyHolds: Bool { get }

  /// Tells the interceptor that it belongs to a manager. Called once for each manager, while that
  /// is being made.
  ///
  /// - Parameter batch: what it will hold there. Keep it to release tasks at any time.
  func didAttach(to batch: TaskBatch)

  /// Tells the interceptor that it holds a task: its ``InterceptCommand/hold`` decided.
  ///
  /// Called in the Swift task that asked it, under no lock, before the manager asks about the next
  /// task. By then the held task may have been cancelled or released.
  ///
  /// - Parameters:
  ///   - task: the task, as the interceptors have left it.
  ///   - held: its place. Keep it to release the task, or the batch, later.
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

/// What an ``Interceptor`` wants done with a task.
///
/// When the combined command is to execute, each interceptor that answered `execute` or
/// `forceExecute` releases what it holds itself: those tasks execute first, in the order in which
/// they were held, and the task in question after them. They are not intercepted again. When the
/// combined command is to hold, the interceptors release these tasks together with the held one,
/// unless their batch has been empty meanwhile. When it is to discard, they release nothing.
///
/// The manager asks again about a task that was let pass, before it starts, if a reaction has
/// outdated the answer; see `reinterceptsOnRequeue` of ``ReactorConfiguration``. Then only
/// `discard` counts: the task is not held again, and releases nothing.
///
/// More commands may come: a `switch` over them needs a `default`.
public struct InterceptCommand: Sendable, Hashable, CaseIterable, CustomStringConvertible {
  /// Execute it, if the others agree, and release what this interceptor holds.
  public static let execute = InterceptCommand(value: .execute)
  /// Execute it, whatever the others say, and release what this interceptor holds.
  public static let forceExecute = InterceptCommand(value: .forceExecute)
  /// Keep it in the batch of this interceptor, until that is released. If several say so, the first
  /// one holds it.
  public static let hold = InterceptCommand(value: .hold)
  /// Do not execute it: it fails with ``ManagedTaskError``, whose code is `discarded`.
  public static let discard = InterceptCommand(value: .discard)
  /// No opinion: the task does not concern this interceptor. It executes if the others agree, and
  /// releases nothing of what this interceptor holds.
  public static let pass = InterceptCommand(value: .pass)

  /// All commands of this version.
  public static let allCases: [InterceptCommand] = [.execute, .forceExecute, .hold, .discard, .pass]

  /// The command in a word, such as `forceExecute`.
  public var description: String { value.rawValue }

  /// What the library itself switches on, without a `default`.
  enum Value: String {
    case execute, forceExecute, hold, discard, pass
  }

  let value: Value
}
