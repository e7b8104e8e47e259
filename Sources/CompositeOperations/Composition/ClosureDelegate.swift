import Foundation

/// The delegate of a composite whose sequence is a closure.
struct ClosureDelegate: CompositeOperation.Sequence {
  let next: (Operation?) throws -> Operation?

  func nextOperation(after previous: Operation?) throws -> Operation? {
    try next(previous)
  }
}
