import Foundation

/// What a retried operation fails with: the error of every attempt.
public struct RetryError: Error, Sendable {
  /// The errors, in the order of the attempts. Never empty. If a further attempt could not be made, the last is why.
  public let errors: [any Error]

  /// The last error, which decided that there is no further attempt.
  public var lastError: any Error { errors[errors.count - 1] }

  init(errors: [any Error]) {
    precondition(!errors.isEmpty, "A RetryError without an error: no attempt failed.")
    self.errors = errors
  }
}

extension RetryError: LocalizedError, CustomStringConvertible {
  /// A headline, and one line for each attempt.
  public var description: String {
    var text = errors.count == 1 ? "1 attempt failed" : "\(errors.count) attempts failed"
    for (index, error) in errors.enumerated() {
      let cause = OperationError.describe(error)
      let lines = cause.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      text += "\n  [\(index + 1)]: " + lines.joined(separator: "\n    ")
    }
    return text
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
