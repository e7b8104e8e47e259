public import CompositeOperations

/// A reactor for all types of task, made of closures.
///
/// ```swift
/// ClosureReactor(when: { outcome, _ in outcome.error is ExpiredToken }) { context in
///   try await session.refresh()
///   return .requeue()
/// }
/// ```
public struct ClosureReactor: Reactor {
  private let decide: @Sendable (Outcome<any Sendable>, any ManagedTask) -> Bool
  private let makeKey: @Sendable (any ManagedTask) -> String?
  private let body: @Sendable (ReactionContext) async throws -> Reaction
  /// How reactions are carried out.
  public let configuration: ReactorConfiguration

  /// Makes a reactor.
  ///
  /// - Parameters:
  ///   - configuration: how reactions are carried out.
  ///   - key: what reactions are shared by; by default one for all tasks. See ``Reactor/key(for:)``.
  ///   - decide: whether to react to the end of an attempt, as ``Reactor/shouldReact(to:of:handle:)`` decides.
  ///   - body: reacts, as ``Reactor/react(to:)`` does.
  public init(
    configuration: ReactorConfiguration = ReactorConfiguration(),
    key: @escaping @Sendable (_ task: any ManagedTask) -> String? = { _ in "" },
    when decide: @escaping @Sendable (_ outcome: Outcome<any Sendable>, _ task: any ManagedTask) -> Bool,
    _ body: @escaping @Sendable (_ context: ReactionContext) async throws -> Reaction
  ) {
    self.configuration = configuration
    makeKey = key
    self.decide = decide
    self.body = body
  }

  /// Asks the closure.
  public func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool {
    decide(outcome.map { $0 }, task)
  }

  /// Asks the closure.
  public func key<T: ManagedTask>(for task: T) -> String? { makeKey(task) }

  /// Calls the closure.
  public func react(to context: ReactionContext) async throws -> Reaction { try await body(context) }
}
