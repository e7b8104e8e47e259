import Foundation

/// The error of a failed ``CompositeOperation``: every failure among its children, in child order.
///
/// Its text has one line per failure, with the child's number, name and cause; failures of nested
/// composites, and further lines of a cause, are indented below their composite or child.
public struct CompositeError: Error, Sendable {
  /// The failure of one child.
  public struct Failure: Sendable {
    /// The child's index in `operations`, or in a sequence the number of children before it. An
    /// error that belongs to no child, such as one that a sequence delegate threw, has the number
    /// of children so far.
    public let index: Int
    /// The child's `name`, if it has one.
    public let operationName: String?
    /// The error of the child.
    public let error: any Error
  }

  private let parts: Parts

  /// The name of the composite, if it has one.
  public let operationName: String?

  /// The failures, in child order. Never empty.
  public var failures: [Failure] { parts.failures }

  /// The outcome of each child, in child order, with which code that has only the error, in a chain
  /// for example, finds the values of the children that succeeded. A child among ``failures`` has
  /// its failure here.
  ///
  /// An error that a sequence delegate threw belongs to no child, and is among ``failures`` only.
  public var outcomes: [Outcome<any Sendable>] { parts.outcomes }

  /// - Parameter name: the name of the composite.
  init(failures: [Failure], outcomes: [Outcome<any Sendable>], of name: String?) {
    precondition(!failures.isEmpty, "A CompositeError without a failure: the composite did not fail.")
    self.parts = Parts(failures: failures, outcomes: outcomes)
    operationName = name.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// An object, because composites may nest too deep for recursion: it is released iteratively.
  private final class Parts: @unchecked Sendable {  // changed only when it is released
    private(set) var failures: [Failure]
    private(set) var outcomes: [Outcome<any Sendable>]

    init(failures: [Failure], outcomes: [Outcome<any Sendable>]) {
      self.failures = failures
      self.outcomes = outcomes
    }

    deinit {
      NestedResults.release(&outcomes)
      // Also errors of other types, which may hold errors of this package.
      var nested: [Failure]? = failures
      failures = []
      ReleaseList.release(&nested)
    }
  }
}

extension CompositeError: ErrorWithReport {
  package var report: ErrorReport {
    ErrorReport(
      subject: operationName.map(ErrorReport.quoted), headline: headline,
      items: failures.map { failure in
        ErrorReport.Item(
          "[\(failure.index)]" + (failure.operationName.map { " " + ErrorReport.quoted($0) } ?? "") + ": ",
          cause: failure.error)
      },
      remedy: "Repair what failed, or give a child whose failure is not to count recover(_:) or settled().")
  }

  package var headline: String {
    failures.count == 1 ? "1 operation failed" : "\(failures.count) operations failed"
  }
}
