public import CompositeOperations
public import Foundation

/// A sequence delegate made of a closure, for tests that check its arguments.
public struct ClosureSequence: CompositeOperation.Sequence {
  private let body: (Operation?) throws -> Operation?

  /// Makes a delegate that returns or throws what `body` does.
  public init(_ body: @escaping @Sendable (_ previous: Operation?) throws -> Operation?) {
    self.body = body
  }

  /// The answer to the composite.
  public mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    try body(previous)
  }
}

/// A sequence delegate that returns a list of operations, whatever their outcomes.
public struct ListSequence: CompositeOperation.Sequence {
  private var remaining: ArraySlice<Operation>

  /// Makes a delegate that returns `operations` one by one, then nil.
  public init(_ operations: [Operation]) {
    remaining = operations[...]
  }

  /// The answer to the composite.
  public mutating func nextOperation(after previous: Operation?) -> Operation? {
    remaining.popFirst()
  }
}
