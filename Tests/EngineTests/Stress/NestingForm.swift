import CompositeOperations
import Foundation
import TestSupport

/// A way to nest operations to any depth.
enum NestingForm: CaseIterable, Sendable {
  case parallelInParallel, sequentialInSequential, alternating
  case maps, thens, recovers, alls
  /// Categories and conditions around each other.
  case guards
  /// Each `then` continues with the next one, made in its turn.
  case thensToTheRight

  /// Makes `depth` levels around `leaf`.
  func make(depth: Int, around leaf: SimpleOperation<Int>) -> any ComposableOperation {
    switch self {
    case .parallelInParallel:
      return nest(depth, leaf) { inner, _ in CompositeOperation(operations: [inner]) }
    case .sequentialInSequential:
      return nest(depth, leaf) { inner, _ in CompositeOperation(sequence: ListSequence([inner])) }
    case .alternating:
      return nest(depth, leaf) { inner, level in
        level.isMultiple(of: 2)
          ? CompositeOperation(operations: [inner]) : CompositeOperation(sequence: ListSequence([inner]))
      }
    case .maps:
      return chain(depth, leaf) { upstream in upstream.map { $0 + 1 } }
    case .thens:
      return chain(depth, leaf) { upstream in upstream.then { value in succeeding(value + 1) } }
    case .recovers:
      return chain(depth, leaf) { upstream in upstream.recover { _ in succeeding(0) } }
    case .alls:
      return chain(depth, leaf) { upstream in all([upstream]).map { $0[0] + 1 } }
    case .guards:
      let registry = ExclusionRegistry()
      return chain(depth / 2, leaf) { $0.exclusive("x", in: registry).condition(.all([])) }
    case .thensToTheRight:
      return NestingForm.toTheRight(depth, leaf)
    }
  }

  /// The value of the typed forms when the leaf's is 0.
  func value(depth: Int) -> Int? {
    switch self {
    case .parallelInParallel, .sequentialInSequential, .alternating: nil
    case .maps, .thens, .alls: depth
    case .recovers, .guards, .thensToTheRight: 0
    }
  }

  /// Whether the form turns the leaf's failure into a success.
  var handlesFailures: Bool { self == .recovers }

  private func nest(
    _ depth: Int, _ leaf: SimpleOperation<Int>, _ wrap: (Operation, Int) -> CompositeOperation
  ) -> CompositeOperation {
    var outermost = wrap(leaf, 0)
    for level in 1..<depth { outermost = wrap(outermost, level) }
    return outermost
  }

  private func chain(
    _ depth: Int, _ leaf: SimpleOperation<Int>, _ wrap: (SimpleOperation<Int>) -> SimpleOperation<Int>
  ) -> SimpleOperation<Int> {
    var last = leaf
    for _ in 0..<depth { last = wrap(last) }
    return last
  }

  private static func toTheRight(_ depth: Int, _ leaf: SimpleOperation<Int>) -> SimpleOperation<Int> {
    succeeding(0).then { _ in depth == 1 ? leaf : toTheRight(depth - 1, leaf) }
  }
}
