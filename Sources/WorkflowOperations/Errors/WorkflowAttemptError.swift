public import Foundation

/// Why an attempt of a task could not run.
public struct WorkflowAttemptError: Error, Sendable {
  /// What was wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The closure returned an operation that had finished before. An operation runs once: each
    /// attempt needs a new one.
    public static let operationAlreadyFinished = Code(value: .operationAlreadyFinished)

    /// The code in a word, such as `operationAlreadyFinished`.
    public var description: String { value.rawValue }

    /// What the library itself switches on, without a `default`.
    enum Value: String {
      case operationAlreadyFinished
    }

    let value: Value
  }

  /// What was wrong, to switch on.
  public let code: Code
  /// The name of the task.
  public let taskName: String
  /// The number of the attempt.
  public let attempt: Int
  /// The operation in question, as text: its name if it has one, and its type.
  package let operationDescription: String

  init(_ code: Code, taskName: String, attempt: Int, operation: Operation) {
    self.code = code
    self.taskName = taskName
    self.attempt = attempt
    let name = operation.name.map { "“\($0)” " } ?? ""
    self.operationDescription = "\(name)(\(type(of: operation)))"
  }
}

extension WorkflowAttemptError: LocalizedError, CustomStringConvertible {
  /// What is wrong with which task, and what to do.
  public var description: String {
    switch code.value {
    case .operationAlreadyFinished:
      "Attempt \(attempt) of the task “\(taskName)” got an operation that had finished already: \(operationDescription). "
        + "An operation runs once: make a new one in the closure each time it is called."
    }
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
