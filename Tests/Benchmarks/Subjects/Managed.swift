import CompositeOperations
import Foundation
import ManagedOperations

/// A task whose operation has an empty body.
struct EmptyTask: ManagedTask {
  func makeOperation() -> SimpleOperation<Void> { emptyOperation() }
}

/// The package's side of the rows about managed tasks.
enum Managed {
  /// A manager whose interceptors all let the task execute at once.
  static func manager(interceptors count: Int = 0, in queue: OperationQueue? = nil) -> OperationManager {
    OperationManager(
      operationQueue: queue,
      interceptors: (0..<count).map { _ in AnyInterceptor.intercepting(EmptyTask.self) { _, _ in .execute } })
  }

  /// Adds `count` tasks one by one, and waits until all have settled.
  static func run(_ count: Int, by manager: OperationManager) async {
    for _ in 0..<count { manager.add(EmptyTask()) }
    await manager.waitUntilIdle()
  }

  /// Adds `count` tasks that are all held until the last one comes.
  static func runInABatch(of count: Int) async {
    let manager = OperationManager(interceptors: [.batch(maxCount: count)])
    await run(count, by: manager)
  }

  /// Adds the same operations to a queue one by one, and waits until all have finished.
  static func runPeer(_ count: Int, in queue: OperationQueue) async {
    for _ in 0..<count { queue.addOperation(emptyOperation()) }
    await withCheckedContinuation { continuation in
      queue.addBarrierBlock { continuation.resume() }
    }
  }
}
