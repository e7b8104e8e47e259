import Foundation

/// The error of an operation that did not run because conditions do not hold; if other code has
/// started it, of one that was not waited for. It lists all conditions that do not hold, in the
/// order in which they were given. Its text has one line for each of them.
public struct ConditionError: Error, Sendable {
  /// One condition that does not hold.
  public struct Failure: Sendable {
    /// The name of the condition. Conditions that are combined with `&&` and `||` are listed by
    /// their own names.
    public let conditionName: String
    /// The error that the condition threw.
    public let error: any Error
  }

  /// The error of a closure that returned false, of the negation of a condition that holds, and of
  /// `.reachable()`.
  public struct Unmet: DescribedError {
    /// The reason, in words.
    public let description: String
  }

  /// The conditions that do not hold. Never empty.
  public var failures: [Failure] { nested.contents }
  private let nested: NestedErrors<[Failure]>
  /// The operation that did not run, as text: its name if it has one, and its type.
  package internal(set) var operationDescription: String?
  /// Whether other code has started the operation, which is left alone.
  var isLeftAlone = false

  init(failures: [Failure]) {
    precondition(!failures.isEmpty, "A ConditionError without a failure: the conditions hold.")
    nested = NestedErrors(failures)
  }
}

extension ConditionError: ErrorWithCauses {
  package var causes: [any Error] { failures.map(\.error) }
}

extension ConditionError: ErrorWithReport {
  package var report: ErrorReport {
    let operation = operationDescription.map(ErrorReport.shortened) ?? "The operation"
    let event = isLeftAlone ? "has been started elsewhere, and was not waited for" : "did not run"
    let count = failures.count == 1 ? "a condition does" : "\(failures.count) conditions do"
    return ErrorReport(
      headline: "\(operation) \(event), because \(count) not hold:",
      items: failures.map { ErrorReport.Item("\(ErrorReport.shortened($0.conditionName)): ", cause: $0.error) },
      remedy: isLeftAlone
        ? "The outcome of the operation itself tells how it ends."
        : "Start a new operation when \(failures.count == 1 ? "it holds" : "they hold").")
  }
}

extension ConditionError {
  /// Evaluates conditions concurrently. Returns a failure for each condition that does not hold.
  ///
  /// - Throws: `CancellationError` if one of them throws it.
  static func failures(of conditions: [Condition], _ context: ConditionContext) async throws -> [Failure] {
    try await withThrowingTaskGroup(of: (Int, [Failure]).self) { group in
      for (index, condition) in conditions.enumerated() {
        group.addTask { (index, try await failures(of: condition, context)) }
      }
      var all: [[Failure]] = Array(repeating: [], count: conditions.count)
      for try await (index, failures) in group { all[index] = failures }
      return all.flatMap { $0 }
    }
  }

  /// Evaluates a condition. Returns its failures; an empty array if the condition holds.
  ///
  /// - Throws: `CancellationError` if the condition throws it.
  static func failures(of condition: Condition, _ context: ConditionContext) async throws -> [Failure] {
    do {
      try await condition.evaluate(context)
      return []
    } catch let error as CancellationError {
      throw error
    } catch let error as ConditionError where error.operationDescription == nil {
      // Of a combined condition; that of an operation, which the closure awaited, is the reason.
      return error.failures
    } catch {
      return [Failure(conditionName: condition.name, error: error)]
    }
  }
}
