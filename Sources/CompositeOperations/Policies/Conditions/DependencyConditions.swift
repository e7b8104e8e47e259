import Foundation

/// Holds if no dependency has failed.
///
/// Looks at what the operation depended on, and what `condition` returned did. A cancelled dependency has not failed.
/// Plain operations of Foundation never fail.
///
/// ```swift
/// publish.addDependency(check)
/// queue.addOperation(publish.condition(NoFailedDependencies() && NoCancelledDependencies()))
/// ```
public struct NoFailedDependencies: OperationCondition {
  /// What the condition throws: which dependencies failed.
  public struct Failure: LocalizedError, CustomStringConvertible {
    /// A dependency that failed.
    public struct Dependency: Sendable {
      /// The dependency.
      public let operation: Operation
      /// What it failed with.
      public let error: any Error
    }

    /// The dependencies that failed. Never empty.
    public let dependencies: [Dependency]

    /// Names the dependencies, and what they failed with.
    public var description: String {
      dependencies.map { "\(OperationError.describe($0.operation)) failed: \(OperationError.describe($0.error))" }
        .joined(separator: "; ")
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
  }

  /// Makes the condition.
  public init() {}

  /// Returns if no dependency has failed, else throws a ``Failure``.
  public func evaluate(_ context: ConditionContext) throws {
    let failed = context.dependencies.compactMap { operation in
      operation.failure.map { Failure.Dependency(operation: operation, error: $0) }
    }
    if !failed.isEmpty { throw Failure(dependencies: failed) }
  }
}

/// Holds if no dependency was cancelled.
///
/// Looks at what the operation depended on, and what `condition` returned did. For a plain operation of Foundation
/// its `isCancelled` counts.
public struct NoCancelledDependencies: OperationCondition {
  /// What the condition throws: which dependencies were cancelled.
  public struct Failure: LocalizedError, CustomStringConvertible {
    /// The dependencies that were cancelled. Never empty.
    public let dependencies: [Operation]

    /// Names the dependencies.
    public var description: String {
      dependencies.map { "\(OperationError.describe($0)) was cancelled" }.joined(separator: "; ")
    }

    /// The same as ``description``.
    public var errorDescription: String? { description }
  }

  /// Makes the condition.
  public init() {}

  /// Returns if no dependency was cancelled, else throws a ``Failure``.
  public func evaluate(_ context: ConditionContext) throws {
    let cancelled = context.dependencies.filter { $0.anyOutcome?.isCancelled == true }
    if !cancelled.isEmpty { throw Failure(dependencies: cancelled) }
  }
}
