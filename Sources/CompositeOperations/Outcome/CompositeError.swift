import Foundation

/// What a failed ``CompositeOperation`` fails with: every failure among its children, in child order.
///
/// It prints one line per failure, with the child's number, name and cause; failures of nested composites, and further
/// lines of a cause, are indented below the composite or child that they belong to.
public struct CompositeError: Error, Sendable {
  /// One child that failed.
  public struct Failure: Sendable {
    /// The child's place: its index in `operations`, or for a sequence how many children came before it. An error
    /// that a sequence delegate threw has the number of children so far.
    public let index: Int
    /// The child's `name`, if it has one.
    public let operationName: String?
    /// What it failed with.
    public let error: any Error

    init(index: Int, operationName: String?, error: any Error) {
      self.index = index
      self.operationName = operationName
      self.error = error
    }
  }

  /// The failures, in child order. Never empty.
  public let failures: [Failure]

  init(failures: [Failure]) {
    precondition(!failures.isEmpty, "A CompositeError without a failure: the composite did not fail.")
    self.failures = failures
  }
}

extension CompositeError: LocalizedError, CustomStringConvertible {
  /// A headline and one line per failure, nested failures indented.
  public var description: String {
    // A loop over pending lines: composites may nest deeper than a stack goes.
    var text = ""
    var pending: [(line: String, depth: Int, error: (any Error)?)] = [("", 0, self)]
    while let (line, depth, error) = pending.popLast() {
      if !text.isEmpty { text += "\n" }
      let indentation = String(repeating: "  ", count: depth)
      // What an error says may have several lines.
      let lines = line.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      text += indentation + lines.joined(separator: "\n\(indentation)  ")
      guard let composite = error as? CompositeError else { continue }
      text += composite.headline
      for failure in composite.failures.reversed() {
        let label = "[\(failure.index)]" + (failure.operationName.map { " “\($0)”" } ?? "") + ": "
        let isNested = failure.error is CompositeError
        pending.append(
          (isNested ? label : label + OperationError.describe(failure.error), depth + 1, isNested ? failure.error : nil)
        )
      }
    }
    return text
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }

  var headline: String {
    failures.count == 1 ? "1 operation failed" : "\(failures.count) operations failed"
  }
}
