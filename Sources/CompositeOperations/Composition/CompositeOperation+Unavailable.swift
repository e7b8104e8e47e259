import Foundation

// Names from other libraries, for which the compiler suggests the replacement.

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

  /// Not there: the children are known when a composite is made, or come from its sequence.
  @available(
    *, unavailable,
    message:
      "The children are known when a composite is made: pass them to init, or use a sequence, which adds them one by one."
  )
  public func add(_ operation: Operation) {}

  /// Not there: the children are known when a composite is made, or come from its sequence.
  @available(
    *, unavailable,
    message:
      "The children are known when a composite is made: pass them to init, or use a sequence, which adds them one by one."
  )
  public func addChild(_ operation: Operation) {}

  /// Not there: the children are known when a composite is made, or come from its sequence.
  @available(
    *, unavailable,
    message:
      "The children are known when a composite is made: pass them to init, or use a sequence, which adds them one by one."
  )
  public func addOperation(_ operation: Operation) {}
}
