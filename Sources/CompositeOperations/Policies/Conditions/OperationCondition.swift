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
/// A condition that is used in one place can be a closure: see ``Condition``. Conditions combine
/// with `&&`, `||` and `!`.
public protocol OperationCondition: Sendable {
  /// What the condition is called in a ``ConditionError``. The name of the type, unless defined.
  var name: String { get }

  /// Returns an operation to run before the condition is evaluated, such as one that asks for a
  /// permission. By default nil.
  ///
  /// Called once for each operation that has the condition, when the dependencies of that operation
  /// have finished, where the prerequisites will run. The returned operation runs in parallel with
  /// the prerequisites of the other conditions, unless other code has started it. The condition is
  /// evaluated when all prerequisites have finished, whatever their outcomes. Do not return the
  /// operation that has the condition: that traps. Do not return an operation that waits for it
  /// either: that wait never ends.
  func prerequisite(for context: ConditionContext) -> Operation?

  /// Returns if the condition holds, and throws the reason if it does not hold.
  ///
  /// Called once for each operation that has the condition, when all prerequisites have finished.
  /// The call runs in a task on the cooperative pool, and takes no slot of a queue. Combined
  /// conditions are evaluated concurrently, except those of `||`. If the operation that has the
  /// condition is cancelled, the task is cancelled, and the operation waits until this method
  /// returns. A thrown `CancellationError` cancels the operation instead of failing it.
  func evaluate(_ context: ConditionContext) async throws
}

extension OperationCondition {
  /// The name of the type.
  public var name: String { "\(Self.self)" }

  /// Nil: nothing has to run before.
  public func prerequisite(for context: ConditionContext) -> Operation? { nil }
}

/// What a condition learns about the operation that has it.
public struct ConditionContext: Sendable {
  /// The operation that runs if the condition holds. It has not started yet, unless other code
  /// started it.
  public let operation: Operation
  /// The dependencies of the operation, and those of the operation that `condition` returned. All
  /// of them have finished, unless other code started the operation, and it has settled before.
  public let dependencies: [Operation]
}
