public import CompositeOperations

/// Looks at how attempts have ended, before anybody else gets to know it, and may have them run again.
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
/// When an attempt has ended, all reactors of the ``OperationManager`` are asked whether they want to react. If several do,
/// all react, at the same time, and the outcome waits for these alone: one that fails it goes before one that requeues it,
/// with the longest delay, and that before delivering.
///
/// A reactor reacts once at a time for each ``key(for:)``: tasks that want the same reaction while it is under way wait for it
/// and share its answer. And an attempt that had started before the last reaction of its key that requeued ended needs no
/// further one: it is requeued at once. If requeued tasks are intercepted again, so are those of the key that the interceptors
/// had let pass before the reaction ended, and that have not started. So a hundred requests that fail because of one expired token cause one refresh, also those whose answers
/// arrive after it.
///
/// Tasks that were cancelled, or have timed out, are settled without asking anybody.
public protocol Reactor: Sendable {
  /// How reactions are carried out. Read once, when the manager is made; `.init()` unless said otherwise.
  var configuration: ReactorConfiguration { get }

  /// Whether it wants to react to the end of an attempt.
  ///
  /// Called once for each attempt, where operations run, under no lock; not any more for a task that it has requeued
  /// ``ReactorConfiguration/maxRequeues`` times. It should not block. An outcome that is `.cancelled` means that the operation
  /// ended so by itself, or was cancelled by its queue.
  ///
  /// - Parameters:
  ///   - outcome: how the attempt has ended.
  ///   - task: the task, as the interceptors left it.
  ///   - handle: its handle.
  func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool

  /// What reactions to a task are shared by: all tasks of one key share one reaction. Nil if each task needs its own. The
  /// default is one key for all tasks.
  ///
  /// Called after ``shouldReact(to:of:handle:)`` said yes, where operations run, under no lock. If requeued tasks are intercepted
  /// again, also about each task that interceptors were asked about, after they were.
  func key<T: ManagedTask>(for task: T) -> String?

  /// Reacts.
  ///
  /// Called in a Swift task of its own, on the cooperative pool, under no lock; that is cancelled if the time of the
  /// ``configuration`` has passed, the manager is shut down or released or, with a nil key, the task is cancelled.
  ///
  /// - Parameter context: about the first of the tasks that it reacts to.
  /// - Returns: what becomes of all tasks that wait for it.
  /// - Throws: makes them fail with ``ManagedTaskError``, whose code is `reactionFailed`; `CancellationError` cancels them.
  func react(to context: ReactionContext) async throws -> Reaction
}

extension Reactor {
  /// All defaults.
  public var configuration: ReactorConfiguration { ReactorConfiguration() }

  /// One key for all tasks.
  public func key<T: ManagedTask>(for task: T) -> String? { "" }
}

/// What a ``Reactor`` wants to become of the tasks that it reacted to.
public enum Reaction: Sendable {
  /// The outcome of the attempt is the task's.
  case deliver
  /// The outcome is forgotten and the task executes again after a delay; at once if it is not positive. It goes ahead of newer
  /// ones; if it is intercepted again, of those that are intercepted after it.
  case requeue(after: Duration = .zero)
  /// The task fails with this error, as it is. `CancellationError` cancels it.
  case fail(any Error)
}

/// How reactions of one ``Reactor`` are carried out.
public struct ReactorConfiguration: Sendable, Equatable {
  /// Whether no further attempt starts, of any task of the manager, while such a reaction is under way. Attempts that have
  /// started go on. A delay of ``Reaction/requeue(after:)`` is not part of the reaction.
  public var suspendsQueue: Bool
  /// Whether requeued tasks go through the interceptors again, and with them those that were let pass before the reaction ended,
  /// and have not started: what interceptors have made of them, with a token for example, is outdated.
  public var reinterceptsOnRequeue: Bool
  /// How long a reaction may take; nil for no limit. After that the tasks that wait for it fail with ``ManagedTaskError``,
  /// whose code is `reactionTimedOut`.
  public var timeout: Duration?
  /// How often one task may be requeued by this reactor. After that the reactor is not asked, and the outcome stands.
  public var maxRequeues: Int

  /// Makes a configuration.
  ///
  /// - Parameters:
  ///   - suspendsQueue: whether no further attempt starts while a reaction is under way, nor while the reactor is asked
  ///     whether it reacts to a failure.
  ///   - reinterceptsOnRequeue: whether requeued tasks go through the interceptors again.
  ///   - timeout: how long a reaction may take; nil for no limit.
  ///   - maxRequeues: how often one task may be requeued by the reactor.
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
  /// The identifier of the task: that of its handle.
  public let taskIdentifier: Int
  /// The type of the task, as text.
  public let taskDescription: String
  /// Which attempt has ended, from 1.
  public let attempt: Int
  /// How it has ended.
  public let outcome: Outcome<any Sendable>
  /// What is shared by the tasks that wait for this reaction; nil if it is for this task alone.
  public let key: String?

  /// What the attempt has failed with, if it has.
  public var error: (any Error)? { outcome.error }
}
