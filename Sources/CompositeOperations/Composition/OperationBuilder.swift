import Foundation

/// Lists operations: each line is an operation or an array of them; `if`, `switch` and `for` can be
/// used.
@resultBuilder
public enum OperationBuilder {
  /// One operation.
  public static func buildExpression(_ operation: Operation) -> [Operation] { [operation] }
  /// Several operations.
  public static func buildExpression(_ operations: [Operation]) -> [Operation] { operations }
  /// The lines, in order.
  public static func buildBlock(_ parts: [Operation]...) -> [Operation] { parts.flatMap { $0 } }
  /// An `if` without `else`.
  public static func buildOptional(_ part: [Operation]?) -> [Operation] { part ?? [] }
  /// The first branch.
  public static func buildEither(first part: [Operation]) -> [Operation] { part }
  /// The other branch.
  public static func buildEither(second part: [Operation]) -> [Operation] { part }
  /// A `for` loop.
  public static func buildArray(_ parts: [[Operation]]) -> [Operation] { parts.flatMap { $0 } }
  /// What is inside `if #available`.
  public static func buildLimitedAvailability(_ part: [Operation]) -> [Operation] { part }
}
