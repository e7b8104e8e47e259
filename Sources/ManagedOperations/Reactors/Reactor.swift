public import CompositeOperations

/// Looks at how attempts have ended, before the caller does, and may have tasks execute again.
///
/// ```swift
/// struct RefreshToken: Reactor {
///   let session: Session
///   func shouldReact<T: ManagedTask>(
///     to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
///   ) -> Bool {
///     outcome.error is ExpiredToken
///   }
///   func react(to context: ReactionContext) async throws -> Reaction {
///     try await session.refresh()
///     return .requeue()
///   }
/// }
/// ```
///
/// For the usual cases `.reacting(when:_:)`, `.retrying(_:where:)` and `.refreshingToken(_:)` are
/// shorter.
///
/// When an attempt has ended, the ``OperationManager`` asks all its reactors whether they want to
/// react. If several do, all react at the same time, and the outcome waits for these alone. A
/// reaction that fails the task goes before one that requeues it, and that before one that delivers
/// the outcome; of several delays the longest counts.
///
/// A reactor reacts once at a time for each ``key(for:)``: tasks that want the same reaction while
/// it is under way wait for it and share its answer. An attempt that started before such a reaction
/// requeued its tasks, and ends after it, needs no further one: the task is requeued without it,
/// with the same delay. If requeued tasks are intercepted again, so are the tasks of the key that
/// passed the interceptors before the reaction ended and have not started. So a hundred requests
/// that fail because of one expired token cause one refresh, including those whose answers arrive
/// after it.
///
/// Tasks that were cancelled or have timed out settle without being reacted to.
public protocol Reactor: Sendable {
  /// How reactions are carried out. Read once, when the manager is made; all defaults unless the
  /// reactor says otherwise.
  var configuration: ReactorConfiguration { get }

  /// Whether it wants to react to the end of an attempt.
  ///
  /// Called once for each attempt, on the thread that ended it, under no lock; it should not block.
  /// Not called for a task that the reactor has requeued `maxRequeues` times, as its configuration
  /// says. The outcome `.cancelled` means that the operation ended so by itself, or that its queue
  /// cancelled it.
  ///
  /// - Parameters:
  ///   - outcome: how the attempt has ended.
  ///   - task: the task, as the interceptors left it.
  ///   - handle: its handle.
  func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool

  /// What reactions to a task are shared by: all tasks of one key share one reaction. Nil gives
  /// each task its own. The default is one key for all tasks.
  ///
  /// Called after ``shouldReact(to:of:handle:)`` returned true, on the same thread, under no lock.
  /// If requeued tasks are intercepted again, it is also called for each task after its
  /// interception.
  func key<T: ManagedTask>(for task: T) -> String?

  /// Reacts.
  ///
  /// Called in a Swift task of its own, on the cooperative pool, under no lock. That is cancelled
  /// when the time of the ``configuration`` has passed, when the manager is stopped or released
  /// and, with a nil key, when the managed task is cancelled.
  ///
  /// - Parameter context: describes the first of the tasks that wait for the reaction.
  /// - Returns: what becomes of all tasks that wait for it.
  /// - Throws: makes them fail with ``ManagedTaskError``, whose code is `reactionFailed`;
  ///   `CancellationError` cancels them.
  func react(to context: ReactionContext) async throws -> Reaction
}

extension Reactor {
  /// All defaults.
  public var configuration: ReactorConfiguration { ReactorConfiguration() }

  /// One key for all tasks.
  public func key<T: ManagedTask>(for task: T) -> String? { "" }
}

/// What a ``Reactor`` decides about the tasks that wait for its reaction.
public enum Reaction: Sendable {
  /// The outcome of the attempt is the task's.
  case deliver
  /// The outcome is discarded, and the task executes again after a delay; at once if that is not
  /// positive. It goes ahead of newer tasks; if it is intercepted again, ahead of those that have
  /// not been intercepted.
  case requeue(after: Duration = .zero)
  /// The task fails with this error, unchanged. `CancellationError` cancels it.
  case fail(any Error)
}

/// How reactions of one ``Reactor`` are carried out.
public struct ReactorConfiguration: Sendable, Equatable {
  package var suspendsQueue: Bool
  package var reinterceptsOnRequeue: Bool
  package var timeout: Duration?
  package var maxRequeues: Int

  /// Makes a configuration.
  ///
  /// - Parameters:
  ///   - suspendsQueue: whether a reaction holds back all further attempts, of any task of the
  ///     manager, while it is under way and while the reactor is asked about a failure. Attempts
  ///     that have started go on. A delay of ``Reaction/requeue(after:)`` is not part of the
  ///     reaction.
  ///   - reinterceptsOnRequeue: whether requeued tasks go through the interceptors again. So do
  ///     tasks that passed them before the reaction ended and have not started: what interceptors
  ///     gave them, a token for example, is outdated.
  ///   - timeout: how long a reaction may take; nil for no limit. After that the tasks that wait
  ///     for it fail with ``ManagedTaskError``, whose code is `reactionTimedOut`.
  ///   - maxRequeues: how often this reactor may requeue one task. After that it is not asked, and
  ///     the outcome stands.
  public init(
    suspendsQueue: Bool = false, reinterceptsOnRequeue: Bool = false, timeout: Duration? = .seconds(60),
    maxRequeues: Int = 3
  ) {
    self.suspendsQueue = suspendsQueue
    self.reinterceptsOnRequeue = reinterceptsOnRequeue
    self.timeout = timeout
    self.maxRequeues = maxRequeues
  }
}

/// What a ``Reactor`` reacts to: the first of the tasks that wait for its reaction.
public struct ReactionContext: Sendable {
  /// The id of the task: that of its handle.
  public let taskID: Int
  /// The type of the task, as text.
  public let taskDescription: String
  /// Which attempt has ended, from 1.
  public let attempt: Int
  /// How it has ended.
  public let outcome: Outcome<any Sendable>
  /// The key that the waiting tasks share; nil if the reaction is for this task alone.
  public let key: String?
}
