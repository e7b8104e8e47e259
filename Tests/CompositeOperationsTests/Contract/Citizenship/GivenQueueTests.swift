import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Composites whose children run in a given queue.
@Suite("3.4 A queue shared by composites", .hangLimit)
struct GivenQueueTests {
  @Test("3.4 Every leaf runs in the given queue, nested composites and compositions included")
  func leaves_runInTheQueue() async {
    let queue = OperationQueue(limit: 2)
    let seen = EventRecorder<Bool>()
    let leaf: @Sendable () -> SimpleOperation<Int> = {
      SimpleOperation { operation in
        seen.record(OperationQueue.current === queue)
        operation.finish(with: 1)
      }
    }
    let composite = CompositeOperation(
      operations: [
        leaf(), leaf(), CompositeOperation(operations: [leaf(), leaf()]),
        CompositeOperation(sequence: LinearSequence({ _ in leaf() }, { _ in leaf() })), leaf().then { _ in leaf() },
        zip(leaf(), leaf()),
      ], operationQueue: queue)
    #expect(await outcomeOfStarting(composite).value?.count == 6)
    #expect(seen.events == Array(repeating: true, count: 10))
  }

  @Test(
    "3.4 Nested composites that share one queue finish at any limit and never exceed it", arguments: 1...4,
    [true, false])
  func nested_onOneQueue_finishWithinTheLimit(limit: Int, isRootInQueue: Bool) async {
    let queue = OperationQueue(limit: limit)
    let gauge = ConcurrencyGauge()
    let leaf: @Sendable () -> Operation = {
      AsyncOperation<Void> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
      }
    }
    let middle: @Sendable () -> Operation = {
      CompositeOperation(
        operations: [
          leaf(), CompositeOperation(operations: (0..<4).map { _ in leaf() }, operationQueue: queue),
          CompositeOperation(sequence: LinearSequence({ _ in leaf() }, { _ in leaf() })),
        ], operationQueue: queue)
    }
    let root = CompositeOperation(operations: (0..<6).map { _ in middle() }, operationQueue: queue)
    if isRootInQueue {
      queue.addOperation(root)
    } else {
      await onWorker { root.start() }
    }
    #expect(await settled(root).value?.count == 6)
    #expect(gauge.total == 42)
    #expect(gauge.maximum <= limit)
  }

  @Test("3.4 A composite in a queue whose queue-less children nest composites that name the queue", arguments: 1...3)
  func nested_throughQueueless_finishWithinTheLimit(limit: Int) async {
    let queue = OperationQueue(limit: limit)
    let gauge = ConcurrencyGauge()
    let leaves = { () -> [Operation] in
      (0..<5).map { _ in
        AsyncOperation<Void> {
          gauge.enter()
          await Task.yield()
          gauge.leave()
        }
      }
    }
    let roots = (0..<4).map { _ in
      CompositeOperation(operations: [CompositeOperation(operations: leaves(), operationQueue: queue)])
    }
    queue.add(roots)
    for root in roots { #expect(await settled(root).value?.count == 1) }
    #expect(gauge.total == 20)
    #expect(gauge.maximum <= limit)
  }

  @Test("3.4 The queue's limit lowered while running: surplus lanes end")
  func limit_lowered_isHeldFromTheNextLeaf() async {
    let queue = OperationQueue(limit: 4)
    let gauge = ConcurrencyGauge()
    let firsts = (0..<4).map { _ in HeldOperation<Int>() }
    let rest = (0..<50).map { _ in
      AsyncOperation<Void> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
      }
    }
    let composite = CompositeOperation(operations: firsts + rest, operationQueue: queue)
    await onWorker { composite.start() }
    // In flight, so that their lanes check the limit again: a lane still in start() might run more.
    for first in firsts { await Patience.untilAwaited(first) }
    queue.maxConcurrentOperationCount = 1
    for first in firsts { first.finish(with: 1) }
    #expect(await settled(composite).value?.count == 54)
    #expect(gauge.maximum == 1)
  }

  @Test("3.4 The queue's limit raised while running: more leaves run at once")
  func limit_raised_isUsedFromTheNextLeaf() async {
    let queue = OperationQueue(limit: 1)
    let leaves = (0..<5).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    await onWorker { composite.start() }
    await leaves[0].started.wait()
    queue.maxConcurrentOperationCount = 4
    leaves[0].finish(with: 0)
    for leaf in leaves { await leaf.started.wait() }
    for leaf in leaves { leaf.finish(with: 1) }
    #expect(await settled(composite).value?.count == 5)
  }

  @Test("3.4 The queue suspended while running: no leaf starts until it is resumed")
  func queue_suspended_startsNoLeaf() async {
    let queue = OperationQueue(limit: 1)
    let startedWhileSuspended = Locked(0)
    let suspended = Gate()
    let leaves = (0..<20).map { number in
      SimpleOperation<Int> { operation in
        if queue.isSuspended { startedWhileSuspended.increment() }
        if number == 5 {
          queue.isSuspended = true
          suspended.open()
        }
        operation.finish(with: number)
      }
    }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    await onWorker { composite.start() }
    await suspended.wait()
    _ = await settled(leaves[5])
    // Enough time for a lane that did not check: another composite completes on a queue of its own.
    _ = await outcomeOfStarting(
      CompositeOperation(operations: (0..<20).map { succeeding($0) }, operationQueue: OperationQueue(limit: 1)))
    #expect(composite.outcome == nil)
    #expect(startedWhileSuspended.current == 0)
    queue.isSuspended = false
    #expect(await settled(composite).value as? [Int] == Array(0..<20))
    #expect(startedWhileSuspended.current == 0)
  }

  @Test("3.4 A queue that is suspended before the start: no leaf starts")
  func queue_suspendedBefore_startsNoLeaf() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let leaf = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [leaf], operationQueue: queue)
    await onWorker { composite.start() }
    #expect(!leaf.started.isOpen)
    queue.isSuspended = false
    await leaf.started.wait()
    leaf.finish(with: 1)
    #expect(await settled(composite).value as? [Int] == [1])
  }

  @Test("3.4 A composite on a suspended queue that is cancelled settles, or does so at the latest on resume")
  func queue_suspended_compositeCancelled_settles() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let leaf = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [leaf], operationQueue: queue)
    await onWorker { composite.start() }
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(!leaf.started.isOpen)
    queue.isSuspended = false
  }

  @Test("3.4 cancelAllOperations cancels the leaves that run in the queue or wait for it")
  func queue_cancelAll_cancelsLeaves() async {
    let queue = OperationQueue(limit: 2)
    let leaves = (0..<20).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    await onWorker { composite.start() }
    await leaves[0].started.wait()
    await leaves[1].started.wait()
    queue.cancelAllOperations()
    #expect(await settled(composite).isCancelled)
    #expect(leaves.allSatisfy { $0.outcome?.isCancelled == true })
    #expect(leaves[2...].allSatisfy { !$0.started.isOpen })
  }

  @Test("3.4 cancelAllOperations cancels the waiting leaves, too, when a running one settles at once and makes room")
  func queue_cancelAll_whileRunningLeafSettles_cancelsWaitingLeaves() async {
    let queue = OperationQueue(limit: 1)
    let leaves = (0..<20).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    // Called when the first leaf has settled: others have time before the cancel continues.
    leaves[0].onCancel = {
      while !leaves[1].started.isOpen, !leaves[1].isFinished { sched_yield() }
    }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    await leaves[0].started.wait()
    await onWorker { queue.cancelAllOperations() }
    #expect(leaves.allSatisfy { $0.isCancelled })
    #expect(leaves[1...].allSatisfy { !$0.started.isOpen })
    for leaf in leaves { leaf.cancel() }
    #expect(await settled(composite).isCancelled)
  }

  @Test("3.4 cancelAllOperations under .waitForAll cancels the waiting leaves too")
  func queue_cancelAllUnderWaitForAll_cancelsLeaves() async {
    let queue = OperationQueue(limit: 1)
    let leaves = (0..<20).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let composite = CompositeOperation(operations: leaves, operationQueue: queue)
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    await leaves[0].started.wait()
    queue.cancelAllOperations()
    #expect(await settled(composite).isCancelled)
    #expect(leaves.allSatisfy { $0.isFinished })
  }
}
