import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Operations of a driven operation that are added as tags, and made when they may start.
@Suite("3.4 DrivenOperation: tags", .timeLimit(.minutes(30)))
struct DrivenTagTests {
  /// Makes the operations of its tags, and adds the tags that `next` returns when one has settled.
  private final class TagDriver: Sendable {
    let events = EventRecorder<String>()
    private let driven: Locked<DrivenOperation<Int>?>

    var operation: DrivenOperation<Int> { driven.withLock { $0! } }

    init(
      queue: OperationQueue? = nil, make: @escaping @Sendable (Int) -> Operation?,
      next: @escaping @Sendable (Int) -> [Int] = { _ in [] }
    ) {
      driven = Locked(nil)
      let made = DrivenOperation<Int>(
        operationQueue: queue,
        driver: DrivenOperation.Driver(
          didStart: { _ in },
          makeOperation: { [events] _, tag in
            events.record("make \(tag)")
            return make(tag).map { ($0, tag: tag + 100) }
          },
          operationDidSettle: { [events] _, _, tag in
            events.record("settled \(tag)")
            return next(tag - 100)
          },
          wasCancelled: { $0.cancelAll() }))
      driven.withLock { $0 = made }
    }

    func start(_ tags: Int...) async {
      let operation = operation
      await onWorker {
        operation.start()
        operation.run(tags: tags)
      }
    }
  }

  @Test("They are made one after the other when the width allows, and settle with the tag that was given then")
  func tags_withWidth_areMadeWhenTheyMayStart() async {
    let held = (0..<3).map { _ in HeldOperation<Int>() }
    let driver = TagDriver(make: { held[$0] })
    driver.operation.width = 1
    await driver.start(0, 1, 2)
    for tag in 0..<3 {
      await held[tag].started.wait()
      #expect(driver.events.events == (0..<tag).flatMap { ["make \($0)", "settled \($0 + 100)"] } + ["make \(tag)"])
      held[tag].finish(with: tag)
      await driver.events.wait(for: "settled \(tag + 100)")
    }
    driver.operation.finish(with: 0)
  }

  @Test("The next one is made only after the driver heard of the one before, wherever that settles")
  func tags_withWidth_areMadeAfterTheDriverWasTold() async {
    let (isTelling, wereTogether) = (Locked(false), Locked(0))
    let driver = TagDriver { _ in
      if isTelling.current { wereTogether.withLock { $0 += 1 } }
      return AsyncOperation {}
    } next: { _ in
      isTelling.withLock { $0 = true }
      // Long enough for another thread to make one, if it could.
      for _ in 0..<200 { sched_yield() }
      isTelling.withLock { $0 = false }
      return []
    }
    driver.operation.width = 1
    let operation = driver.operation
    await onWorker {
      operation.start()
      operation.run(tags: Array(0..<100))
    }
    await driver.events.wait(for: "settled 199")
    #expect(wereTogether.current == 0)
    operation.finish(with: 0)
  }

  @Test("What can run in consequence of a settlement runs, whether the operation settles at once or later")
  func tags_returned_run() async {
    for settlesLater in [false, true] {
      let driver = TagDriver(
        make: { tag in settlesLater ? AsyncOperation { tag } : succeeding(tag) },
        next: { $0 < 500 ? [$0 + 1] : [] })
      await driver.start(0)
      await driver.events.wait(for: "settled 600")
      #expect(driver.events.count == 2 * 501)
      driver.operation.finish(with: 0)
    }
  }

  @Test("A tag without an operation is left out, and takes no place")
  func tag_withoutOperation_isSkipped() async {
    let driver = TagDriver(make: { $0 == 1 ? succeeding(1) : nil })
    driver.operation.width = 1
    await driver.start(0, 0, 1)
    await driver.events.wait(for: "settled 101")
    #expect(driver.events.events == ["make 0", "make 0", "make 1", "settled 101"])
    driver.operation.finish(with: 0)
  }

  @Test("cancelAll forgets the waiting tags, and cancels the made operations")
  func cancelAll_forgetsTags() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let driver = TagDriver(make: { _ in held })
    driver.operation.width = 1
    await driver.start(0, 1, 2)
    await held.started.wait()
    driver.operation.cancelAll()
    await driver.events.wait(for: "settled 100")
    driver.operation.run(tags: [3])
    await settleDown()
    #expect(driver.events.events == ["make 0", "settled 100"])
    driver.operation.finish(with: 0)
  }

  @Test("Cancelled in their queue while they wait for a slot, they are made, and cancelled before they start")
  func cancelAllOperations_whileTheyWait_cancelsThem() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let recorder = EventRecorder<String>()
    let driver = TagDriver(queue: queue, make: { succeeding($0, named: "\($0)", recorder: recorder) })
    await driver.start(0, 1)
    queue.cancelAllOperations()
    queue.isSuspended = false
    await driver.events.wait(for: "settled 101")
    driver.operation.run(tags: [2])
    await driver.events.wait(for: "settled 102")
    #expect(recorder.events == ["2"])
    driver.operation.finish(with: 0)
  }
}
