import Foundation

/// The error of an operation that is heavier than its limit, and so could never run; if other code
/// has started it, of one that was not waited for.
public struct LimitError: Error, Sendable, Equatable {
  /// The operation, as text: its name if it has one, and its type.
  package let operationDescription: String
  /// The name of the limit, if it has one.
  package let limitName: String?
  /// The weight of the operation.
  package let weight: Int
  /// The greatest weight allowed: the limit's ``SharedLimit/maxConcurrent``, or the count of its
  /// ``SharedLimit/rate`` if that is less. Inside an operation with the same limit, only the count
  /// applies.
  package let greatestWeight: Int
  /// Whether other code has started the operation, which is left alone.
  var isLeftAlone = false
}

extension LimitError: DescribedError {
  /// A text that names the operation, the limit and the remedy.
  public var description: String {
    let limit = limitName.map { HarmlessText.line(ErrorReport.quoted($0)) } ?? "its shared limit"
    let consequence =
      isLeftAlone ? "it was not waited for. Other code has started it" : "the operation could never run"
    return "\(operationDescription) has a weight of \(weight), but \(limit) admits at most \(greatestWeight), so "
      + "\(consequence). Give it a lower weight, or raise the limit."
  }
}
