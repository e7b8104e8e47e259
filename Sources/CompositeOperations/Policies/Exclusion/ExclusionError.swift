import Foundation

/// Why an operation could not get its categories.
public enum ExclusionError: Error, Sendable {
  /// One step of a circle: an operation waits for a category that another one holds.
  public struct Wait: Sendable, Equatable {
    /// The operation that waits, as text: its name if it has one, and its type.
    public let operation: String
    /// What it waits for.
    public let category: ExclusionCategory
    /// The operation that holds it, as text.
    public let holder: String
  }

  /// The operation would have waited for ever, because operations would have waited for each other in a circle.
  ///
  /// The first step is that of the operation which failed. Each next one waits inside the holder of the step before,
  /// and the last holder is one of the operations around the first.
  case deadlock([Wait])

  init(_ circle: [ExclusionClaim.Wait]) {
    self = .deadlock(
      circle.map { wait in
        Wait(
          operation: wait.waiting.map(OperationError.describe) ?? "an operation", category: wait.category,
          holder: wait.holding.map(OperationError.describe) ?? "an operation")
      })
  }
}

extension ExclusionError: LocalizedError, CustomStringConvertible {
  /// Who waits for what and whom, and what to do.
  public var description: String {
    guard case .deadlock(let circle) = self else { return "" }
    let waits = circle.map { "\($0.operation) waits for \($0.category), which \($0.holder) holds" }
    let operation = circle.first?.operation ?? "The operation"
    return "\(operation) can not wait for its exclusion categories, because it would be for ever: "
      + "\(waits.joined(separator: "; inside that one ")), around the first. "
      + "Let the outer operations take all categories at once, or all in the same order."
  }

  /// The same as ``description``.
  public var errorDescription: String? { description }
}
