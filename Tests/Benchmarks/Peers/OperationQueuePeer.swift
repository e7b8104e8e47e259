import Foundation

/// The peer in Foundation: `BlockOperation`s through an `OperationQueue`.
///
/// Of the ways to add them, `addOperations(_:waitUntilFinished:)` with an array is the fastest at
/// every size, so this is what the peers use. A queue is made once and reused, as in an app.
enum OperationQueuePeer {
  /// Runs `count` block operations with the same body and returns when all have finished.
  static func run(_ count: Int, in queue: OperationQueue, body: @escaping @Sendable () -> Void) {
    let operations = (0..<count).map { _ in BlockOperation(block: body) }
    queue.addOperations(operations, waitUntilFinished: true)
  }

  /// Adds `count` block operations, each after the one before it has finished.
  static func runOneByOne(_ count: Int, in queue: OperationQueue) {
    for _ in 0..<count {
      let operation = BlockOperation {}
      queue.addOperation(operation)
      operation.waitUntilFinished()
    }
  }

  /// Awaits `count` block operations one after the other, each behind a checked continuation.
  static func awaitOneByOne(_ count: Int, in queue: OperationQueue) async {
    for number in 0..<count {
      let value = await withCheckedContinuation { continuation in
        queue.addOperation(BlockOperation { continuation.resume(returning: number) })
      }
      precondition(value == number)
    }
  }

  /// A default queue, or one that runs a single operation at a time.
  static func queue(serial: Bool = false) -> OperationQueue {
    let queue = OperationQueue()
    if serial { queue.maxConcurrentOperationCount = 1 }
    return queue
  }
}
