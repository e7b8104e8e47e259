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
  /// Returns the operations that run before the condition is evaluated.
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

  /// Makes a condition from a closure that returns whether the condition holds.
  ///
  /// - Parameters:
  ///   - name: what it is called in a ``ConditionError``.
  ///   - isMet: returns whether the condition holds, or throws the reason why it does not hold.
  ///     Called in the same way as ``OperationCondition/evaluate(_:)``, once for each operation
  ///     that has the condition.
  public init(
    _ name: String = "Condition", isMet: @escaping @Sendable (_ context: ConditionContext) async throws -> Bool
  ) {
    self.init(name: name) { context in
      if !(try await isMet(context)) { throw ConditionError.Unmet(description: "it does not hold") }
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

  /// Returns an operation that runs all prerequisites of the condition in parallel; nil if there
  /// are none. It runs before the condition is evaluated.
  public func prerequisite(for context: ConditionContext) -> Operation? {
    let operations = prerequisites(context)
    return operations.count > 1 ? Prerequisites.operation(running: operations) : operations.first
  }

  /// Returns if the condition holds, and throws the reason if it does not hold.
  public func evaluate(_ context: ConditionContext) async throws {
    try await evaluation(context)
  }
}
