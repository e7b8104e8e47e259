import Foundation

/// What a failed ``CompositeOperation`` fails with: every failure among its children, in child order.
///
/// It prints one line per failure, with the child's number, name and cause; failures of nested composites, and further
/// lines of a cause, are indented below the composite or child that they belong to.
public struct CompositeError: Error, Sendable {
  /// One child that failed.
  public struct Failure: Sendable {
    /// The child's place: its index in `operations`, or for a sequence how many children came before it. An error
    /// that is none of a child's, such as one that a sequence delegate threw, has the number of children so far.
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

  private let parts: Parts

  /// The name of the composite, if it has one.
  public let operationName: String?

  /// The failures, in child order. Never empty.
  public var failures: [Failure] { parts.failures }

  /// How each child ended, in child order: with them nothing that succeeded is lost where only the error is at hand, in
  /// a chain for example. A child among ``failures`` has its failure here.
  ///
  /// An error that a sequence delegate threw belongs to no child, and is among ``failures`` only.
  public var outcomes: [Outcome<any Sendable>] { parts.outcomes }

  /// - Parameter name: the composite's.
  init(failures: [Failure], outcomes: [Outcome<any Sendable>], of name: String?) {
    precondition(!failures.isEmpty, "A CompositeError without a failure: the composite did not fail.")
    self.parts = Parts(failures: failures, outcomes: outcomes)
    operationName = name.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// An object, because composites may nest deeper than a stack goes: it is released without a stack frame for each level.
  private final class Parts: @unchecked Sendable {  // changed only when it is released
    private(set) var failures: [Failure]
    private(set) var outcomes: [Outcome<any Sendable>]

    init(failures: [Failure], outcomes: [Outcome<any Sendable>]) {
      self.failures = failures
      self.outcomes = outcomes
    }

    deinit {
      NestedResults.release(&outcomes)
      // Also those that are not this package's: there may be some of it in them.
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

extension CompositeError: LocalizedError, CustomStringConvertible {
  /// A headline with the composite's name, one line per failure, nested failures indented, and what to do.
  ///
  /// At most about 16 KB, and 40 levels of composites: what does not fit is left out, and the text says so.
  public var description: String { ErrorReport.text(of: self) }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
