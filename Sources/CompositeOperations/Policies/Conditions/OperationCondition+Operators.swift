import Foundation

extension OperationCondition {
  /// Both have to hold.
  ///
  /// Both are evaluated, concurrently, and if both do not hold the error tells of both: `a && b && c` gathers all that
  /// do not hold. The prerequisites of both run before.
  public static func && (left: Self, right: some OperationCondition) -> Condition {
    let (left, right) = (Condition(left), Condition(right))
    return Condition(
      name: "\(left.name) && \(right.name)", prerequisites: { left.prerequisites($0) + right.prerequisites($0) }
    ) {
      context in
      if let error = try await ConditionError.evaluating([left, right], context) { throw error }
    }
  }

  /// One of them has to hold.
  ///
  /// The right one is evaluated only if the left one does not hold; if neither does, the error tells of both. The
  /// prerequisites of both run before, whether or not the right one is needed: see ``silent``.
  public static func || (left: Self, right: some OperationCondition) -> Condition {
    let (left, right) = (Condition(left), Condition(right))
    return Condition(
      name: "\(left.name) || \(right.name)", prerequisites: { left.prerequisites($0) + right.prerequisites($0) }
    ) {
      context in
      guard let first = try await ConditionError.evaluating([left], context) else { return }
      guard let second = try await ConditionError.evaluating([right], context) else { return }
      throw ConditionError(failures: first.failures + second.failures)
    }
  }

  /// It must not hold.
  ///
  /// Its prerequisite, which is there to make it hold, does not run.
  public static prefix func ! (condition: Self) -> Condition {
    let condition = Condition(condition)
    return Condition(name: "!\(condition.name)", prerequisites: { _ in [] }) { context in
      if try await ConditionError.evaluating([condition], context) == nil {
        throw ConditionError.Unmet("\(condition.name) holds")
      }
    }
  }

  /// The same condition without its prerequisite: it is only looked whether it holds, and nothing done about it.
  public var silent: Condition {
    let condition = Condition(self)
    return Condition(name: condition.name, prerequisites: { _ in [] }, evaluation: condition.evaluate)
  }
}
