import Foundation

/// A condition made of a closure, or of other conditions.
///
/// ```swift
/// let isDry = Condition("the wood is dry") { _ in try await sensor.humidity() < 20 }
/// let fire = lightFire.condition(isDry && !Condition("storm") { _ in await weather.isStormy })
/// ```
public struct Condition: OperationCondition {
  /// What the condition is called in a ``ConditionError``.
  public let name: String
  /// What runs before it is evaluated.
  let prerequisites: @Sendable (ConditionContext) -> [Operation]
  private let evaluation: @Sendable (ConditionContext) async throws -> Void

  init(
    name: String, prerequisites: @escaping @Sendable (ConditionContext) -> [Operation] = { _ in [] },
    evaluation: @escaping @Sendable (ConditionContext) async throws -> Void
  ) {
    self.name = name
    self.prerequisites = prerequisites
    self.evaluation = evaluation
  }

  /// Makes a condition of a closure that says whether it holds.
  ///
  /// - Parameters:
  ///   - name: what it is called in a ``ConditionError``.
  ///   - isMet: says whether it holds, or throws why it does not. Called as
  ///     ``OperationCondition/evaluate(_:)`` is, once for each operation that has the condition.
  public init(
    _ name: String = "Condition", isMet: @escaping @Sendable (_ context: ConditionContext) async throws -> Bool
  ) {
    self.init(name: name) { context in
      if !(try await isMet(context)) { throw ConditionError.Unmet("it does not hold") }
    }
  }

  /// Wraps a condition of any type.
  public init(_ condition: some OperationCondition) {
    if let condition = condition as? Condition {
      self = condition
    } else {
      self.init(
        name: condition.name, prerequisites: { context in condition.prerequisite(for: context).map { [$0] } ?? [] },
        evaluation: condition.evaluate)
    }
  }

  /// What runs before the condition is evaluated: its prerequisites, all in parallel; nil if there
  /// are none.
  public func prerequisite(for context: ConditionContext) -> Operation? {
    let operations = prerequisites(context)
    return operations.count > 1 ? Prerequisites.operation(running: operations) : operations.first
  }

  /// Returns if the condition holds, and throws why if it does not.
  public func evaluate(_ context: ConditionContext) async throws {
    try await evaluation(context)
  }
}
