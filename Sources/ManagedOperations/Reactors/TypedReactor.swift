public import CompositeOperations

/// A reactor for one type of task, made of closures. It does not react to others.
///
/// ```swift
/// TypedReactor(Search.self, when: { outcome, _ in outcome.error is ExpiredToken }) { context in
///   try await session.refresh()
///   return .requeue()
/// }
/// ```
public struct TypedReactor<Task: ManagedTask>: Reactor {
  private let decide: @Sendable (Outcome<Task.Value>, Task) -> Bool
  private let makeKey: @Sendable (Task) -> String?
  private let body: @Sendable (ReactionContext) async throws -> Reaction
  /// How reactions are carried out.
  public let configuration: ReactorConfiguration

  /// Makes a reactor.
  ///
  /// - Parameters:
  ///   - type: the type of the tasks that it is for.
  ///   - configuration: how reactions are carried out.
  ///   - key: what reactions are shared by; by default one for all tasks of the type. See ``Reactor/key(for:)``.
  ///   - decide: whether to react to the end of an attempt, as ``Reactor/shouldReact(to:of:handle:)`` decides.
  ///   - body: reacts, as ``Reactor/react(to:)`` does.
  public init(
    _ type: Task.Type, configuration: ReactorConfiguration = ReactorConfiguration(),
    key: @escaping @Sendable (_ task: Task) -> String? = { _ in "" },
    when decide: @escaping @Sendable (_ outcome: Outcome<Task.Value>, _ task: Task) -> Bool,
    _ body: @escaping @Sendable (_ context: ReactionContext) async throws -> Reaction
  ) {
    self.configuration = configuration
    makeKey = key
    self.decide = decide
    self.body = body
  }

  /// Asks the closure, for a task of its type.
  public func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool {
    guard let task = task as? Task, let outcome = outcome as? Outcome<Task.Value> else { return false }
    return decide(outcome, task)
  }

  /// Asks the closure.
  public func key<T: ManagedTask>(for task: T) -> String? {
    (task as? Task).flatMap(makeKey)
  }

  /// Calls the closure.
  public func react(to context: ReactionContext) async throws -> Reaction { try await body(context) }
}
