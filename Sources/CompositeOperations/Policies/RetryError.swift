import Foundation

/// The error of a retried operation, with the errors of its attempts.
///
/// The error keeps at most 16 errors: the first four and the newest. An operation may be retried
/// for weeks, and errors may be large.
public struct RetryError: Error, Sendable {
  /// The maximum number of errors that are kept.
  package static let maxErrorCount = 16

  private let nested: NestedErrors<Failures>
  private var failures: Failures { nested.contents }

  /// The name of the operation. If it has none, the name that the first attempt had when it was
  /// wrapped, if it existed before, else that of the last attempt that had a name.
  public let operationName: String?

  /// The errors, in the order of the attempts. Never empty. If a further attempt could not be made,
  /// the last error tells why.
  ///
  /// If there were more than 16 errors, these are the first four and the newest.
  public var errors: [any Error] { failures.errors }

  /// How many errors were omitted between the fourth and the fifth of ``errors``.
  package var omittedErrorCount: Int { failures.omittedCount }

  /// The last error, after which there was no further attempt.
  public var lastError: any Error { errors[errors.count - 1] }

  init(_ failures: Failures, of name: String?) {
    precondition(!failures.errors.isEmpty, "A RetryError without an error: no attempt failed.")
    nested = NestedErrors(failures)
    operationName = name.flatMap { $0.isEmpty ? nil : $0 }
  }

  /// The errors of attempts that are kept.
  struct Failures: Sendable {
    private static let firstCount = 4

    private(set) var errors: [any Error] = []
    private(set) var omittedCount = 0

    mutating func append(_ error: any Error) {
      if errors.count == RetryError.maxErrorCount {
        errors.remove(at: Failures.firstCount)
        omittedCount += 1
      }
      errors.append(error)
    }

    /// Returns the number of the attempt, from 1, that failed with the error at an index.
    func attempt(at index: Int) -> Int { index + 1 + (index < Failures.firstCount ? 0 : omittedCount) }

    /// The index after the omitted errors, if there are any.
    var placeAfterOmitted: Int? { omittedCount > 0 ? Failures.firstCount : nil }
  }
}

extension RetryError: ErrorWithReport {
  package var report: ErrorReport {
    let count = errors.count + omittedErrorCount
    var items = errors.enumerated().map { index, error in
      ErrorReport.Item("[\(failures.attempt(at: index))]: ", cause: error)
    }
    if let place = failures.placeAfterOmitted {
      items.insert(ErrorReport.Item("… \(omittedErrorCount) more"), at: place)
    }
    return ErrorReport(
      subject: operationName.map(ErrorReport.quoted),
      headline: count == 1 ? "1 attempt failed" : "\(count) attempts failed",
      items: items, remedy: "Repair the cause of the last error, or let the policy make more attempts.")
  }
}

extension RetryError: ErrorWithCauses {
  package var causes: [any Error] { [lastError] }
}
