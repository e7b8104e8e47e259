import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// The lanes in a given queue, seen through composites.
@Suite("3.4 QueuePool", .timeLimit(.minutes(10)))
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

  @Test("A limit that is lowered holds as soon as leaves end; one that is raised is used", arguments: [true, false])
  func limit_changed_holdsBetweenLeaves(isInQueue: Bool) async {
    let queue = OperationQueue(limit: 4)
    let leaves = (0..<12).map { _ in HeldOperation<Int>() }
    let gauge = ConcurrencyGauge()
    for leaf in leaves {
      leaf.started.whenOpen { gauge.enter() }
      leaf.completion = { _ in gauge.leave() }
    }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    if isInQueue { queue.addOperation(composite) } else { await onWorker { composite.start() } }
    for leaf in leaves[..<4] { await leaf.started.wait() }
    queue.maxConcurrentOperationCount = 1
    for leaf in leaves[..<4] { leaf.finish(with: 1) }
    await leaves[4].started.wait()
    await settleDown()
    #expect(gauge.current == 1)
    for number in 5..<8 {
      leaves[number - 1].finish(with: 1)
      await leaves[number].started.wait()
      #expect(gauge.current == 1)
    }
    queue.maxConcurrentOperationCount = 3
    leaves[7].finish(with: 1)
    for leaf in leaves[8..<11] { await leaf.started.wait() }
    #expect(gauge.current == 3)
    for leaf in leaves { leaf.finish(with: 1) }
    #expect(await settled(composite).value?.count == 12)
  }

  @Test(
    "Suspended, the queue starts no further leaf; resumed, it does, wherever the composite is",
    arguments: [true, false])
  func queue_suspendedAndResumed_goesOn(isInQueue: Bool) async {
    let queue = OperationQueue(limit: 2)
    let leaves = (0..<5).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    if isInQueue { queue.addOperation(composite) } else { await onWorker { composite.start() } }
    await leaves[0].started.wait()
    await leaves[1].started.wait()
    queue.isSuspended = true
    leaves[0].finish(with: 1)
    leaves[1].finish(with: 1)
    await settleDown()
    #expect(leaves[2...].allSatisfy { !$0.started.isOpen })
    queue.isSuspended = false
    await leaves[3].started.wait()
    for leaf in leaves { leaf.finish(with: 1) }
    #expect(await settled(composite).value?.count == 5)
  }

  @Test("A lane lines up with the priority of the next leaf: behind a more urgent operation, before a less urgent one")
  func helper_hasPriorityOfNextLeaf() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let recorder = EventRecorder<String>()
    func block(_ name: String, _ priority: Operation.QueuePriority) -> BlockOperation {
      let block = BlockOperation { recorder.record(name) }
      block.queuePriority = priority
      return block
    }
    let composite = CompositeOperation(operations: [block("leaf", .high), block("leaf", .high)], operationQueue: queue)
    await onWorker { composite.start() }
    while queue.operationCount < 1 { await Task.yield() }
    queue.add([block("normal", .normal), block("veryHigh", .veryHigh), block("low", .low)])
    queue.isSuspended = false
    await recorder.wait(forCount: 5)
    #expect(recorder.events.first == "veryHigh")
    #expect(recorder.events.dropFirst().prefix(2) == ["leaf", "leaf"])
    #expect(recorder.events.suffix(2) == ["normal", "low"])
  }

  @Test("cancelAllOperations cancels the leaf of that moment, not those that a sequence makes afterwards")
  func cancelAllOperations_inALeaf_isNotSticky() async {
    let queue = OperationQueue(limit: 1)
    let recorder = EventRecorder<Int>()
    let step = Locked(0)
    let composite = CompositeOperation(
      sequence: ClosureSequence { _ in
        let number = step.increment()
        guard number <= 4 else { return nil }
        return SimpleOperation<Int> { operation in
          recorder.record(number)
          if number == 2 { queue.cancelAllOperations() }
          operation.finish(with: number)
        }
      }, operationQueue: queue)
    #expect(await outcomeOfStarting(composite).value?.compactMap { $0 as? Int } == [1, 3, 4])
    #expect(recorder.events == [1, 2, 3, 4])
    #expect(composite.childOutcomes.map { $0?.isCancelled } == [false, true, false, false])
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

  @Test("A root whose main goes on on another thread uses the slot that it holds")
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
