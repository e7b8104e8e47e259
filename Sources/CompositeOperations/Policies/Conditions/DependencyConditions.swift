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
public struct DependencyError: LocalizedError, CustomStringConvertible {
  /// The dependencies that did not succeed. Never empty.
  public let dependencies: [Operation]

  /// Names the dependencies, and says how each of them ended.
  public var description: String {
    dependencies.map { dependency in
      let name = OperationError.describe(dependency)
      guard let error = dependency.failure else { return "\(name) was cancelled" }
      return "\(name) failed: \(OperationError.describe(error))"
    }.joined(separator: "; ")
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
