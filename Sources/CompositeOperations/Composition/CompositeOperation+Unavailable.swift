import Foundation

// First guesses at making a composite. Each has a message that tells what to write instead.

extension CompositeOperation {
  /// Not there: say `operations:`.
  @available(*, unavailable, message: "Say CompositeOperation(operations: […]).")
  public convenience init(_ operations: [Operation]) {
    self.init(operations: operations)
  }

  /// Not there: give an array.
  @available(*, unavailable, message: "Give an array: CompositeOperation(operations: [first, second]).")
  public convenience init(_ operations: Operation...) {
    self.init(operations: operations)
  }
}
