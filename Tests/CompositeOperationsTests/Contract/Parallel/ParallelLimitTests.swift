import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.2 Parallel: limit and suspension", .hangLimit)
struct ParallelLimitTests {
  @Test("3.4 maxConcurrentOperationCount holds for synchronous work", arguments: 1...4)
  func limit_synchronousWork_isHeld(limit: Int) async {
    let gauge = ConcurrencyGauge()
    let children = (0..<200).map { number in
      SimpleOperation<Int> { operation in
        gauge.enter()
        gauge.leave()
        operation.finish(with: number)
      }
    }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = limit
    #expect(await outcomeOfStarting(composite).value as? [Int] == Array(0..<200))
    #expect(gauge.maximum <= limit)
    #expect(gauge.total == 200)
  }

  @Test("3.4 maxConcurrentOperationCount counts unfinished work, asynchronous work included", arguments: 1...4)
  func limit_asynchronousWork_isHeld(limit: Int) async {
    let gauge = ConcurrencyGauge()
    let children = (0..<100).map { number in
      AsyncOperation<Int> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return number
      }
    }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = limit
    #expect(await outcomeOfStarting(composite).value as? [Int] == Array(0..<100))
    #expect(gauge.maximum <= limit)
  }

  @Test("3.4 The limit is used: as many children as it allows run at once")
  func limit_isReached() async {
    let children = (0..<6).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = 3
    await onWorker { composite.start() }
    for child in children[..<3] { await child.started.wait() }
    #expect(children[3...].allSatisfy { !$0.started.isOpen })
    for (number, child) in children.enumerated() {
      await child.started.wait()
      child.finish(with: number)
    }
    #expect(await settled(composite).value as? [Int] == [0, 1, 2, 3, 4, 5])
  }

  @Test("3.4 With the default limit all asynchronous children run at once")
  func limit_byDefault_letsAllRun() async {
    let children = (0..<300).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(operations: children)
    await onWorker { composite.start() }
    for child in children { await child.started.wait() }
    for child in children { child.finish(with: 1) }
    #expect(await settled(composite).value?.count == 300)
  }

  @Test("3.3 A limit raised while running holds from the next child")
  func limit_raisedWhileRunning_startsMore() async {
    let children = (0..<6).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(operations: children)
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    await children[0].started.wait()
    composite.maxConcurrentOperationCount = 4
    for child in children[..<4] { await child.started.wait() }
    #expect(!children[4].started.isOpen)
    composite.maxConcurrentOperationCount = OperationQueue.defaultMaxConcurrentOperationCount
    for child in children { await child.started.wait() }
    for child in children { child.finish(with: 1) }
    #expect(await settled(composite).value?.count == 6)
  }

  @Test("3.3 A limit lowered while running holds from the next child")
  func limit_loweredWhileRunning_startsFewer() async {
    let gauge = ConcurrencyGauge()
    let firsts = (0..<4).map { _ in HeldOperation<Int>() }
    let rest = (0..<50).map { number in
      AsyncOperation<Int> {
        gauge.enter()
        await Task.yield()
        gauge.leave()
        return number
      }
    }
    let composite = CompositeOperation(operations: firsts + rest)
    composite.maxConcurrentOperationCount = 4
    await onWorker { composite.start() }
    for child in firsts { await child.started.wait() }
    composite.maxConcurrentOperationCount = 1
    for child in firsts { child.finish(with: 1) }
    #expect(await settled(composite).value?.count == 54)
    #expect(gauge.maximum == 1)
  }

  @Test("3.3 isSuspended set before the start: no child starts until it is false again")
  func suspended_beforeStart_startsNone() async {
    let child = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [child])
    composite.isSuspended = true
    await onWorker { composite.start() }
    #expect(composite.isExecuting)
    #expect(!child.started.isOpen)
    composite.isSuspended = false
    await child.started.wait()
    child.finish(with: 1)
    #expect(await settled(composite).value as? [Int] == [1])
  }

  @Test("3.3 isSuspended set while running: no further child starts, running ones continue")
  func suspended_whileRunning_startsNoFurther() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [first, second])
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    await first.started.wait()
    composite.isSuspended = true
    first.finish(with: 1)
    #expect(await settled(first).value == 1)
    // By now the second one would have started if not suspended: a composite of the same shape has
    // completed.
    _ = await outcomeOfStarting(CompositeOperation(operations: [succeeding(1), succeeding(2)]))
    #expect(!second.started.isOpen)
    #expect(composite.outcome == nil)
    composite.isSuspended = false
    await second.started.wait()
    second.finish(with: 2)
    #expect(await settled(composite).value as? [Int] == [1, 2])
  }

  @Test("3.3 A suspended composite that is cancelled settles")
  func suspended_cancelled_settles() async {
    let child = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [child])
    composite.isSuspended = true
    await onWorker { composite.start() }
    composite.cancel()
    #expect(await settled(composite).isCancelled)
    #expect(child.isFinished)
    #expect(!child.started.isOpen)
  }
}
