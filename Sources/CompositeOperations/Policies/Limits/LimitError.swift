import Foundation

/// What an operation fails with that is heavier than the limit it is limited by, so that it could never run.
public struct LimitError: Error, Sendable, Equatable {
  /// The operation, as text: its name if it has one, and its type.
  public let operationDescription: String
  /// What the limit is called, if it has a name.
  public let limitName: String?
  /// The weight of the operation.
  public let weight: Int
  /// The most that the operation might have weighed: the limit's ``SharedLimit/maxConcurrent``, or the count of its
  /// ``SharedLimit/rate`` if that is less; the latter alone inside an operation that is limited by the same limit.
  public let greatestWeight: Int
}

extension LimitError: LocalizedError, CustomStringConvertible {
  /// Who is too heavy for what, and what to do.
  public var description: String {
    let limit = limitName.map { HarmlessText.line(ErrorReport.quoted($0)) } ?? "its shared limit"
    return
      "\(operationDescription) weighs \(weight), and \(limit) lets \(greatestWeight) through at most, so it could never run. "
      + "Give it a lower weight, or raise the limit."
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
