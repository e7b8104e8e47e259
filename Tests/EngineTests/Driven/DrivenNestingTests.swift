import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Driven operations in composites, and composites in driven operations.
@Suite("3.4 DrivenOperation: nesting", .hangLimit)
struct DrivenNestingTests {
  private func leaf(_ gauge: ConcurrencyGauge) -> SimpleOperation<Int> {
    let leaf = AsyncOperation {
      gauge.enter()
      await Task.yield()
      return 1
    }
    leaf.completion = { _ in gauge.leave() }
    return leaf
  }

  /// A driven operation that runs what it is given and then ends.
  private func driven(queue: OperationQueue? = nil, _ operations: [Operation]) -> RecordingDriver {
    RecordingDriver(
      queue: queue,
      whenStarted: { driver in
        driver.run(operations)
        driver.endWhenIdle()
      })
  }

  @Test("As a child of a composite it gives its value to it, next to others")
  func composite_ofDriven_hasItsValue() async {
    let driver = driven([succeeding(1), succeeding(2)])
    let parallel = CompositeOperation(operations: [driver.operation, succeeding(7)])
    let values = await outcomeOfStarting(parallel).value
    #expect(values?.compactMap { $0 as? Int } == [2, 7])
    let second = driven([succeeding(1)])
    let sequence = CompositeOperation(sequence: ListSequence([second.operation, succeeding(8)]))
    #expect(await outcomeOfStarting(sequence).value?.compactMap { $0 as? Int } == [1, 8])
    let third = driven([])
    #expect(await outcomeOfStarting(third.operation.map { $0 + 10 }).value == 10)
  }

  @Test("Inside a composite with a queue it runs its operations in that queue, in the limit", arguments: 1...3)
  func composite_onQueue_passesItOn(limit: Int) async {
    let gauge = ConcurrencyGauge()
    let drivers = (0..<4).map { _ in driven((0..<6).map { _ in leaf(gauge) }) }
    let composite = CompositeOperation(
      operations: drivers.map(\.operation) + (0..<6).map { _ in leaf(gauge) },
      operationQueue: OperationQueue(limit: limit))
    #expect(await outcomeOfStarting(composite).value?.count == 10)
    #expect(gauge.total == 30 && gauge.maximum <= limit)
    withExtendedLifetime(drivers) {}
  }

  @Test(
    "Composites in it run in its queue, in the limit, whatever lies in between, in the queue or not",
    arguments: [(1, true), (1, false), (2, true), (2, false), (3, true)])
  func driven_onQueue_passesItOn(limit: Int, isInQueue: Bool) async {
    let gauge = ConcurrencyGauge()
    let queue = OperationQueue(limit: limit)
    let children: [Operation] = [
      CompositeOperation(operations: (0..<5).map { _ in leaf(gauge) }),
      CompositeOperation(operations: [
        CompositeOperation(operations: (0..<3).map { _ in leaf(gauge) }, operationQueue: queue), leaf(gauge),
      ]),
      CompositeOperation(
        sequence: ListSequence([leaf(gauge), CompositeOperation(operations: [leaf(gauge), leaf(gauge)])])),
      zip(leaf(gauge), leaf(gauge)), leaf(gauge).then { _ in self.leaf(gauge) }, leaf(gauge),
    ]
    let driver = driven(queue: queue, children)
    if isInQueue { queue.addOperation(driver.operation) } else { await driver.start() }
    #expect(await settled(driver.operation).value == children.count)
    #expect(gauge.total == 17 && gauge.maximum <= limit)
    await onWorker { queue.waitUntilAllOperationsAreFinished() }
  }

  @Test("Driven operations in driven operations, four levels of them, at limit 1")
  func driven_inDriven_finishes() async {
    let gauge = ConcurrencyGauge()
    let queue = OperationQueue(limit: 1)
    let drivers = Locked<[RecordingDriver]>([])
    @Sendable func level(_ depth: Int) -> Operation {
      let driver = driven(
        queue: depth == 2 ? queue : nil, (0..<2).map { _ in depth == 0 ? leaf(gauge) : level(depth - 1) })
      drivers.withLock { $0.append(driver) }
      return driver.operation
    }
    let root = CompositeOperation(operations: [level(3), level(3)], operationQueue: queue)
    queue.addOperation(root)
    #expect(await settled(root).value?.count == 2)
    #expect(gauge.total == 32 && gauge.maximum == 1)
    #expect(drivers.current.count == 30)
  }

  @Test("Cancelled by its parent before it starts, its driver hears of it, and the parent settles")
  func parent_cancelledBeforeStart_tellsDriver() async {
    let driver = driven([succeeding(1)])
    let composite = CompositeOperation(operations: [driver.operation])
    composite.cancel()
    #expect(await outcomeOfStarting(composite).isCancelled)
    #expect(driver.events.events == [.cancelled])
    #expect(driver.operation.outcome?.isCancelled == true)
  }

  @Test("Cancelled by its parent while it executes, it ends what it runs, and the parent settles after that")
  func parent_cancelled_waitsForDriven() async {
    let held = HeldOperation<Int>()
    let driver = driven([held, succeeding(1)])
    let composite = CompositeOperation(operations: [driver.operation])
    await onWorker { composite.start() }
    await held.started.wait()
    composite.cancel()
    await held.cancelRequested.wait()
    #expect(composite.outcome == nil)
    held.finish(with: 1)
    #expect(await settled(composite).isCancelled)
    #expect(driver.operation.outcome?.isCancelled == true)
    #expect(driver.events.count(of: .cancelled) == 1)
  }

  @Test("A composite that fails in it is reported as failed; the driven operation continues")
  func child_fails_isTold() async {
    let failed = CompositeOperation(operations: [failing(TestError.first, as: Int.self), succeeding(1)])
    let driver = driven([failed, succeeding(2)])
    #expect(await outcomeOfStarting(driver.operation).value == 2)
    #expect(failed.errors.compactMap { $0 as? TestError } == [.first])
  }

  @Test("A driven operation that is dropped by its driver while it executes is not kept by the engine")
  func driver_dropsIdleOperation_isReleased() async {
    let reference: WeakReference<DrivenOperation<Int>>
    do {
      let operation = DrivenOperation<Int>(
        driver: DrivenOperation.Driver(
          didStart: { _ in }, makeOperation: { _, _ in nil }, operationDidSettle: { _, _, _ in [] },
          wasCancelled: { _ in }))
      reference = WeakReference(operation)
      operation.settle(with: .cancelled)
      operation.start()
    }
    await untilReleased(reference)
  }
}
