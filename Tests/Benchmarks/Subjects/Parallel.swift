import CompositeOperations
import Foundation

/// The package's side of the rows about parallel composites.
enum Parallel {
  /// Runs `count` simple operations in one composite and returns when it has finished.
  static func run(_ count: Int, in queue: OperationQueue? = nil) {
    finish(CompositeOperation(operations: (0..<count).map { _ in emptyOperation() }, operationQueue: queue))
  }

  /// The same, with a limit that holds no child back.
  static func runLimited(_ count: Int) {
    let composite = CompositeOperation(operations: (0..<count).map { _ in emptyOperation() })
    composite.maxConcurrentOperationCount = 1_000_000
    finish(composite)
  }

  /// The same, each child with a body of its own.
  static func run(_ count: Int, body: @escaping @Sendable () -> Void) {
    finish(
      CompositeOperation(
        operations: (0..<count).map { _ in
          SimpleOperation<Void> { operation in
            body()
            operation.finish()
          }
        }))
  }

  /// Runs `count` block operations as children of one composite.
  static func runBlocks(_ count: Int) {
    finish(CompositeOperation(operations: (0..<count).map { _ in BlockOperation {} }))
  }

  /// Runs `count` simple operations in one composite, awaited.
  static func runAwaited(_ count: Int) async {
    await finish(CompositeOperation(operations: (0..<count).map { _ in emptyOperation() }))
  }

  /// Runs `count` asynchronous operations in one composite, awaited.
  static func runAwaited(_ count: Int, body: @escaping @Sendable () async -> Void) async {
    await finish(CompositeOperation(operations: (0..<count).map { _ in AsyncOperation<Void>(body) }))
  }

  /// Runs `outer` composites of `inner` simple operations in one composite.
  static func runNested(outer: Int, inner: Int) {
    let composites = (0..<outer).map { _ in
      CompositeOperation(operations: (0..<inner).map { _ in emptyOperation() })
    }
    finish(CompositeOperation(operations: composites))
  }
}
