import Foundation

/// Something that has to hold before an operation may run; see
/// ``ComposableOperation/condition(_:)``.
///
/// ```swift
/// struct HasSpace: OperationCondition {
///   let bytes: Int64
///   func evaluate(_ context: ConditionContext) async throws {
///     let free = try await disk.freeBytes()
///     if free < bytes { throw DiskError.full(missing: bytes - free) }
///   }
/// }
/// ```
///
/// For one that is used once a closure will do: ``Condition``. Conditions combine with `&&`, `||`
/// and `!`.
public protocol OperationCondition: Sendable {
  /// What the condition is called in a ``ConditionError``. The name of the type, unless defined.
  var name: String { get }

  /// An operation to run before the condition is evaluated, such as one that asks for a permission.
  /// Nil, unless defined.
  ///
  /// Called once for each operation that has the condition, where its prerequisites will run, when
  /// its dependencies have finished. What is returned runs in parallel with the prerequisites of
  /// the other conditions; one that other code has started is waited for. How it ends does not
  /// matter: the condition, evaluated afterwards, decides. It must not be the operation itself, nor
  /// wait for it: that traps, or never ends.
  func prerequisite(for context: ConditionContext) -> Operation?

  /// Returns if the condition holds, and throws why if it does not.
  ///
  /// Called once for each operation that has the condition, on the cooperative pool, when all
  /// prerequisites have finished; together with other conditions of the operation. It takes no slot
  /// of a queue, and may take its time. The task is cancelled when the operation with the condition
  /// is, which waits for it to return. A `CancellationError` cancels that operation instead of
  /// failing it.
  func evaluate(_ context: ConditionContext) async throws
}

extension OperationCondition {
  /// The name of the type.
  public var name: String { "\(Self.self)" }

  /// Nil: nothing has to run before.
  public func prerequisite(for context: ConditionContext) -> Operation? { nil }
}

/// What a condition is told about the operation that it is a condition of.
public struct ConditionContext: Sendable {
  /// The operation that runs if the condition holds. It has not started.
  public let operation: Operation
  /// What had to finish before: the dependencies of the operation, and of the one that `condition`
  /// returned. All of them have finished.
  public let dependencies: [Operation]
}
