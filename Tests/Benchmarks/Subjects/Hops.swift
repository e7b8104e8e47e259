import CompositeOperations
import Foundation
import PipelineOperations

/// Operations one after the other, each made from the value of the one before: as `then`s of the
/// core, and as steps of a pipeline.
enum Hops {
  static func operation(after number: Int) -> SimpleOperation<Int> {
    SimpleOperation { $0.finish(with: number + 1) }
  }

  static func runThens(_ count: Int) {
    precondition(finish(thens(count)).result == count)
  }

  // Not inlined: the caller of `finish` must hold no other reference.
  @inline(never)
  private static func thens(_ count: Int) -> SimpleOperation<Int> {
    var chain = operation(after: 0)
    for _ in 1..<count { chain = chain.then { operation(after: $0) } }
    return chain
  }

  static func pipeline(_ count: Int) -> Pipeline<Int, Int> {
    var pipeline = Pipeline(of: Int.self)
    for _ in 0..<count { pipeline = pipeline.then(operation(after:)) }
    return pipeline
  }

  static func run(_ pipeline: Pipeline<Int, Int>, steps count: Int) {
    precondition(finish(pipeline.operation(for: 0)).result == count)
  }
}
