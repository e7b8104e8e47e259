import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Children that wait for each other: one blocks its thread until its sibling ran. They finish
/// wherever the same operations would in an `OperationQueue`.
@Suite("3.4 Children that wait for each other", .serialized)
struct PairTests {
  private static let pairs = 200
  /// Fewer where both siblings are one level down: Dispatch may replace blocked threads one in a
  /// second.
  private static let nestedPairs = 40

  /// Which child comes first.
  enum Order: CaseIterable, Sendable { case blockerFirst, openerFirst }

  @Test(arguments: Order.allCases)
  func pairs_inOneComposite_finish(order: Order) async {
    let composite = CompositeOperation(operations: (0..<PairTests.pairs).flatMap { _ in PairTests.pair(order) })
    #expect(await PairTests.count(composite) == 2 * PairTests.pairs)
  }

  @Test(arguments: Order.allCases)
  func pairs_eachInItsOwnComposite_finish(order: Order) async {
    let composite = CompositeOperation(
      operations: (0..<PairTests.nestedPairs).map { _ in CompositeOperation(operations: PairTests.pair(order)) })
    #expect(await PairTests.count(composite) == PairTests.nestedPairs)
  }

  @Test(arguments: Order.allCases)
  func pairs_inTypedCompositions_finish(order: Order) async {
    let zips = (0..<PairTests.nestedPairs).map { _ in
      let pair = PairTests.pair(order)
      return zip(pair[0], pair[1]).map { _, _ in 1 }
    }
    let together = all(zips)
    together.start()
    let outcome = await settled(together)
    #expect(outcome.value?.count == PairTests.nestedPairs)
  }

  @Test(arguments: [2, 3, 4, OperationQueue.defaultMaxConcurrentOperationCount], Order.allCases)
  func pairs_onQueueWithRoomForBoth_finish(limit: Int, order: Order) async {
    let queue = OperationQueue(limit: limit)
    let composite = CompositeOperation(
      operations: (0..<PairTests.pairs).flatMap { _ in PairTests.pair(order) }, operationQueue: queue)
    #expect(await PairTests.count(composite) == 2 * PairTests.pairs)
  }

  @Test(arguments: [2, 3], [false, true])
  func nestedPairs_onSharedQueue_finish(limit: Int, rootIsInQueue: Bool) async {
    let queue = OperationQueue(limit: limit)
    // Composites without a queue in between pass it on.
    let composite = CompositeOperation(
      operations: (0..<20).map { _ in
        CompositeOperation(
          sequence: ListSequence(
            (0..<10).map { _ in CompositeOperation(operations: PairTests.pair(.blockerFirst), operationQueue: queue) }))
      })
    composite.maxConcurrentOperationCount = 1
    if rootIsInQueue { queue.addOperation(composite) } else { composite.start() }
    #expect(await settled(composite).value?.count == 20)
  }

  @Test func pairs_withOwnLimitOfTwo_finish() async {
    let composite = CompositeOperation(
      operations: (0..<PairTests.pairs).flatMap { _ in PairTests.pair(.blockerFirst) })
    composite.maxConcurrentOperationCount = 2
    #expect(await PairTests.count(composite) == 2 * PairTests.pairs)
  }

  /// A few that all block before the first opener comes: as many threads are needed.
  @Test(arguments: [false, true])
  func blockersBeforeAllOpeners_finish(onQueue: Bool) async {
    let gates = (0..<12).map { _ in Gate() }
    let composite = CompositeOperation(
      operations: gates.map { gate in BlockOperation { gate.waitBlocking() } }
        + gates.map { gate in BlockOperation { gate.open() } },
      operationQueue: onQueue ? OperationQueue() : nil)
    #expect(await PairTests.count(composite) == 24)
  }

  private static func pair(_ order: Order) -> [SimpleOperation<Int>] {
    let gate = Gate()
    let blocker = SimpleOperation<Int> { operation in
      gate.waitBlocking()
      operation.finish(with: 1)
    }
    let opener = SimpleOperation<Int> { operation in
      gate.open()
      operation.finish(with: 2)
    }
    return order == .blockerFirst ? [blocker, opener] : [opener, blocker]
  }

  private static func count(_ composite: CompositeOperation) async -> Int? {
    composite.start()
    return await settled(composite).value?.count
  }
}
