public import CompositeOperations

// The reactors of this module, to be named after a dot where a reactor is expected.

extension Reactor where Self == ClosureReactor {
  /// A reactor for all types of task. See ``ClosureReactor``.
  ///
  /// - Parameters:
  ///   - configuration: how reactions are carried out.
  ///   - key: what reactions are shared by; by default one for all tasks. See ``Reactor/key(for:)``.
  ///   - decide: whether to react to the end of an attempt, as ``Reactor/shouldReact(to:of:handle:)`` decides.
  ///   - body: reacts, as ``Reactor/react(to:)`` does.
  public static func reacting(
    configuration: ReactorConfiguration = ReactorConfiguration(),
    key: @escaping @Sendable (_ task: any ManagedTask) -> String? = { _ in "" },
    when decide: @escaping @Sendable (_ outcome: Outcome<any Sendable>, _ task: any ManagedTask) -> Bool,
    _ body: @escaping @Sendable (_ context: ReactionContext) async throws -> Reaction
  ) -> Self {
    ClosureReactor(configuration: configuration, key: key, when: decide, body)
  }
}

extension Reactor {
  /// A reactor for one type of task. See ``TypedReactor``.
  ///
  /// - Parameters:
  ///   - type: the type of the tasks that it is for.
  ///   - configuration: how reactions are carried out.
  ///   - key: what reactions are shared by; by default one for all tasks of the type. See ``Reactor/key(for:)``.
  ///   - decide: whether to react to the end of an attempt, as ``Reactor/shouldReact(to:of:handle:)`` decides.
  ///   - body: reacts, as ``Reactor/react(to:)`` does.
  public static func reacting<Task: ManagedTask>(
    to type: Task.Type, configuration: ReactorConfiguration = ReactorConfiguration(),
    key: @escaping @Sendable (_ task: Task) -> String? = { _ in "" },
    when decide: @escaping @Sendable (_ outcome: Outcome<Task.Value>, _ task: Task) -> Bool,
    _ body: @escaping @Sendable (_ context: ReactionContext) async throws -> Reaction
  ) -> Self where Self == TypedReactor<Task> {
    TypedReactor(type, configuration: configuration, key: key, when: decide, body)
  }
}

extension Reactor where Self == RetryReactor {
  /// Has tasks that failed execute again. See ``RetryReactor``.
  ///
  /// - Parameters:
  ///   - policy: how often, after how long, and after which errors.
  ///   - isFor: which tasks may be retried; by default all.
  public static func retrying(
    _ policy: RetryPolicy = RetryPolicy(),
    where isFor: @escaping @Sendable (_ task: any ManagedTask) -> Bool = { _ in true }
  ) -> Self {
    RetryReactor(policy: policy, where: isFor)
  }
}
