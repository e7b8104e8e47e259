import Foundation

/// What an operation fails with whose conditions do not hold: all that do not, in the order in
/// which they were given.
///
/// It prints one line for each.
public struct ConditionError: Error, Sendable {
  /// One condition that does not hold.
  public struct Failure: Sendable {
    /// What the condition is called. Of conditions combined with `&&` and `||` those that do not
    /// hold are listed, each by its own name.
    public let conditionName: String
    /// What it threw.
    public let error: any Error
  }

  /// The error of a closure that returned false, of the negation of a condition that holds, and of
  /// `.reachable()`.
  public struct Unmet: LocalizedError, CustomStringConvertible {
    /// What is the case.
    public let description: String

    init(_ description: String) {
      self.description = description
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
  }

  /// The conditions that do not hold. Never empty.
  public let failures: [Failure]
  /// The operation that did not run, as text: its name if it has one, and its type.
  public internal(set) var operationDescription: String?

  init(failures: [Failure]) {
    precondition(!failures.isEmpty, "A ConditionError without a failure: the conditions hold.")
    self.failures = failures
  }
}

extension ConditionError: ErrorWithReport {
  package var report: ErrorReport {
    let count = failures.count == 1 ? "a condition does" : "\(failures.count) conditions do"
    return ErrorReport(
      headline:
        "\(operationDescription.map(ErrorReport.shortened) ?? "The operation") did not run, because \(count) not hold:",
      items: failures.map { ErrorReport.Item("\(ErrorReport.shortened($0.conditionName)): ", cause: $0.error) },
      remedy: "Start a new operation when \(failures.count == 1 ? "it holds" : "they hold").")
  }
}

extension ConditionError: LocalizedError, CustomStringConvertible {
  /// A headline that names the operation, one line for each condition that does not hold, and what
  /// to do.
  public var description: String { ErrorReport.text(of: self) }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

extension ConditionError {
  /// Evaluates conditions, several at the same time, and returns an error of all that do not hold;
  /// nil if all do.
  ///
  /// - Throws: `CancellationError` if one of them throws it.
  static func evaluating(_ conditions: [Condition], _ context: ConditionContext) async throws -> ConditionError? {
    var failures: [[Failure]]
    if conditions.count == 1 {
      failures = [try await failuresOf(conditions[0], context)]
    } else {
      failures = Array(repeating: [], count: conditions.count)
      try await withThrowingTaskGroup(of: (Int, [Failure]).self) { group in
        for (index, condition) in conditions.enumerated() {
          group.addTask { (index, try await failuresOf(condition, context)) }
        }
        for try await (index, found) in group { failures[index] = found }
      }
    }
    let all = failures.flatMap { $0 }
    return all.isEmpty ? nil : ConditionError(failures: all)
  }

  private static func failuresOf(_ condition: Condition, _ context: ConditionContext) async throws -> [Failure] {
    do {
      try await condition.evaluate(context)
      return []
    } catch let error as CancellationError {
      throw error
    } catch let error as ConditionError {
      return error.failures
    } catch {
      return [Failure(conditionName: condition.name, error: error)]
    }
  }
}
