import Foundation

/// An error of the package itself: an operation was misused.
///
/// Switch on ``code``; ``description`` is a sentence that names the operation, the cause and the
/// remedy.
public struct OperationError: Error, Sendable {
  /// What was wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The same operation is more than one child of a composite.
    public static let duplicateChild = Code(value: .duplicateChild)
    /// The operation was started, or waits in a queue, elsewhere; a composite must start its
    /// children itself.
    public static let alreadyInUse = Code(value: .alreadyInUse)
    /// The operation had already finished when a sequence returned it as its next operation.
    public static let alreadyFinished = Code(value: .alreadyFinished)
    /// The operation finished without an outcome.
    public static let missingOutcome = Code(value: .missingOutcome)
    /// The operation has neither a body nor an overridden `main`, and its value type is not `Void`.
    public static let missingBody = Code(value: .missingBody)
    /// A composition without operations cannot have a value.
    public static let noOperations = Code(value: .noOperations)
    /// The operation waits for its own end: its dependencies lead back to it, or to the composite
    /// that it is part of.
    public static let dependencyCircle = Code(value: .dependencyCircle)

    /// The code in a word, such as `duplicateChild`.
    public var description: String { value.rawValue }

    /// What the library itself switches on, without a `default`.
    enum Value: String {
      case duplicateChild, alreadyInUse, alreadyFinished, missingOutcome, missingBody, noOperations, dependencyCircle
    }

    let value: Value
  }

  /// What was wrong, to switch on.
  public let code: Code
  /// The operation in question, as text: its name if it has one, and its type. For a circle of
  /// dependencies, its operations, each of which waits for the next one.
  package let operationDescription: String?

  init(_ code: Code, operation: Operation? = nil) {
    self.init(code, describing: operation.map(OperationError.describe))
  }

  init(_ code: Code, describing operation: String?) {
    self.code = code
    self.operationDescription = operation
  }

  /// Describes an operation by its name, if it has one, and its type, or the policy or composition
  /// that returned it.
  static func describe(_ operation: Operation) -> String { describe(operation, orNamed: nil) }

  /// - Parameter name: the name to use if the operation has none.
  static func describe(_ operation: Operation, orNamed name: String?) -> String {
    let own = operation as? any DescribedOperation
    return describe(
      operation.name ?? name, own.map { type(of: $0).typeDescription } ?? "\(type(of: operation))", own?.formDescription
    )
  }

  /// - Parameter form: the kind of operation, if the type does not tell.
  static func describe(_ name: String?, _ type: String, _ form: String?) -> String {
    if let name, !name.isEmpty { return "“\(HarmlessText.line(name))” (\(form ?? type))" }
    return form.map { "\(type) (\($0))" } ?? type
  }

  /// Returns the error's `errorDescription` if it has one, else its `String(describing:)`.
  package static func describe(_ error: any Error) -> String { ErrorReport.sentence(of: error) }
}

extension OperationError {
  /// - Parameters:
  ///   - circle: each operation waits for the next, and the last one for the first.
  ///   - endsInPlace: whether the last one waits for the place of the first in a composite with a
  ///     limit.
  init(circle: [Operation], endsInPlace: Bool = false) {
    let shown = 8
    var names = circle.prefix(shown).map { OperationError.describe($0) }
    if circle.count > shown { names.append("\(circle.count - shown) more") }
    names.append(OperationError.describe(circle[0]) + (endsInPlace ? ", which has its place" : ""))
    self.init(.dependencyCircle, describing: names.joined(separator: " → "))
  }
}

/// An operation with a type description of its own, because users do not know the name of its
/// class.
protocol DescribedOperation: Operation {
  /// The type for descriptions.
  static var typeDescription: String { get }
  /// The kind of operation, if its type does not tell.
  var formDescription: String? { get }
}

extension OperationError: DescribedError {
  /// A text that names the operation, the cause and the remedy.
  public var description: String {
    let operation = operationDescription ?? "The operation"
    return switch code.value {
    case .duplicateChild:
      "\(operation) is a child of this composite more than once. An operation runs once: make a new one for each place."
    case .alreadyInUse:
      "\(operation) is executing or waiting elsewhere, so this composite cannot run it. Give the composite an "
        + "operation that is not started, queued or composed elsewhere."
    case .alreadyFinished:
      "\(operation) had already finished when the sequence returned it. Return a new operation for each step."
    case .missingOutcome:
      "\(operation) finished without an outcome. Set its outcome before it announces isFinished."
    case .missingBody:
      "\(operation) has no body, so it has no value to succeed with. Pass a closure to init, or override perform(), or main() "
        + "for work that goes on after it returned."
    case .noOperations:
      "There is no operation to take the first success from. Pass at least one operation."
    case .dependencyCircle:
      "None of these operations can start, for each waits for the next one: \(operation). Remove one of these "
        + "dependencies. A composite waits for its children, so no child may depend on it."
    }
  }
}
