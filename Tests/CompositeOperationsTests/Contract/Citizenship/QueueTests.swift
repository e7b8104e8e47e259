import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("6 Foundation: operation queues", .hangLimit)
struct QueueTests {
  @Test("In an OperationQueue own operations start by queuePriority")
  func queue_withPriorities_startsByPriority() async {
    let recorder = EventRecorder<String>()
    let queue = OperationQueue(limit: 1, suspended: true)
    let priorities: [Operation.QueuePriority] = [.low, .normal, .veryHigh, .veryLow, .high]
    let operations = priorities.map { priority in
      let operation = succeeding(1, named: "\(priority.rawValue)", recorder: recorder)
      operation.queuePriority = priority
      return operation
    }
    queue.add(operations)
    queue.isSuspended = false
    for operation in operations { _ = await settled(operation) }
    #expect(recorder.events == ["8", "4", "0", "-4", "-8"])
  }

  @Test("A suspended queue starts no own operation until it is resumed")
  func queue_suspended_startsNone() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let operation = HeldOperation<Int>()
    queue.addOperation(operation)
    #expect(queue.operationCount == 1)
    #expect(!operation.isExecuting && operation.outcome == nil)
    queue.isSuspended = false
    await operation.started.wait()
    operation.finish(with: 1)
    #expect(await settled(operation).value == 1)
  }

  @Test("A queue's limit counts own asynchronous work until it settled")
  func queue_limit_countsAsynchronousWork() async {
    let gauge = ConcurrencyGauge()
    let queue = OperationQueue(limit: 2)
    let operations = (0..<50).map { number in
      AsyncOperation<Int> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return number
      }
    }
    queue.add(operations)
    for (number, operation) in operations.enumerated() { #expect(await settled(operation).value == number) }
    #expect(gauge.maximum <= 2)
  }

  @Test("cancelAllOperations reaches running and waiting own operations and composites")
  func queue_cancelAll_settlesEverything() async {
    let queue = OperationQueue(limit: 2)
    let running = HeldOperation<Int>(settlesWhenCancelled: true)
    let leaf = HeldOperation<Int>(settlesWhenCancelled: true)
    let composite = CompositeOperation(operations: [leaf])
    // Some of these may start in slots that the cancel frees before it reaches them, as in
    // Foundation.
    let waiting = (0..<20).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    queue.addOperation(running)
    queue.addOperation(composite)
    queue.add(waiting)
    await running.started.wait()
    await leaf.started.wait()
    queue.cancelAllOperations()
    #expect(await settled(running).isCancelled)
    #expect(await settled(composite).isCancelled)
    for operation in waiting { #expect(await settled(operation).isCancelled) }
  }

  @Test("addBarrierBlock runs after own operations and composites")
  func queue_barrier_runsAfterOwnOperations() async {
    let recorder = EventRecorder<String>()
    let queue = OperationQueue()
    let held = HeldOperation<Int>()
    held.completion = { _ in recorder.record("held") }
    let composite = CompositeOperation(operations: [Doubling(1)])
    composite.completion = { _ in recorder.record("composite") }
    queue.addOperation(held)
    queue.addOperation(composite)
    queue.addBarrierBlock { recorder.record("barrier") }
    await held.started.wait()
    _ = await settled(composite)
    held.finish(with: 1)
    await recorder.wait(for: "barrier")
    #expect(recorder.events == ["composite", "held", "barrier"])
  }

  @Test("A composite in a queue is one operation of it until it settled")
  func composite_inQueue_leavesWhenSettled() async {
    let queue = OperationQueue()
    let held = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [held])
    queue.addOperation(composite)
    await held.started.wait()
    #expect(queue.operations.contains { $0 === composite })
    held.finish(with: 1)
    _ = await settled(composite)
    await finished(composite)
    let empty = await onWorker {
      queue.waitUntilAllOperationsAreFinished()
      return queue.operationCount == 0
    }
    #expect(empty)
  }

  @Test("A composite in a suspended queue starts none of its children")
  func composite_inSuspendedQueue_startsNoChild() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let held = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [held])
    queue.addOperation(composite)
    #expect(!composite.isExecuting)
    queue.isSuspended = false
    await held.started.wait()
    held.finish(with: 1)
    #expect(await settled(composite).value as? [Int] == [1])
  }

  @Test("Quality of service set by the user is kept")
  func qualityOfService_ofOwnOperations_isKept() async {
    let operation = succeeding(1)
    operation.qualityOfService = .utility
    #expect(await outcomeOfStarting(operation).value == 1)
    #expect(operation.qualityOfService == .utility)
    let composite = CompositeOperation(operations: [])
    composite.qualityOfService = .userInteractive
    _ = await outcomeOfStarting(composite)
    #expect(composite.qualityOfService == .userInteractive)
  }
}
