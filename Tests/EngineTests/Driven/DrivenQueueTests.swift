import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Driven operations on a given queue: its slots, limit, suspension, priorities and cancellation.
@Suite("3.4 DrivenOperation: queues", .hangLimit)
struct DrivenQueueTests {
  /// Leaves that continue after `start()` returned, counted while they are unfinished.
  private func leaves(_ count: Int, _ gauge: ConcurrencyGauge) -> [Operation] {
    (0..<count).map { number in
      let leaf = AsyncOperation {
        gauge.enter()
        await Task.yield()
        return number
      }
      leaf.completion = { _ in gauge.leave() }
      return leaf
    }
  }

  @Test(
    "Leaves run in slots of the given queue, never more than its limit, asynchronous work included", arguments: 1...3)
  func run_givenQueue_keepsItsLimit(limit: Int) async {
    let gauge = ConcurrencyGauge()
    let driver = RecordingDriver(queue: OperationQueue(limit: limit))
    await driver.start()
    driver.run(leaves(60, gauge))
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 60)
    #expect(gauge.total == 60 && gauge.maximum <= limit)
  }

  @Test("As many leaves as the limit allows are in flight at once", arguments: 1...3)
  func run_givenQueue_usesItsLimit(limit: Int) async {
    let held = (0..<limit).map { _ in HeldOperation<Int>() }
    let driver = RecordingDriver(queue: OperationQueue(limit: limit))
    await driver.start()
    driver.run(held)
    for operation in held { await operation.started.wait() }
    for operation in held { operation.finish(with: 1) }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == limit)
  }

  @Test(
    "In a queue of limit 1 whose slot it holds itself, named or not, everything runs, one at a time",
    arguments: [true, false])
  func run_inQueueOfLimitOne_usesItsOwnSlot(namesQueue: Bool) async {
    let queue = OperationQueue(limit: 1)
    let gauge = ConcurrencyGauge()
    let driver = RecordingDriver(queue: namesQueue ? queue : nil)
    queue.addOperation(driver.operation)
    await driver.events.wait(for: .started)
    let children = leaves(20, gauge)
    // The children with the queue share its slot; the others are not limited by it.
    let nested = CompositeOperation(operations: Array(children[..<10]), operationQueue: queue)
    driver.run(nested, tag: 0)
    if namesQueue { for number in 10..<20 { driver.run(children[number], tag: number) } }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == (namesQueue ? 11 : 1))
    #expect(gauge.maximum == 1 && gauge.total == (namesQueue ? 20 : 10))
    await onWorker { queue.waitUntilAllOperationsAreFinished() }
  }

  @Test("What an operation lets run takes all slots, also if another lane has found nothing in the meantime")
  func settled_letsTwoRun_bothStart() async {
    for _ in 0..<Scale.count(2_000, least: 300) {
      let queue = OperationQueue(limit: 2)
      let held = (0..<2).map { _ in HeldOperation<Int>() }
      let operations: [Operation] = [
        // Until the lane of its neighbour has gone, and not longer than a turn.
        BlockOperation {
          let start = ContinuousClock.now
          while queue.operationCount > 1, start.duration(to: .now) < .microseconds(1_500) {}
        },
        BlockOperation {},
      ]
      let driven = DrivenOperation<Int>(
        operationQueue: queue,
        driver: DrivenOperation.Driver(
          didStart: { $0.run(tags: [0, 1]) },
          makeOperation: { _, tag in (tag < 2 ? operations[tag] : held[tag - 2], tag) },
          operationDidSettle: { operation, _, tag in
            if held.allSatisfy(\.isFinished) { operation.finish(with: tag) }
            return tag == 0 ? [2, 3] : []
          },
          wasCancelled: { _ in }))
      await onWorker { driven.start() }
      for operation in held { await operation.started.wait() }
      for operation in held { operation.finish(with: 1) }
      _ = await settled(driven)
    }
  }

  @Test("While the queue is suspended nothing starts; when it is resumed everything does")
  func run_suspendedQueue_waits() async {
    let queue = OperationQueue(limit: 2, suspended: true)
    let held = (0..<2).map { _ in HeldOperation<Int>() }
    let driver = RecordingDriver(queue: queue)
    await driver.start()
    driver.run(held)
    await settleDown()
    #expect(held.allSatisfy { !$0.started.isOpen })
    queue.isSuspended = false
    for operation in held { await operation.started.wait() }
    for operation in held { operation.finish(with: 1) }
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 2)
  }

  @Test("The same in a queue whose only slot it holds")
  func run_inSuspendedQueueOfLimitOne_waits() async {
    let queue = OperationQueue(limit: 1)
    let held = HeldOperation<Int>()
    let driver = RecordingDriver(
      queue: queue,
      whenStarted: { driver in
        queue.isSuspended = true
        driver.run(held, tag: 0)
      })
    queue.addOperation(driver.operation)
    await driver.events.wait(for: .started)
    await settleDown()
    #expect(!held.started.isOpen)
    queue.isSuspended = false
    await held.started.wait()
    held.finish(with: 1)
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 1)
  }

  @Test("cancelAllOperations on the queue cancels the leaves that run in it and those that wait for it")
  func cancelAllOperations_cancelsLeaves() async {
    let queue = OperationQueue(limit: 2)
    let held = (0..<5).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let driver = RecordingDriver(queue: queue)
    await driver.start()
    driver.run(held)
    await held[0].started.wait()
    await held[1].started.wait()
    queue.cancelAllOperations()
    await driver.wait(forSettled: 5)
    #expect(held.allSatisfy { $0.outcome?.isCancelled == true })
    #expect(held[2...].allSatisfy { !$0.started.isOpen })
    // The driven operation is not in the queue: it continues, and so do operations added from now
    // on.
    driver.run(succeeding(1), tag: 5)
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 6)
  }

  @Test("cancelAllOperations cancels those that wait before those that run, which may make room for them")
  func cancelAllOperations_cancelsWhatWaitsFirst() async {
    let queue = OperationQueue(limit: 1)
    let dependency = SimpleOperation<Int>()
    let waiting = (0..<4).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    for operation in waiting[..<2] { operation.addDependency(dependency) }
    let running = HeldOperation<Int>()
    let seen = EventRecorder<[Bool]>()
    running.onCancel = {
      seen.record(waiting[..<2].map(\.isCancelled))
      running.settle(with: .cancelled)
    }
    let driver = RecordingDriver(queue: queue)
    await driver.start()
    driver.run(waiting[..<2] + [running] + waiting[2...])
    await running.started.wait()
    // Two have waited for it and only need a slot now; the other two have not been made.
    dependency.finish(with: 1)
    queue.cancelAllOperations()
    await driver.wait(forSettled: 5)
    #expect(seen.events == [[true, true]])
    #expect(waiting.allSatisfy { $0.isCancelled && !$0.started.isOpen })
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 5)
  }

  @Test("cancelAllOperations on the queue that it is in cancels the operation itself")
  func cancelAllOperations_onItsQueue_cancelsIt() async {
    let queue = OperationQueue(limit: 1)
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let driver = RecordingDriver(queue: queue)
    queue.addOperation(driver.operation)
    await driver.events.wait(for: .started)
    driver.run([held, succeeding(1)])
    await held.started.wait()
    queue.cancelAllOperations()
    #expect(await settled(driver.operation).isCancelled)
    #expect(driver.events.contains(.cancelled))
    #expect(driver.settledTags == [0])
    #expect(held.outcome?.isCancelled == true)
  }

  @Test("Other operations of the queue get their turn: a more urgent one runs before the leaves are done")
  func run_otherOperationWaits_getsItsTurn() async {
    let queue = OperationQueue(limit: 1)
    let recorder = EventRecorder<String>()
    let driver = RecordingDriver(
      queue: queue,
      whenSettled: { _, _, tag in
        guard tag == 0 else { return }
        let urgent = BlockOperation { recorder.record("urgent") }
        urgent.queuePriority = .veryHigh
        queue.addOperation(urgent)
      })
    await driver.start()
    driver.operation.isSuspended = true
    driver.run((0..<500).map { number in succeeding(number, named: "leaf", recorder: recorder) })
    driver.operation.isSuspended = false
    driver.endWhenIdle()
    _ = await settled(driver.operation)
    await recorder.wait(for: "urgent")
    let leavesBefore = recorder.events.prefix { $0 != "urgent" }.count
    #expect(leavesBefore < 20, "\(leavesBefore) leaves ran before it")
  }

  @Test("On OperationQueue.main, leaves run on the main queue")
  func run_mainQueue_isOnMainQueue() async {
    // In a test process the main queue is not tied to the main thread, so it carries a mark.
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let wasMain = EventRecorder<Bool>()
    let driver = RecordingDriver(queue: .main)
    await driver.start()
    driver.run(
      (0..<5).map { number in
        SimpleOperation<Int> { operation in
          wasMain.record(DispatchQueue.getSpecific(key: key) == true)
          operation.finish(with: number)
        }
      })
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 5)
    #expect(wasMain.events == [true, true, true, true, true])
  }

  @Test("Ten thousand operations through a queue of limit 2 are each reported once")
  func run_tenThousandInQueue_tellsEachOnce() async {
    let driver = RecordingDriver(queue: OperationQueue(limit: 2))
    await driver.start()
    driver.run((0..<10_000).map { succeeding($0) })
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 10_000)
    #expect(driver.settledTags.sorted() == Array(0..<10_000))
  }

  @Test("cancelAllOperations cancels waiting operations, unless other code has started them")
  func cancelAll_whileWaiting_leavesWhatOthersStarted() async {
    let queue = OperationQueue(limit: 1)
    let theirs = HeldOperation<Int>()
    theirs.start()
    let holder = HeldOperation<Int>(settlesWhenCancelled: true)
    let waiting = HeldOperation<Int>()
    let driver = RecordingDriver(queue: queue)
    await driver.start()
    driver.run([holder, theirs, waiting])
    await holder.started.wait()
    queue.cancelAllOperations()
    await driver.wait(forSettled: 2)
    #expect(driver.settledTags == [0, 2])
    #expect(waiting.isCancelled && !waiting.started.isOpen && !theirs.isCancelled)
    theirs.finish(with: 5)
    driver.endWhenIdle()
    #expect(await settled(driver.operation).value == 3)
    #expect(theirs.result == 5)
  }
}
