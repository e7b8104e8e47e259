import Foundation

extension OperationCondition where Self == Condition {
  /// Holds if all conditions of a list hold, or if the list is empty: `a && b` for a list.
  ///
  /// All conditions are evaluated, concurrently, and the error lists all that do not hold. The
  /// prerequisites of all conditions run before, in parallel.
  public static func all(_ conditions: [any OperationCondition]) -> Condition {
    let conditions = conditions.map { Condition($0) }
    return Condition(
      name: conditions.map(\.name).joined(separator: " && "),
      prerequisites: { context in conditions.flatMap { $0.prerequisites(context) } }
    ) { context in
      let failures = try await ConditionError.failures(of: conditions, context)
      if !failures.isEmpty { throw ConditionError(failures: failures) }
    }
  }
}

extension OperationCondition {
  /// Holds if both conditions hold.
  ///
  /// Both conditions are evaluated, concurrently. If both do not hold, the error lists both. So the
  /// error of `a && b && c` lists all that do not hold. The prerequisites of both conditions run
  /// before.
  public static func && (left: Self, right: some OperationCondition) -> Condition {
    .all([left, right])
  }

  /// Holds if one of the conditions holds.
  ///
  /// The right condition is evaluated only if the left condition does not hold. If neither holds,
  /// the error lists both. The prerequisites of both run before, also if the right condition is not
  /// needed. To prevent that, see ``silent``.
  public static func || (left: Self, right: some OperationCondition) -> Condition {
    let (left, right) = (Condition(left), Condition(right))
    return Condition(
      name: "\(left.name) || \(right.name)", prerequisites: { left.prerequisites($0) + right.prerequisites($0) }
    ) {
      context in
      let first = try await ConditionError.failures(of: left, context)
      if first.isEmpty { return }
      let second = try await ConditionError.failures(of: right, context)
      if second.isEmpty { return }
      throw ConditionError(failures: first + second)
    }
  }

  /// Holds if the condition does not hold.
  ///
  /// The prerequisite of the condition does not run, because its purpose is to make the condition
  /// hold.
  public static prefix func ! (condition: Self) -> Condition {
    let condition = Condition(condition)
    return Condition(name: "!\(condition.name)") { context in
      if try await ConditionError.failures(of: condition, context).isEmpty {
        throw ConditionError.Unmet(description: "\(condition.name) holds")
      }
    }
  }

  /// The same condition without its prerequisite: it is evaluated, and nothing is done to make it
  /// hold.
  public var silent: Condition {
    let condition = Condition(self)
    return Condition(name: condition.name, evaluation: condition.evaluate)
  }
}
