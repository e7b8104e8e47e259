import Foundation

/// What an operation with a timeout or a deadline fails with, when that has passed.
public struct OperationTimeout: Error, Sendable, Equatable {
  /// How long the operation was given; nil if it had a deadline.
  public let limit: Duration?
  /// The operation that did not end in time, as text: its name if it has one, and its type.
  public let operationDescription: String

  init(limit: Duration?, operation: Operation) {
    self.limit = limit
    self.operationDescription = OperationError.describe(operation)
  }
}

extension OperationTimeout: LocalizedError, CustomStringConvertible {
  /// The sentence: which operation did not end in which time.
  public var description: String {
    if let limit { return "\(operationDescription) did not end within \(limit), and was cancelled." }
    return "\(operationDescription) did not end before its deadline, and was cancelled."
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}

/// When an operation whose time is up settles.
public enum TimeoutBehavior: Sendable, Equatable {
  /// At once. The work may still be winding down.
  case settlesAtOnce
  /// When the work has ended, which it was told to by a cancel. It does not count any more how it ended.
  case waitsForWork
}
