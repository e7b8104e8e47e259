import Foundation

/// Why an operation could not get its categories.
///
/// Switch on ``code``. ``description`` is a text that names the operations, what they wait for, and
/// the remedy.
public struct ExclusionError: Error, Sendable, Equatable {
  /// What was wrong.
  ///
  /// More codes may come: a `switch` over them needs a `default`.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The operation would have waited forever, because operations would have waited for each other
    /// in a circle. The text of the error names them.
    public static let deadlock = Code(value: .deadlock)

    /// The code in a word, such as `deadlock`.
    public var description: String { value.rawValue }

    enum Value: String {
      case deadlock
    }

    let value: Value
  }

  /// One step of a circle: an operation waits for a category that another operation holds.
  package struct Wait: Sendable, Equatable {
    /// The operation that waits, as text: its name if it has one, and its type.
    package let operation: String
    /// The category that the operation waits for.
    package let category: ExclusionCategory
    /// The operation that holds the category, as text.
    package let holder: String
  }

  /// What was wrong, to switch on.
  public let code: Code
  /// The operations that would have waited for each other, for ``Code/deadlock``.
  ///
  /// In the first step, the operation that failed waits. The operation of each further step is
  /// inside the holder of the step before. The holder of the last step is one of the operations
  /// around the first operation.
  package let circle: [Wait]

  init(_ circle: [ExclusionReservation.Wait]) {
    code = .deadlock
    self.circle = circle.map { wait in
      Wait(
        operation: Self.describe(wait.waiting, wait.waitingName), category: wait.category,
        holder: Self.describe(wait.holding, wait.holdingName))
    }
  }

  private static func describe(_ operation: Operation?, _ name: String?) -> String {
    operation.map { OperationError.describe($0, orNamed: name) } ?? "an operation"
  }
}

extension ExclusionError: DescribedError {
  /// A text that names the operations, the categories that they wait for, and the remedy.
  public var description: String {
    let operation = circle.first?.operation ?? "The operation"
    var sentences = ["\(operation) cannot wait for its exclusion categories, because it would wait forever."]
    var around: String?
    for wait in circle {
      let inside = around.map { "Inside \($0), " } ?? ""
      let category = HarmlessText.line(wait.category.name)
      sentences.append("\(inside)\(wait.operation) waits for “\(category)”, which \(wait.holder) holds.")
      around = wait.holder
    }
    if let around { sentences.append("\(operation) is inside \(around).") }
    sentences.append("Let the outer operations take all their categories at once, or all in the same order.")
    return sentences.joined(separator: " ")
  }
}
