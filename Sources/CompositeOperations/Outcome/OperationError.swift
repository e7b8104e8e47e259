import Foundation

/// An error of the package itself: an operation was used in a way that can not work.
///
/// Switch on ``code``; ``description`` is a sentence that names the operation, the cause and the remedy.
public struct OperationError: Error, Sendable {
  /// What was wrong.
  public enum Code: Sendable, Equatable {
    /// The same operation is more than one child of a composite.
    case duplicateChild
    /// The operation was started, or waits in a queue, elsewhere; a composite must start its children itself.
    case alreadyInUse
    /// The operation had already finished when a sequence returned it as its next operation.
    case alreadyFinished
    /// The operation finished without an outcome.
    case missingOutcome
    /// The operation has neither a body nor an overridden `main`, and its value type is not `Void`.
    case missingBody
    /// There was no operation to take a value from.
    case noOperations
  }

  /// What was wrong, to switch on.
  public let code: Code
  /// The operation in question, as text: its name if it has one, and its type.
  public let operationDescription: String?

  init(_ code: Code, operation: Operation? = nil) {
    self.code = code
    self.operationDescription = operation.map(OperationError.describe)
  }

  /// The operation's name, if it has one, and its type.
  static func describe(_ operation: Operation) -> String {
    guard let name = operation.name, !name.isEmpty else { return "\(type(of: operation))" }
    return "“\(name)” (\(type(of: operation)))"
  }

  /// The error's own sentence if it has one, else its description.
  static func describe(_ error: any Error) -> String {
    (error as? any LocalizedError)?.errorDescription ?? String(describing: error)
  }
}

extension OperationError: LocalizedError, CustomStringConvertible {
  /// The sentence: what is wrong with which operation, and what to do.
  public var description: String {
    let operation = operationDescription ?? "The operation"
    return switch code {
    case .duplicateChild:
      "\(operation) is a child of this composite more than once. An operation runs once: make a new one for each place."
    case .alreadyInUse:
      "\(operation) is executing or waiting elsewhere, so this composite can not run it. Give the composite an "
        + "operation that nobody else has started, queued or composed."
    case .alreadyFinished:
      "\(operation) had already finished when the sequence returned it. Return a new operation for each step."
    case .missingOutcome:
      "\(operation) finished without an outcome. Set its outcome before it announces isFinished."
    case .missingBody:
      "\(operation) has no body, so it has no value to succeed with. Pass a closure to init, or override main()."
    case .noOperations:
      "There is no operation to take the first success from. Pass at least one operation."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
