import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Children that wait for each other finish wherever an `OperationQueue` would finish them.
@Suite("3.4 Children that block until a sibling ran", .hangLimit)
struct BlockingChildrenTests {
  @Test("3.4 Pairs in which the first blocks until the second ran")
  func pairs_firstWaitingForSecond_finish() async {
    let composite = CompositeOperation(operations: (0..<100).flatMap { _ in waitingPair() })
    #expect(await outcomeOfStarting(composite).value?.count == 200)
  }

  @Test("3.4 All that wait come first, all that they wait for come last")
  func waiters_beforeAllOthers_finish() async {
    let pairs = (0..<6).map { _ in waitingPair() }
    let composite = CompositeOperation(operations: pairs.map { $0[0] } + pairs.map { $0[1] })
    #expect(await outcomeOfStarting(composite).value?.count == 12)
  }

  @Test("3.4 A child that waits for a child of a nested composite")
  func child_waitingForNestedChild_finishes() async {
    let pair = waitingPair()
    let composite = CompositeOperation(operations: [
      pair[0], CompositeOperation(sequence: ListSequence([succeeding(1), pair[1]])),
    ])
    #expect(await outcomeOfStarting(composite).value?.count == 2)
  }

  @Test("3.4 On a given queue of two", arguments: 2...3)
  func pairs_onQueue_finish(limit: Int) async {
    let composite = CompositeOperation(
      operations: (0..<20).flatMap { _ in waitingPair() }, operationQueue: OperationQueue(limit: limit))
    #expect(await outcomeOfStarting(composite).value?.count == 40)
  }

  @Test("3.4 Within a composite's own limit of two")
  func pairs_withinLimit_finish() async {
    let composite = CompositeOperation(operations: (0..<20).flatMap { _ in waitingPair() })
    composite.maxConcurrentOperationCount = 2
    #expect(await outcomeOfStarting(composite).value?.count == 40)
  }

  @Test("3.4 A child that waits for an asynchronous sibling, and one that waits for work behind many others")
  func child_waitingForAsyncSibling_finishes() async {
    let gate = Gate()
    let waiting = BlockOperation { gate.waitBlocking() }
    let many = (0..<500).map { succeeding($0) as Operation }
    let opening = AsyncOperation<Void> { gate.open() }
    let composite = CompositeOperation(operations: [waiting] + many + [opening])
    #expect(await outcomeOfStarting(composite).value?.count == 502)
  }

  @Test("3.4 A body that runs another composite and blocks until it settled")
  func child_waitingForAnotherComposite_finishes() async {
    let outer = CompositeOperation(
      operations: (0..<4).map { _ in
        BlockOperation {
          let inner = CompositeOperation(operations: [succeeding(1), succeeding(2)])
          inner.start()
          inner.waitUntilFinished()
        }
      })
    #expect(await outcomeOfStarting(outer).value?.count == 4)
  }

  /// Two children: the first blocks its thread until the second ran.
  private func waitingPair() -> [Operation] {
    let gate = Gate()
    let waiting = SimpleOperation<Int> { operation in
      gate.waitBlocking()
      operation.finish(with: 1)
    }
    let opening = SimpleOperation<Int> { operation in
      gate.open()
      operation.finish(with: 2)
    }
    return [waiting, opening]
  }
}
