public import CompositeOperations

/// A reactor that is written after a dot: `.reacting`, `.retrying` or `.refreshingToken`.
///
/// ```swift
/// let refresh: AnyReactor = .reacting(when: { outcome, _ in outcome.error is ExpiredToken }) { _ in
///   try await session.refresh()
///   return .requeue()
/// }
/// let manager = OperationManager(reactors: [refresh, .retrying()])
/// ```
public struct AnyReactor: Reactor {
  /// What it does. A manager asks this one.
  let base: any Reactor
  /// How it was written, for events and errors.
  let name: String

  /// How its reactions are carried out.
  public var configuration: ReactorConfiguration { base.configuration }

  /// Decides as it was made to.
  public func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool {
    base.shouldReact(to: outcome, of: task, handle: handle)
  }

  /// What its reactions are shared by.
  public func key<T: ManagedTask>(for task: T) -> String? { base.key(for: task) }

  /// Reacts as it was made to.
  public func react(to context: ReactionContext) async throws -> Reaction { try await base.react(to: context) }
}

extension Reactor where Self == AnyReactor {
  /// Reacts to tasks of all types with a closure.
  ///
  /// ```swift
  /// .reacting(when: { outcome, _ in outcome.error is ExpiredToken }) { context in
  ///   try await session.refresh()
  ///   return .requeue()
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - configuration: how reactions are carried out.
  ///   - key: what reactions are shared by; by default one key for all tasks. See
  ///     ``Reactor/key(for:)``.
  ///   - decide: whether to react to the end of an attempt, as
  ///     ``Reactor/shouldReact(to:of:handle:)`` decides.
  ///   - body: reacts, as ``Reactor/react(to:)`` does.
  public static func reacting(
    configuration: ReactorConfiguration = ReactorConfiguration(),
    key: @escaping @Sendable (_ task: any ManagedTask) -> String? = { _ in "" },
    when decide: @escaping @Sendable (_ outcome: Outcome<any Sendable>, _ task: any ManagedTask) -> Bool,
    _ body: @escaping @Sendable (_ context: ReactionContext) async throws -> Reaction
  ) -> Self {
    AnyReactor(
      base: ClosureReactor(configuration: configuration, makeKey: key, decide: decide, body: body), name: ".reacting")
  }

  /// Reacts to tasks of one type with a closure, and to no others.
  ///
  /// - Parameters:
  ///   - type: the type of the tasks that it is for.
  ///   - configuration: how reactions are carried out.
  ///   - key: what reactions are shared by; by default one key for all tasks of the type. See
  ///     ``Reactor/key(for:)``.
  ///   - decide: whether to react to the end of an attempt, as
  ///     ``Reactor/shouldReact(to:of:handle:)`` decides.
  ///   - body: reacts, as ``Reactor/react(to:)`` does.
  public static func reacting<Task: ManagedTask>(
    to type: Task.Type, configuration: ReactorConfiguration = ReactorConfiguration(),
    key: @escaping @Sendable (_ task: Task) -> String? = { _ in "" },
    when decide: @escaping @Sendable (_ outcome: Outcome<Task.Value>, _ task: Task) -> Bool,
    _ body: @escaping @Sendable (_ context: ReactionContext) async throws -> Reaction
  ) -> Self {
    let reactor = ClosureReactor(
      configuration: configuration, makeKey: { ($0 as? Task).flatMap(key) },
      decide: { outcome, task in
        guard let task = task as? Task else { return false }
        return decide(outcome.map { $0 as! Task.Value }, task)
      }, body: body)
    return AnyReactor(base: reactor, name: ".reacting(to: \(type).self)")
  }
}

private struct ClosureReactor: Reactor {
  let configuration: ReactorConfiguration
  let makeKey: @Sendable (any ManagedTask) -> String?
  let decide: @Sendable (Outcome<any Sendable>, any ManagedTask) -> Bool
  let body: @Sendable (ReactionContext) async throws -> Reaction

  func shouldReact<T: ManagedTask>(
    to outcome: Outcome<T.Value>, of task: T, handle: OperationHandle<T.Value>
  ) -> Bool {
    decide(outcome.map { $0 }, task)
  }

  func key<T: ManagedTask>(for task: T) -> String? { makeKey(task) }

  func react(to context: ReactionContext) async throws -> Reaction { try await body(context) }
}
