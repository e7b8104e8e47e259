import Foundation

/// What an operation with a timeout or a deadline fails with, when that has passed.
public struct OperationTimeout: Error, Sendable, Equatable {
  /// How long the operation was given; nil if it had a deadline.
  public let limit: Duration?
  /// The operation that did not end in time, as text: its name if it has one, and its type.
  public let operationDescription: String
  /// Whether another owner had started the operation, so that it was not cancelled.
  var isLeftAlone = false
}

extension OperationTimeout: LocalizedError, CustomStringConvertible {
  /// The sentence: which operation did not end in which time.
  public var description: String {
    let end = limit.map { "within \($0)" } ?? "before its deadline"
    let consequence = isLeftAlone ? ". It was not cancelled, for it was started elsewhere" : ", and was cancelled"
    return
      "\(operationDescription) did not end \(end)\(consequence). Give it more time, or look for what it waited for."
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
