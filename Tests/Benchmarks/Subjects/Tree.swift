import CompositeOperations
import CompositeOperationsTestKit
import Foundation

/// The shape of a mixed nested tree: parallel and sequential composites over simple and block
/// operations.
///
/// The shape is generated once from a fixed seed; measured is making and running the operations, on
/// both sides.
indirect enum Tree: Sendable {
  case simple
  case block
  case parallel([Tree])
  case sequential([Tree])

  /// A tree with exactly `count` leaves: two of three are simple operations, the others block
  /// operations; each composite has 2 to 16 children, and two of three composites are parallel.
  static func random(leaves count: Int, seed: UInt64 = 0x5EED) -> Tree {
    var generator = SeededRandomNumberGenerator(seed: seed)
    return random(leaves: count, using: &generator)
  }

  private static func random(leaves count: Int, using generator: inout SeededRandomNumberGenerator) -> Tree {
    guard count > 1 else { return Int.random(in: 0..<3, using: &generator) < 2 ? .simple : .block }
    let width = count <= 16 ? count : Int.random(in: 2...16, using: &generator)
    var left = count
    var children: [Tree] = []
    for position in 0..<width {
      let others = width - position - 1
      let share =
        others == 0 ? left : Int.random(in: 1...max(1, min(left - others, 2 * left / (others + 1))), using: &generator)
      left -= share
      children.append(random(leaves: share, using: &generator))
    }
    return Int.random(in: 0..<3, using: &generator) < 2 ? .parallel(children) : .sequential(children)
  }

  /// Makes the operation for this tree, and those below it.
  func makeOperation() -> Operation {
    switch self {
    case .simple: emptyOperation()
    case .block: BlockOperation {}
    case .parallel(let children): Self.makeParallel(children)
    case .sequential(let children): Self.makeSequential(children)
    }
  }

  private static func makeParallel(_ children: [Tree]) -> CompositeOperation {
    CompositeOperation(operations: children.map { $0.makeOperation() })
  }

  private static func makeSequential(_ children: [Tree]) -> CompositeOperation {
    CompositeOperation(sequence: TreeSequence(remaining: children[...]))
  }

  /// The same leaves without composites, in the same order.
  var leaves: [Tree] {
    switch self {
    case .simple, .block: [self]
    case .parallel(let children), .sequential(let children): children.flatMap { $0.leaves }
    }
  }

  /// Runs the tree and returns when it has finished.
  func run() {
    switch self {
    case .simple, .block: preconditionFailure("the measured tree is a single leaf")
    case .parallel(let children): finish(Self.makeParallel(children))
    case .sequential(let children): finish(Self.makeSequential(children))
    }
  }
}

/// A sequence that makes each step of a tree in its turn.
private struct TreeSequence: CompositeOperation.Sequence {
  var remaining: ArraySlice<Tree>

  mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    remaining.popFirst()?.makeOperation()
  }
}
