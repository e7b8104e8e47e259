import Foundation

extension OperationCondition where Self == Condition {
  /// Holds if no dependency has failed; else throws a ``DependencyError``.
  ///
  /// Looks at the dependencies of the operation, and at those of the operation that `condition`
  /// returned. A cancelled dependency has not failed. Plain operations of Foundation never fail.
  ///
  /// ```swift
  /// publish.addDependency(check)
  /// queue.addOperation(publish.condition(.noFailedDependencies && .noCancelledDependencies))
  /// ```
  public static var noFailedDependencies: Condition {
    Condition(name: "noFailedDependencies") { context in
      let failed = context.dependencies.filter { $0.failure != nil }
      if !failed.isEmpty { throw DependencyError(dependencies: failed) }
    }
  }

  /// Holds if no dependency was cancelled; else throws a ``DependencyError``.
  ///
  /// Looks at the dependencies of the operation, and at those of the operation that `condition`
  /// returned. A plain operation of Foundation counts as cancelled if its `isCancelled` is true.
  public static var noCancelledDependencies: Condition {
    Condition(name: "noCancelledDependencies") { context in
      let cancelled = context.dependencies.filter { $0.anyOutcome?.isCancelled == true }
      if !cancelled.isEmpty { throw DependencyError(dependencies: cancelled) }
    }
  }
}

/// The error of the conditions that look at dependencies. It lists the dependencies that failed, or
/// were cancelled.
///
/// The text names the dependencies, and says how each of them ended: in one line if there is one
/// dependency and its error has no causes of its own, else with a line for each.
public struct DependencyError: Error {
  /// The dependencies that did not succeed. Never empty.
  public let dependencies: [Operation]
}

// A report, not a text of its own: dependencies may have failed because of theirs, at any depth,
// and several because of the same one.
extension DependencyError: ErrorWithReport {
  package var report: ErrorReport {
    let items = dependencies.map { dependency in
      let name = OperationError.describe(dependency)
      guard let error = dependency.failure else { return ErrorReport.Item("\(name) was cancelled") }
      return ErrorReport.Item("\(name) failed: ", cause: error)
    }
    guard items.count == 1 else {
      return ErrorReport(headline: "\(items.count) dependencies did not succeed:", items: items)
    }
    guard let cause = items[0].cause else { return ErrorReport(headline: items[0].label, items: []) }
    guard !(cause is any ErrorWithReport) else {
      return ErrorReport(headline: "a dependency did not succeed:", items: items)
    }
    return ErrorReport(headline: items[0].label + ErrorReport.sentence(of: cause), items: [])
  }
}
