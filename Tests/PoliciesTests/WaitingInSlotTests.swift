import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// A root that was added to a queue keeps its slot while it waits; the holder that it waits for may
/// need a slot there.
@Suite("8 Waiting operations lend their slots", .hangLimit)
struct WaitingInSlotTests {
  private let registry = ExclusionRegistry()
  private let limit = SharedLimit(maxConcurrent: 1)

  enum Wait: CaseIterable { case exclusive, limited }

  private func guarded<O: ComposableOperation>(_ operation: O, _ wait: Wait) -> SimpleOperation<O.Value> {
    switch wait {
    case .exclusive: operation.exclusive("x", in: registry)
    case .limited: operation.limited(by: limit)
    }
  }

  private func reaches(waiting count: Int, _ wait: Wait) async {
    switch wait {
    case .exclusive: #expect(await registry.reaches(waiting: count))
    case .limited: while limit.waitingCount < count { await onWorker {} }
    }
  }

  /// Operations one after the other, in slots of the queue.
  private func steps(_ steps: [SimpleOperation<Int>], in queue: OperationQueue) -> SimpleOperation<Int> {
    let composite = CompositeOperation(
      sequence: LinearSequence(steps: steps.map { step in { _ in step } }), operationQueue: queue)
    return composite.map { $0.count }
  }

  /// Runs the operations in slots of the queue, holding a category of its own, that no other wants.
  private func holdingOther(_ operations: [Operation], in queue: OperationQueue) -> SimpleOperation<Int> {
    CompositeOperation(operations: operations, operationQueue: queue).map { $0.count }
      .exclusive(ExclusionCategory(UUID().uuidString), in: registry)
  }

  /// Each holds a category and needs a second slot of the queue to give it back, while others that
  /// occupy all slots wait for it.
  @Test(
    "8 Those that hold a category, and want a slot of those that wait for it, get one", arguments: Wait.allCases, 1...3)
  func root_waitsForHolderThatWantsItsSlot_bothEnd(wait: Wait, slots: Int) async {
    let queue = OperationQueue(limit: slots)
    let first = HeldOperation<Int>()
    let holder = guarded(steps([first, succeeding(2), succeeding(3)], in: queue), wait)
    await onWorker { holder.start() }
    await first.started.wait()
    let others = (0..<slots).map { guarded(succeeding($0), wait) }
    await onWorker { queue.add(others) }
    // The holder's first step itself has a slot.
    await reaches(waiting: slots - 1, wait)
    first.finish(with: 1)
    #expect(await settled(holder).value == 3)
    for (number, other) in others.enumerated() { #expect(await settled(other).value == number) }
    #expect(registry.isUnused && limit.isUnused)
  }

  /// A child that waits for a category has given its slot back, and needs one again when the
  /// category is granted.
  @Test("8 What waited itself, and holds it now, gets a slot of those that wait for it", arguments: Wait.allCases)
  func childThatWaited_holdsAndWantsASlot_getsOne(wait: Wait) async {
    let queue = OperationQueue(limit: 1)
    let first = HeldOperation<Int>()
    let holder = guarded(first, wait)
    await onWorker { holder.start() }
    await first.started.wait()
    let composite = CompositeOperation(operations: [guarded(succeeding(1), wait)], operationQueue: queue)
    await onWorker { composite.start() }
    await reaches(waiting: 1, wait)
    let other = guarded(succeeding(2), wait)
    queue.addOperation(other)
    await reaches(waiting: 2, wait)
    first.finish(with: 1)
    #expect(await settled(composite).value?.count == 1)
    #expect(await settled(other).value == 2)
    #expect(await settled(holder).value == 1)
    #expect(registry.isUnused && limit.isUnused)
  }

  @Test("8 Wherever in a tree it waits, its root lends the slot", arguments: Wait.allCases)
  func childOfRoot_waits_rootLendsItsSlot(wait: Wait) async {
    let queue = OperationQueue(limit: 1)
    let first = HeldOperation<Int>()
    let holder = guarded(steps([first, succeeding(2)], in: queue), wait)
    await onWorker { holder.start() }
    await first.started.wait()
    let other = CompositeOperation(
      operations: [succeeding(1), guarded(succeeding(2).map { $0 }, wait), succeeding(3)], operationQueue: queue)
    queue.addOperation(other)
    first.finish(with: 1)
    #expect(await settled(holder).value == 2)
    #expect(await settled(other).value?.count == 3)
  }

  @Test("8 Trees that wait for each other in a circle of slots and categories all end")
  func circleOfTrees_ends() async {
    let queue = OperationQueue(limit: 2)
    let firsts = (0..<2).map { _ in HeldOperation<Int>() }
    let categories: [ExclusionCategory] = ["x", "y"]
    let holders = (0..<2).map { steps([firsts[$0], succeeding(2)], in: queue).exclusive(categories[$0], in: registry) }
    for holder in holders { await onWorker { holder.start() } }
    for first in firsts { await first.started.wait() }
    let waiters = (0..<2).map {
      steps([succeeding(1), succeeding(2)], in: queue).exclusive(categories[$0], in: registry)
    }
    queue.add(waiters)
    for first in firsts { first.finish(with: 1) }
    for operation in holders + waiters { #expect(await settled(operation).value == 2) }
    #expect(registry.isUnused)
  }

  /// Runs outside all queues, and holds a category until it is settled.
  private func holding(_ category: ExclusionCategory = "x") async -> HeldOperation<Int> {
    let holder = HeldOperation<Int>()
    let held = holder.exclusive(category, in: registry)
    await onWorker { held.start() }
    await holder.started.wait()
    return holder
  }

  /// Waits in a slot of the queue for that category.
  private func waiting(
    _ operation: some ComposableOperation<Int> = succeeding(5), in queue: OperationQueue
  ) async -> SimpleOperation<Int> {
    let waiter = operation.exclusive("x", in: registry)
    queue.addOperation(waiter)
    #expect(await registry.reaches(waiting: 1))
    return waiter
  }

  /// Runs the leaf in a lent slot of the queue, and holds a category that no other requests.
  private func borrowing(_ leaf: HeldOperation<Int>, in queue: OperationQueue) async -> SimpleOperation<Int> {
    let borrower = holdingOther([leaf], in: queue)
    await onWorker { borrower.start() }
    await leaf.started.wait()
    return borrower
  }

  /// A queue with one slot, whose root waits for a category; another tree's leaf runs in the slot.
  private func lentSlot(
    _ leaf: HeldOperation<Int>,
    _ body: (_ queue: OperationQueue, _ holder: HeldOperation<Int>, _ waiter: SimpleOperation<Int>) async -> Void
  ) async {
    let queue = OperationQueue(limit: 1)
    let holder = await holding()
    let waiter = await waiting(in: queue)
    let borrower = await borrowing(leaf, in: queue)
    await body(queue, holder, waiter)
    holder.finish(with: 1)
    await finished(borrower)
    await finished(waiter)
    #expect(await registry.reaches(isUnused: true))
  }

  @Test("8 A reservation granted while its slot is lent runs when the slot is returned, so that the limit holds")
  func granted_whileSlotIsLent_runsAfterwards() async {
    let leaf = HeldOperation<Int>()
    await lentSlot(leaf) { queue, holder, waiter in
      let ran = Gate()
      waiter.completion = { _ in ran.open() }
      holder.finish(with: 1)
      await settleDown()
      #expect(!ran.isOpen)
      leaf.finish(with: 2)
      #expect(await settled(waiter).value == 5)
    }
  }

  @Test(
    "8 What runs in a lent slot goes on in the next free one, and the slot is given back", arguments: [false, true])
  func otherSlot_freeWhileSlotIsLent_isUsedInstead(cancels: Bool) async {
    let queue = OperationQueue(limit: 2)
    let (blocker, granted) = (HeldOperation<Int>(), HeldOperation<Int>())
    let leaf = HeldOperation<Int>(settlesWhenCancelled: true)
    let holder = await holding()
    queue.addOperation(blocker)
    await blocker.started.wait()
    let waiter = await waiting(granted, in: queue)
    let borrower = await borrowing(leaf, in: queue)
    blocker.finish(with: 1)
    holder.finish(with: 1)
    await granted.started.wait()
    #expect(!leaf.isFinished)
    // Both slots are taken again.
    let next = succeeding(6)
    queue.addOperation(next)
    await settleDown()
    #expect(!next.isFinished)
    if cancels {
      queue.cancelAllOperations()
      await leaf.cancelRequested.wait()
    }
    leaf.finish(with: 3)
    granted.finish(with: 5)
    for operation in [borrower, waiter, next] { await finished(operation) }
    #expect((borrower.outcome?.value == nil) == cancels)
    #expect(registry.isUnused)
  }

  /// A wait inside a body is not known to the package.
  @Test("8 A tree that holds nothing gets no lent slot, and may wait for a waiting operation")
  func treeThatHoldsNothing_getsNoSlot() async {
    let queue = OperationQueue(limit: 1)
    let holder = await holding()
    let waiter = await waiting(in: queue)
    let registry = registry
    let leaf = AsyncOperation<Int> { try await succeeding(7).exclusive("x", in: registry).run() }
    let other = CompositeOperation(operations: [leaf], operationQueue: queue)
    await onWorker { other.start() }
    await settleDown()
    #expect(!leaf.isExecuting)
    holder.finish(with: 1)
    #expect(await settled(waiter).value == 5)
    #expect(await settled(other).value?.count == 1)
  }

  @Test("8 Granted and cancelled while its slot is lent, it gives back its category at once")
  func grantedAndCancelled_whileSlotIsLent_releasesAtOnce() async {
    let leaf = HeldOperation<Int>()
    await lentSlot(leaf) { queue, holder, waiter in
      let next = succeeding(6).exclusive("x", in: registry)
      await onWorker { next.start() }
      holder.finish(with: 1)
      #expect(await registry.reaches(waiting: 1))
      await settleDown()
      #expect(!next.isFinished)
      waiter.cancel()
      #expect(await settled(next).value == 6)
      #expect(!waiter.isFinished)
      leaf.finish(with: 2)
      #expect(await settled(waiter).isCancelled)
    }
  }

  @Test("8 Granted, and cancelled before its gate is told, it gives back what it got at once", arguments: Wait.allCases)
  func grantedAndCancelled_beforeItsGateIsTold_releasesAtOnce(wait: Wait) async {
    let queue = OperationQueue(limit: 1)
    let (held, inFirst, leaf) = (HeldOperation<Int>(), HeldOperation<Int>(), HeldOperation<Int>())
    let holder = guarded(held, wait)
    await onWorker { holder.start() }
    await held.started.wait()
    let first = guarded(inFirst, wait)
    let work = succeeding(5)
    let waiter = guarded(work, wait)
    // One change of the limit grants both. Then their gates are told, one after the other.
    first.addTreeObserver { operation, event in
      if operation is ReservationGate, event.kind == .settled { work.cancel() }
    }
    await onWorker { first.start() }
    await reaches(waiting: 1, wait)
    queue.addOperation(waiter)
    await reaches(waiting: 2, wait)
    let borrower = await borrowing(leaf, in: queue)
    await settleDown()
    switch wait {
    case .exclusive: registry.setLimit(3, for: "x")
    case .limited: limit.maxConcurrent = 3
    }
    #expect(await outcomeOfStarting(guarded(succeeding(6), wait)).value == 6)
    #expect(!waiter.isFinished)
    await inFirst.started.wait()
    for operation in [leaf, inFirst, held] { operation.finish(with: 1) }
    #expect(await settled(waiter).isCancelled)
    for operation in [borrower, first, holder] { #expect(await settled(operation).value == 1) }
    #expect(registry.isUnused && limit.isUnused)
  }

  @Test("8 Where a timeout settles the root at once, the next that waits lends its slot when the loan has ended")
  func timeout_whileSlotIsLent_letsTheNextLend() async {
    let (queue, clock) = (OperationQueue(limit: 1), ManualClock())
    let leaf = HeldOperation<Int>()
    let holder = await holding()
    let waiter = succeeding(5).exclusive("x", in: registry).timeout(.seconds(1), clock: clock)
    queue.addOperation(waiter)
    #expect(await registry.reaches(waiting: 1))
    let next = succeeding(6).exclusive("y", in: registry)
    queue.addOperation(next)
    let borrower = await borrowing(leaf, in: queue)
    // Holds y. The next one in the queue, which has the slot before it, will wait for that.
    let second = CompositeOperation(operations: [succeeding(1)], operationQueue: queue).exclusive("y", in: registry)
    await onWorker { second.start() }
    clock.advance(by: .seconds(1))
    #expect(await settled(waiter).error is OperationTimeout)
    leaf.finish(with: 2)
    holder.finish(with: 1)
    #expect(await settled(second).value?.count == 1)
    #expect(await settled(next).value == 6)
    await finished(borrower)
    #expect(await registry.reaches(isUnused: true))
  }

  @Test("8 In a queue without a limit nothing is lent")
  func queue_withoutLimit_lendsNothing() async {
    let (queue, leaf) = (OperationQueue(), HeldOperation<Int>())
    let holder = await holding()
    let waiter = await waiting(in: queue)
    let borrower = await borrowing(leaf, in: queue)
    holder.finish(with: 1)
    #expect(await settled(waiter).value == 5)
    leaf.finish(with: 1)
    #expect(await settled(borrower).value == 1)
  }

  @Test("8 Each waiting root lends its slot; with a lowered limit, and a waiting one settled by hand, all end")
  func twoSlotsAreLent_limitIsLowered_allEnd() async {
    let queue = OperationQueue(limit: 2)
    let leaves = (0..<3).map { _ in HeldOperation<Int>() }
    let holder = await holding()
    let waiters = [succeeding(5), succeeding(6)].map { $0.exclusive("x", in: registry) }
    queue.add(waiters)
    #expect(await registry.reaches(waiting: 2))
    let first = await borrowing(leaves[0], in: queue)
    let second = await borrowing(leaves[1], in: queue)
    let third = holdingOther([leaves[2]], in: queue)
    await onWorker { third.start() }
    await settleDown()
    #expect(!leaves[2].started.isOpen)
    queue.maxConcurrentOperationCount = 1
    waiters[0].finish(with: 7)
    leaves[0].finish(with: 1)
    #expect(await settled(first).value == 1)
    // Lowered, the limit has room for one leaf, which is the second.
    await settleDown()
    #expect(!leaves[2].started.isOpen && !leaves[1].isFinished)
    leaves[1].finish(with: 2)
    await leaves[2].started.wait()
    holder.finish(with: 1)
    leaves[2].finish(with: 3)
    for borrower in [second, third] { #expect(await settled(borrower).value == 1) }
    #expect(await settled(waiters[0]).value == 7)
    #expect(await settled(waiters[1]).value == 6)
    #expect(registry.isUnused)
  }

  @Test("8 Cancelled while its slot is lent, it leaves the line at once, and ends when the slot is back")
  func cancelled_whileSlotIsLent_leavesLineAtOnce() async {
    let leaf = HeldOperation<Int>()
    await lentSlot(leaf) { queue, holder, waiter in
      waiter.cancel()
      #expect(registry.waitingCount == 0)
      #expect(!waiter.isFinished && !leaf.cancelRequested.isOpen)
      leaf.finish(with: 2)
      #expect(await settled(waiter).isCancelled)
    }
  }

  @Test("8 Cancelling all operations of the queue reaches what runs in a lent slot")
  func cancelAll_whileSlotIsLent_cancelsLeaf() async {
    let leaf = HeldOperation<Int>(settlesWhenCancelled: true)
    await lentSlot(leaf) { queue, holder, waiter in
      queue.cancelAllOperations()
      await leaf.cancelRequested.wait()
      #expect(await settled(waiter).isCancelled)
    }
  }

  @Test("8 A leaf begins in a lent slot once an operation in the queue stands for it, and a cancel of all reaches it")
  func leaf_beforeItsHelperIsInTheQueue_doesNotBegin() async {
    let queue = LateQueue()
    queue.maxConcurrentOperationCount = 1
    let leaf = HeldOperation<Int>(settlesWhenCancelled: true)
    let holder = await holding()
    let waiter = await waiting(in: queue)
    queue.isLate.withLock { $0 = true }
    let borrower = holdingOther([leaf], in: queue)
    let start = Task { await onWorker { borrower.start() } }
    await queue.isAsked.wait()
    await settleDown()
    #expect(!leaf.started.isOpen)
    queue.mayAdd.open()
    await start.value
    await leaf.started.wait()
    queue.cancelAllOperations()
    await leaf.cancelRequested.wait()
    holder.finish(with: 1)
    for operation in [borrower, waiter] { await finished(operation) }
    #expect(await registry.reaches(isUnused: true))
  }

  /// `cancelAllOperations()` cancels what was in the queue when it was called, one after the other.
  @Test("8 A cancel of all reaches what runs in lent slots though the helper that stood for it has a slot by then")
  func cancelAll_whileHelperBegins_cancelsAllLentSlots() async throws {
    let queue = OperationQueue(limit: 2)
    let leaves = (0..<2).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let holder = await holding()
    let waiters = [succeeding(5), succeeding(6)].map { $0.exclusive("x", in: registry) }
    queue.add(waiters)
    #expect(await registry.reaches(waiting: 2))
    let borrower = holdingOther(leaves, in: queue)
    await onWorker { borrower.start() }
    for leaf in leaves { await leaf.started.wait() }
    let helper = try #require(queue.operations.first { $0 is QueuePool.Helper })
    queue.maxConcurrentOperationCount = 3
    // It continues with one of the leaves, and another helper is added for the other one.
    while queue.operationCount < 4, !Task.isCancelled { await onWorker {} }
    #expect(helper.isExecuting)
    helper.cancel()
    for leaf in leaves { await leaf.cancelRequested.wait() }
    holder.finish(with: 1)
    await finished(borrower)
    for waiter in waiters { await finished(waiter) }
    #expect(registry.isUnused)
  }

  @Test("8 Suspended, the queue starts nothing in a lent slot; resumed, it does", arguments: [true, false])
  func queue_suspended_startsNothingInLentSlot(grantsMeanwhile: Bool) async {
    let queue = OperationQueue(limit: 1)
    let holder = await holding()
    let waiter = await waiting(in: queue)
    queue.isSuspended = true
    let leaf = HeldOperation<Int>()
    let borrower = holdingOther([leaf], in: queue)
    await onWorker { borrower.start() }
    await settleDown()
    #expect(!leaf.started.isOpen)
    if grantsMeanwhile {
      holder.finish(with: 1)
      #expect(await settled(waiter).value == 5)
      queue.isSuspended = false
      await leaf.started.wait()
    } else {
      queue.isSuspended = false
      await leaf.started.wait()
      holder.finish(with: 1)
    }
    leaf.finish(with: 2)
    #expect(await settled(borrower).value == 1)
    #expect(await settled(waiter).value == 5)
  }

  @Test("8 The main queue's slot is lent on the main thread")
  func mainQueue_lendsOnMainThread() async {
    let first = HeldOperation<Int>()
    let isOnMain = Locked(false)
    // In the slot of a root, the current operation queue may be nil, but not the queue of Dispatch.
    let second = SimpleOperation<Int> {
      dispatchPrecondition(condition: .onQueue(.main))
      isOnMain.withLock { $0 = true }
      return 2
    }
    let holder = steps([first, second], in: .main).exclusive("x", in: registry)
    await onWorker { holder.start() }
    await first.started.wait()
    let other = succeeding(3).exclusive("x", in: registry)
    OperationQueue.main.addOperation(other)
    first.finish(with: 1)
    #expect(await settled(holder).value == 2)
    #expect(await settled(other).value == 3)
    #expect(isOnMain.current)
  }

  /// Many trees with categories and a limit in one queue; some are cancelled, and the queue is
  /// suspended now and then.
  @Test("8 Whatever the waits, all trees end, and never more leaves run than the queue allows", arguments: 0..<20)
  func randomTrees_inOneQueue_endWithinLimit(seed: Int) async {
    var random = SeededRandomNumberGenerator(seed: UInt64(seed))
    let slots = Int.random(in: 1...3, using: &random)
    let queue = OperationQueue(limit: slots)
    let gauge = ConcurrencyGauge()
    let registry = ExclusionRegistry()
    let categories: [ExclusionCategory] = ["a", "b", "c"]
    @Sendable func leaf() -> SimpleOperation<Int> {
      SimpleOperation<Int> { operation in
        gauge.enter()
        DispatchQueue.global().async {
          gauge.leave()
          operation.finish(with: 1)
        }
      }
    }
    func tree() -> SimpleOperation<Int> {
      let count = Int.random(in: 1...4, using: &random)
      let isParallel = Bool.random(using: &random)
      // In alphabetical order, so that no circle of categories is refused.
      let outer = categories.randomElement(using: &random)!
      let leaves = (0..<count).map { _ in leaf() }
      let composite =
        isParallel
        ? CompositeOperation(operations: leaves, operationQueue: queue)
        : CompositeOperation(
          sequence: LinearSequence(steps: leaves.map { leaf in { _ in leaf } }), operationQueue: queue)
      let value = composite.map { $0.count }
      switch Int.random(in: 0...3, using: &random) {
      case 0: return value
      case 1: return value.exclusive(outer, in: registry)
      default:
        let inner = value.exclusive("c", in: registry)
        return inner.map { $0 }.exclusive(outer, "b", in: registry)
      }
    }
    let trees = (0..<30).map { _ in tree() }
    for tree in trees {
      if Bool.random(using: &random) { queue.addOperation(tree) } else { await onWorker { tree.start() } }
      if Int.random(in: 0..<6, using: &random) == 0 { trees.randomElement(using: &random)!.cancel() }
      if Int.random(in: 0..<10, using: &random) == 0 {
        queue.isSuspended = true
        await onWorker {}
        queue.isSuspended = false
      }
    }
    for tree in trees {
      if tree.isCancelled, !tree.isExecuting, !queue.operations.contains(tree) { await onWorker { tree.start() } }
      let outcome = await settled(tree)
      #expect(outcome.isCancelled || outcome.value != nil, "\(outcome)")
    }
    #expect(gauge.maximum <= slots && gauge.current == 0)
    #expect(registry.isUnused)
    while queue.operationCount > 0 { await onWorker {} }
  }
}

/// A queue to which the test can add operations late.
private final class LateQueue: OperationQueue, @unchecked Sendable {  // its own state is behind a lock
  let isLate = Locked(false)
  let (isAsked, mayAdd) = (Gate(), Gate())

  override func addOperation(_ operation: Operation) {
    if isLate.current {
      isAsked.open()
      mayAdd.waitBlocking()
    }
    super.addOperation(operation)
  }
}
