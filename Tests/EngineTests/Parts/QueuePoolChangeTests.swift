import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Changes of a given queue while leaves run in it: its limit, suspension, other operations, a
/// cancel of all.
@Suite("3.4 QueuePool: changes of the queue", .hangLimit)
struct QueuePoolChangeTests {
  @Test("A lowered limit applies as soon as leaves end; a raised one is used", arguments: [true, false])
  func limit_changed_holdsBetweenLeaves(isInQueue: Bool) async {
    let queue = OperationQueue(limit: 4)
    let leaves = (0..<12).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    let inFlight: @Sendable () -> Int = { leaves.count { $0.isExecuting } }
    if isInQueue { queue.addOperation(composite) } else { await onWorker { composite.start() } }
    // In flight, so that their lanes check the limit again: a lane still in start() might run more.
    for leaf in leaves[..<4] { await Patience.untilAwaited(leaf) }
    queue.maxConcurrentOperationCount = 1
    for leaf in leaves[..<4] { leaf.finish(with: 1) }
    await leaves[4].started.wait()
    await settleDown()
    #expect(inFlight() == 1)
    for number in 5..<8 {
      leaves[number - 1].finish(with: 1)
      await leaves[number].started.wait()
      #expect(inFlight() == 1)
    }
    queue.maxConcurrentOperationCount = 3
    leaves[7].finish(with: 1)
    for leaf in leaves[8..<11] { await leaf.started.wait() }
    #expect(inFlight() == 3)
    for leaf in leaves { leaf.finish(with: 1) }
    #expect(await settled(composite).value?.count == 12)
  }

  @Test(
    "Of lanes that run synchronous leaves the surplus ends when the limit is lowered, a few leaves later",
    arguments: [true, false])
  func limit_lowered_surplusLanesEnd(isInQueue: Bool) async {
    let queue = OperationQueue(limit: 2)
    let gates = (0..<12).map { _ in Gate() }
    let (started, ended) = (EventRecorder<Int>(), EventRecorder<Int>())
    let leaves = gates.enumerated().map { number, gate in
      BlockOperation {
        started.record(number)
        gate.waitBlocking()
        // However long it was held: the number of leaves alone ends the lane's turn.
        ThreadContext.current.turn.end = .max
        ended.record(number)
      }
    }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    if isInQueue { queue.addOperation(composite) } else { await onWorker { composite.start() } }
    await started.wait(forCount: 2)
    queue.maxConcurrentOperationCount = 1
    // Each of the two lanes finishes its turn of four leaves. The other one is held back by its own
    // leaf meanwhile.
    for number in 0..<6 {
      gates[number].open()
      await started.wait(forCount: number + 3)
    }
    for number in 6...7 { gates[number].open() }
    // The thread of the lane that ends may wake up late, and might go on only then.
    await ended.wait(forCount: 8)
    for number in 8..<11 {
      await started.wait(forCount: number + 1)
      await settleDown()
      #expect(started.count == number + 1)
      gates[number].open()
    }
    gates[11].open()
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
    queue.add([block("normal", .normal), block("veryHigh", .veryHigh), block("low", .low)])
    let composite = CompositeOperation(operations: [block("leaf", .high), block("leaf", .high)], operationQueue: queue)
    await onWorker { composite.start() }
    await until(queue.operationCount >= 4)
    queue.isSuspended = false
    await recorder.wait(forCount: 5)
    #expect(recorder.events == ["veryHigh", "leaf", "leaf", "normal", "low"])
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

  @Test("The same when the leaf settles as soon as it is cancelled, and the sequence waits for a lane then")
  func cancelAllOperations_leafSettlesAtOnce_isNotSticky() async {
    let queue = OperationQueue(limit: 1)
    let first = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(sequence: ListSequence([first, succeeding(2)]), operationQueue: queue)
    await onWorker { composite.start() }
    // It waits for a lane when the leaf settles, if the lane is no longer in start().
    await Patience.untilAwaited(first)
    queue.isSuspended = true
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await settled(composite).value?.compactMap { $0 as? Int } == [2])
    #expect(composite.childOutcomes.map { $0?.isCancelled } == [true, false])
  }

  @Test("A lane that is between two leaves at that moment has the next one cancelled, and no more")
  func cancelAllOperations_betweenLeaves_cancelsOne() async {
    let queue = OperationQueue(limit: 1)
    let step = Locked(0)
    let composite = CompositeOperation(
      sequence: ClosureSequence { _ in
        let number = step.increment()
        if number == 2 { queue.cancelAllOperations() }
        return number > 4 ? nil : succeeding(number)
      }, operationQueue: queue)
    #expect(await outcomeOfStarting(composite).value?.compactMap { $0 as? Int }.suffix(2) == [3, 4])
  }

  @Test("It also reaches what a forEach has not made yet")
  func cancelAllOperations_whileForEachWaits_cancelsIt() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let ran = EventRecorder<String>()
    let each = forEach(0..<3) { succeeding($0, named: "\($0)", recorder: ran) }
    let composite = CompositeOperation(operations: [each], operationQueue: queue)
    await onWorker { composite.start() }
    await until(queue.operationCount == 1)
    await until(each.isExecuting)
    await settleDown()
    queue.cancelAllOperations()
    queue.isSuspended = false
    #expect(await settled(composite).isCancelled)
    #expect(ran.events.isEmpty)
  }

  @Test("What settles while its queue is suspended is released", arguments: [true, false])
  func settledInSuspendedQueue_isReleased(isInQueue: Bool) async {
    let queue = OperationQueue(limit: 1)
    let leaf = await Self.leafThatSettledInSuspended(queue, isInQueue: isInQueue)
    await untilReleased(leaf)
    #expect(leaf.object == nil)
    queue.isSuspended = false
  }

  private static func leafThatSettledInSuspended(
    _ queue: OperationQueue, isInQueue: Bool
  ) async -> WeakReference<HeldOperation<Int>> {
    let leaf = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [leaf], operationQueue: queue)
    if isInQueue { queue.addOperation(composite) } else { await onWorker { composite.start() } }
    await leaf.started.wait()
    await Patience.untilAwaited(leaf)
    queue.isSuspended = true
    leaf.finish(with: 1)
    _ = await settled(composite)
    await finished(composite)
    return WeakReference(leaf)
  }
}
