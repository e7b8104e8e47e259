import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The lanes in a given queue, seen through composites.
@Suite("3.4 QueuePool", .hangLimit)
struct QueuePoolTests {
  @Test(
    "Leaves of many nested composites wait for each other: as many lanes as there is work for",
    arguments: [1, 2, 3, 10, 40])
  func nested_leavesThatWaitForEachOther_finish(count: Int) async {
    let leaves = (0..<count).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(
      operations: leaves.map { CompositeOperation(operations: [$0]) }, operationQueue: OperationQueue())
    await onWorker { composite.start() }
    for leaf in leaves { await leaf.started.wait() }
    for leaf in leaves { leaf.finish(with: 1) }
    #expect(await settled(composite).value?.count == count)
  }

  @Test("With a limit as high as their number, too, in the queue or not", arguments: [true, false])
  func nested_limitOfTheirNumber_areAllInFlight(isInQueue: Bool) async {
    let queue = OperationQueue(limit: 4)
    let leaves = (0..<4).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(
      operations: leaves.map { CompositeOperation(sequence: ListSequence([$0]), operationQueue: queue) },
      operationQueue: queue)
    if isInQueue { queue.addOperation(composite) } else { await onWorker { composite.start() } }
    for leaf in leaves { await leaf.started.wait() }
    for leaf in leaves { leaf.finish(with: 1) }
    #expect(await settled(composite).value?.count == 4)
  }

  @Test("Sequences that several lanes attend to in turn are not forgotten", arguments: [true, false])
  func sequences_sharedByLanes_finish(isInQueue: Bool) async {
    for _ in 0..<10 {
      let queue = OperationQueue(limit: 3)
      let sequences = (0..<3).map { _ in
        CompositeOperation(sequence: ListSequence((0..<300).map { _ in BlockOperation {} }))
      }
      let composite = CompositeOperation(operations: sequences, operationQueue: queue)
      if isInQueue { queue.addOperation(composite) } else { await onWorker { composite.start() } }
      #expect(await settled(composite).value?.count == 3)
    }
  }

  @Test(
    "Afterwards nothing is kept: neither the composite nor its leaves, also where others waited for the slot",
    arguments: [true, false])
  func pool_afterwards_isReleased(othersWait: Bool) async {
    let queue = OperationQueue(limit: 1)
    let (released, ran) = (Gate(), Gate())
    if !othersWait { ran.open() }
    let reference: WeakReference<CompositeOperation>
    do {
      let probe = ReleaseProbe(released)
      let leaf = SimpleOperation<Int> { operation in
        if othersWait { queue.addOperation { ran.open() } }
        operation.finish(with: 1)
      }
      leaf.completionBlock = { probe.touch() }
      let composite = CompositeOperation(operations: [leaf], operationQueue: queue)
      reference = WeakReference(composite)
      #expect(await outcomeOfStarting(composite).value?.count == 1)
    }
    await ran.wait()
    await released.wait()
    await untilReleased(reference)
  }

  @Test("A root whose main continues on another thread uses the slot that it holds")
  func main_continuedElsewhere_usesHeldSlot() async {
    let queue = OperationQueue(limit: 1)
    let composite = PreparingElsewhere(operations: [succeeding(1), succeeding(2)], operationQueue: queue)
    queue.addOperation(composite)
    #expect(await settled(composite).value?.count == 2)
  }

  @Test("Two trees in one queue of limit 2, each holding a slot, both finish, in the limit")
  func twoTrees_inOneQueue_finish() async {
    let queue = OperationQueue(limit: 2)
    let gauge = ConcurrencyGauge()
    let trees = (0..<2).map { _ in
      CompositeOperation(
        operations: (0..<30).map { number in
          AsyncOperation {
            gauge.enter()
            await Task.yield()
            gauge.leave()
            return number
          }
        }, operationQueue: queue)
    }
    queue.add(trees)
    for tree in trees { #expect(await settled(tree).value?.count == 30) }
    #expect(gauge.maximum <= 2 && gauge.total == 60)
    await onWorker { queue.waitUntilAllOperationsAreFinished() }
    #expect(queue.operationCount == 0)
  }
}

private final class PreparingElsewhere: CompositeOperation, @unchecked Sendable {  // stores nothing
  override func main() {
    DispatchQueue.global().async { self.begin() }
  }

  private func begin() { super.main() }
}
