import Foundation

extension OperationCondition where Self == Condition {
  /// All of the conditions have to hold; with none, the condition holds. For `a && b` with a list.
  ///
  /// All are evaluated, concurrently, and the error lists all that do not hold. The prerequisites
  /// of all run before, in parallel.
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
  /// Both conditions have to hold.
  ///
  /// Both are evaluated, concurrently, and if both do not hold the error lists both: `a && b && c`
  /// lists all that do not hold. The prerequisites of both run before.
  public static func && (left: Self, right: some OperationCondition) -> Condition {
    .all([left, right])
  }

  /// One of the conditions has to hold.
  ///
  /// The right one is evaluated only if the left one does not hold; if neither holds, the error
  /// lists both. The prerequisites of both run before, also if the right one is not needed: see
  /// ``silent``.
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

  /// The condition must not hold.
  ///
  /// Its prerequisite, which is there to make it hold, does not run.
  public static prefix func ! (condition: Self) -> Condition {
    let condition = Condition(condition)
    return Condition(name: "!\(condition.name)") { context in
      if try await ConditionError.failures(of: condition, context).isEmpty {
        throw ConditionError.Unmet("\(condition.name) holds")
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
