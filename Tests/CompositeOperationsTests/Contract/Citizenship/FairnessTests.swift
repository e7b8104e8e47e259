import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Counts leaves, not time: an operation that is added while leaf number n runs must start before n
/// and a few.
@Suite("3.4 No operation starves on a shared queue", .hangLimit)
struct FairnessTests {
  @Test("3.4 A .veryHigh operation behind 2,000 leaves starts within a few leaves", arguments: 1...4, [true, false])
  func veryHigh_behindManyLeaves_startsSoon(limit: Int, isRootInQueue: Bool) async {
    // The lane in the slot of a root never gives it up, and could run all leaves while the system
    // delays the other lanes. So it gets a leaf that stays, and so do all others but one.
    let held = isRootInQueue ? (1..<limit).map { _ in HeldOperation<Void>() } : []
    let waited = await leavesUntilStart(priority: .veryHigh, limit: limit, isRootInQueue: isRootInQueue, held: held)
    if limit == 1 && isRootInQueue {
      // A root that holds the only slot of its queue admits no operation before it settles:
      // Foundation's own rule. So it comes after all leaves.
      #expect(waited == 1990)
    } else {
      #expect(waited <= aFew(limit - held.count))
    }
  }

  @Test("3.4 An operation of the same priority behind 2,000 leaves starts within a few leaves", arguments: 1...4)
  func normal_behindManyLeaves_startsSoon(limit: Int) async {
    let waited = await leavesUntilStart(priority: .normal, limit: limit, isRootInQueue: false)
    #expect(waited <= aFew(limit))
  }

  @Test(
    "3.4 Where all slots but one are taken for long, another operation still starts within a few leaves",
    arguments: 1...4, [Operation.QueuePriority.normal, .veryHigh])
  func other_behindManyLeavesOfOneLane_startsSoon(limit: Int, priority: Operation.QueuePriority) async {
    // They come first and stay, so that one lane is left for the rest, and thread wake-ups do not
    // matter.
    let held = (1..<limit).map { _ in HeldOperation<Void>() }
    let waited = await leavesUntilStart(priority: priority, limit: limit, isRootInQueue: false, held: held)
    #expect(waited <= aFew(1))
  }

  @Test("3.4 Two composites on one queue take turns")
  func composites_onOneQueue_takeTurns() async {
    let queue = OperationQueue(limit: 1)
    let recorder = EventRecorder<String>()
    let gate = HeldOperation<Int>()
    queue.addOperation(gate)
    let composites = ["a", "b"].map { name in
      CompositeOperation(
        operations: (0..<200).map { succeeding($0, named: name, recorder: recorder) }, operationQueue: queue)
    }
    await onWorker { for composite in composites { composite.start() } }
    gate.finish(with: 1)
    for composite in composites { #expect(await settled(composite).value?.count == 200) }
    let firstHalf = recorder.events.prefix(200)
    #expect(firstHalf.contains("a"))
    #expect(firstHalf.contains("b"))
  }

  /// A lane takes a few leaves before it checks its queue again. With one lane that is exact;
  /// others also run leaves while the system wakes the thread that will start the operation, so a
  /// tenth of all is allowed, and one more in each lane, which then waits for that thread.
  private func aFew(_ limit: Int) -> Int { limit == 1 ? 16 : FairnessTests.patience + limit }

  /// After this many leaves, the leaves keep their slots until the operation has started: if it has
  /// a slot, it will, though its thread may wake up late.
  private static let patience = 200

  /// How many leaves started between the moment when an operation was added to the queue and its
  /// own start. The `held` ones come first, and end when it has run.
  private func leavesUntilStart(
    priority: Operation.QueuePriority, limit: Int, isRootInQueue: Bool, held: [HeldOperation<Void>] = []
  ) async -> Int {
    let queue = OperationQueue(limit: limit)
    let leafCount = Locked(0)
    let countAtStart = Locked<Int?>(nil)
    let urgent = BlockOperation { countAtStart.withLock { $0 = leafCount.current } }
    urgent.queuePriority = priority
    let isPatient = Locked(limit > 1)
    let leaves = (0..<2000).map { _ in
      SimpleOperation<Void> { operation in
        let count = leafCount.increment()
        if count == 10 { queue.addOperation(urgent) }
        guard count > 10 + FairnessTests.patience, isPatient.current else {
          operation.finish()
          return
        }
        Patience.whenReached({ countAtStart.current != nil }) { hasStarted in
          if !hasStarted { isPatient.withLock { $0 = false } }
          operation.finish()
        }
      }
    }
    let composite = CompositeOperation(operations: held + leaves, operationQueue: queue)
    if isRootInQueue {
      queue.addOperation(composite)
    } else {
      await onWorker { composite.start() }
    }
    if !held.isEmpty { await finished(urgent) }
    for leaf in held { leaf.finish() }
    #expect(await settled(composite).value?.count == held.count + 2000)
    await finished(urgent)
    return (countAtStart.current ?? .max) - 10
  }
}
