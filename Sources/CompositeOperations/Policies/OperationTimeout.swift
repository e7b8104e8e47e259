import Foundation

/// The error of an operation whose timeout or deadline has passed.
public struct OperationTimeout: Error, Sendable, Equatable {
  /// The time limit; nil if the operation had a deadline.
  public let limit: Duration?
  /// The operation that did not end in time, as text: its name if it has one, and its type.
  package let operationDescription: String
  /// Whether the operation was not cancelled, because other code had started it.
  var isLeftAlone = false
}

extension OperationTimeout: DescribedError {
  /// A text that names the operation and the time limit.
  public var description: String {
    let end = limit.map { "within \($0)" } ?? "before its deadline"
    let consequence = isLeftAlone ? ". It was not cancelled, because other code had started it" : ", and was cancelled"
    return
      "\(operationDescription) did not end \(end)\(consequence). Give it more time, or look for what it waited for."
  }
}

/// When an operation settles after its time is up.
public enum TimeoutBehavior: Sendable, Equatable {
  /// It settles at once. The work may still be winding down.
  case settlesAtOnce
  /// It settles when the cancelled work has ended. The outcome of the work is ignored.
  case waitsForWork
}
