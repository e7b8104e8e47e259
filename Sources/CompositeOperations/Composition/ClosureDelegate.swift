import Foundation

/// The delegate of a composite whose sequence is a closure.
struct ClosureDelegate: CompositeOperation.Sequence {
  private let next: (Operation?) throws -> Operation?

  init(_ next: @escaping (Operation?) throws -> Operation?) {
    self.next = next
  }

  func nextOperation(after previous: Operation?) throws -> Operation? {
    try next(previous)
  }
}
