import Dispatch
import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Compositions take no slot of a queue, so they start while others occupy all slots.
@Suite("3.4 Compositions beside leaves that have the slots", .hangLimit)
struct CompositionSlotTests {
  private let clock = ManualClock()
  private let queue = OperationQueue(limit: 1)

  private func instant(_ seconds: Int) -> ManualClock.Instant { .init(offset: .seconds(seconds)) }

  /// Expects that a deadline has begun: its timer is set.
  private func expectBegun(_ timed: SimpleOperation<Int>) async {
    await clock.waitForSleeper(dueIn: .seconds(5))
    clock.advance(by: .seconds(5))
    #expect(await settled(timed).error is OperationTimeout)
  }

  @Test("A deadline before, between and behind leaves passes at its instant, with all slots taken", arguments: 0...2)
  func deadline_passedWhileLeafHasSlot_failsAtOnce(place: Int) async {
    let leaves = [HeldOperation<Int>(), HeldOperation<Int>()]
    let never = NeverFinishingOperation<Int>()
    let timed = never.deadline(instant(5), clock: clock)
    var children: [Operation] = leaves
    children.insert(timed, at: place)
    let composite = CompositeOperation(operations: children, operationQueue: queue)
    composite.failurePolicy = .waitForAll
    let blocker = HeldOperation<Int>()
    queue.addOperation(blocker)
    await blocker.started.wait()
    await onWorker { composite.start() }
    await expectBegun(timed)
    #expect(!never.started.isOpen)
    blocker.finish(with: 0)
    for leaf in leaves {
      await leaf.started.wait()
      leaf.finish(with: 1)
    }
    #expect((await settled(composite).error as? CompositeError)?.failures.map(\.index) == [place])
  }

  @Test("The same where the leaf before is the composite's own, in a composite that was added to the queue")
  func deadline_behindOwnLeafInHeldSlot_failsAtOnce() async {
    let busy = HeldOperation<Int>()
    let timed = NeverFinishingOperation<Int>().deadline(instant(5), clock: clock)
    let composite = CompositeOperation(operations: [busy, timed], operationQueue: queue)
    composite.failurePolicy = .waitForAll
    queue.addOperation(composite)
    await busy.started.wait()
    await expectBegun(timed)
    busy.finish(with: 1)
    #expect((await settled(composite).error as? CompositeError)?.failures.map(\.index) == [1])
  }

  @Test("The same in a composite without a queue, inside one with the queue, and in zip")
  func deadline_inQueuelessCompositions_failsAtOnce() async {
    let busy = [HeldOperation<Int>(), HeldOperation<Int>()]
    let timed = (0..<2).map { _ in NeverFinishingOperation<Int>().deadline(instant(5), clock: clock) }
    let inner = CompositeOperation(operations: [busy[0], timed[0]])
    inner.failurePolicy = .waitForAll
    let pair = zip(busy[1], timed[1])
    let composite = CompositeOperation(operations: [inner, pair], operationQueue: queue)
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    await until(timed.allSatisfy(\.isExecuting))
    clock.advance(by: .seconds(5))
    for timed in timed { #expect(await settled(timed).error is OperationTimeout) }
    for leaf in busy { leaf.finish(with: 1) }
    #expect((await settled(composite).error as? CompositeError)?.failures.count == 2)
  }

  @Test("A deadline whose dependency finishes while a leaf has the slot begins then")
  func deadline_withDependency_beginsWhenThatHasFinished() async {
    let busy = HeldOperation<Int>()
    let dependency = HeldOperation<Int>()
    let timed = NeverFinishingOperation<Int>().deadline(instant(5), clock: clock)
    timed.addDependency(dependency)
    let composite = CompositeOperation(operations: [busy, timed], operationQueue: queue)
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    await busy.started.wait()
    dependency.start()
    dependency.finish(with: 1)
    await expectBegun(timed)
    busy.finish(with: 1)
    _ = await settled(composite)
  }

  @Test("A width of the composite's own holds compositions back like leaves, and leaves room for those before them")
  func width_holdsCompositionsBack() async {
    let leaves = [HeldOperation<Int>(), HeldOperation<Int>()]
    let timed = NeverFinishingOperation<Int>().deadline(instant(5), clock: clock)
    let composite = CompositeOperation(operations: leaves + [timed], operationQueue: queue)
    composite.failurePolicy = .waitForAll
    composite.maxConcurrentOperationCount = 2
    await onWorker { composite.start() }
    // The second leaf waits for the slot.
    await leaves[0].started.wait()
    await Patience.untilAwaited(leaves[0])
    #expect(!timed.isExecuting)
    leaves[0].finish(with: 1)
    await expectBegun(timed)
    await leaves[1].started.wait()
    leaves[1].finish(with: 1)
    #expect((await settled(composite).error as? CompositeError)?.failures.map(\.index) == [2])
  }

  @Test("With a width the children start in their order: a leaf behind a composition waits for it")
  func width_compositionFirst_leafWaits() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let composite = CompositeOperation(
      operations: [first.map { $0 }, second], operationQueue: OperationQueue(limit: 2))
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    await first.started.wait()
    await Patience.untilAwaited(first)
    #expect(!second.started.isOpen)
    first.finish(with: 1)
    await second.started.wait()
    second.finish(with: 2)
    #expect(await settled(composite).value as? [Int] == [1, 2])
  }

  @Test("A suspended composite starts no composition, until it is resumed")
  func suspendedComposite_startsNoComposition() async {
    let busy = HeldOperation<Int>()
    let timed = NeverFinishingOperation<Int>().deadline(instant(5), clock: clock)
    let composite = CompositeOperation(operations: [busy, timed], operationQueue: queue)
    composite.failurePolicy = .waitForAll
    composite.isSuspended = true
    let blocker = HeldOperation<Int>()
    queue.addOperation(blocker)
    await blocker.started.wait()
    await onWorker { composite.start() }
    #expect(!timed.isExecuting)
    composite.isSuspended = false
    await expectBegun(timed)
    composite.cancel()
    blocker.finish(with: 1)
    #expect(await settled(composite).isCancelled)
  }

  @Test("Leaves and compositions start by priority and then in order, one at a time where the width is 1")
  func order_isThatOfTheChildren() async {
    let log = EventRecorder<String>()
    var children: [Operation] = []
    for number in 0..<4 {
      let leaf = succeeding(number, named: "leaf \(number)", recorder: log)
      let composition = succeeding(number).map { $0 }
      composition.addObserver { if $0.kind == .started { log.record("composition \(number)") } }
      for child in [leaf, composition] as [Operation] { child.queuePriority = number == 3 ? .high : .normal }
      children += [leaf, composition]
    }
    let composite = CompositeOperation(operations: children, operationQueue: queue)
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    #expect(await settled(composite).value?.count == 8)
    #expect(log.events == [3, 0, 1, 2].flatMap { ["leaf \($0)", "composition \($0)"] })
  }

  @Test("A composition whose preparation waits for that of the next one does not keep it from starting")
  func preparation_waitsForSibling_bothStart() async {
    let second = DispatchSemaphore(value: 0)
    let children = [
      Preparing([succeeding(1)]) { second.wait() }, Preparing([succeeding(2)]) { second.signal() },
    ]
    let composite = CompositeOperation(operations: children, operationQueue: queue)
    await onWorker { composite.start() }
    #expect(await settled(composite).value?.count == 2)
  }

  @Test("A failed leaf abandons the compositions that wait for the width, and cancels those that run")
  func failure_reachesCompositions() async {
    let busy = HeldOperation<Int>()
    let timed = (0..<3).map { _ in NeverFinishingOperation<Int>().deadline(instant(5), clock: clock) }
    let composite = CompositeOperation(operations: [busy] + timed, operationQueue: queue)
    composite.maxConcurrentOperationCount = 2
    await onWorker { composite.start() }
    await clock.waitForSleeper(dueIn: .seconds(5))
    #expect(!timed[1].isExecuting)
    busy.reject(with: TestError.first)
    #expect((await settled(composite).error as? CompositeError)?.failures.map(\.index) == [0])
    #expect(timed.allSatisfy { $0.outcome?.isCancelled == true })
    #expect(clock.sleeperCount == 0)
  }

  @Test("More compositions than one turn starts, with and without a width", arguments: [1, 3, 100, Int.max])
  func many_startAll(width: Int) async {
    let children: [Operation] = (0..<300).map { number in
      number % 3 == 0 ? succeeding(number) : succeeding(number).map { $0 }
    }
    let composite = CompositeOperation(operations: children, operationQueue: queue)
    if width < .max { composite.maxConcurrentOperationCount = width }
    await onWorker { composite.start() }
    #expect(await settled(composite).value as? [Int] == Array(0..<300))
  }

  @Test("Composites in composites, deeper than a stack, start while a leaf has the slot")
  func deepNesting_onSmallStack_starts() async {
    let busy = HeldOperation<Int>()
    queue.addOperation(busy)
    await busy.started.wait()
    let timed = NeverFinishingOperation<Int>().deadline(instant(5), clock: clock)
    let root = await onThread { [queue] in
      var operation: Operation = timed
      for level in 0..<5_000 {
        // Not with every level, because compositions pass their queue on.
        operation = CompositeOperation(operations: [operation], operationQueue: level % 7 == 6 ? queue : nil)
      }
      let root = CompositeOperation(operations: [operation], operationQueue: queue)
      root.start()
      return root
    }
    await expectBegun(timed)
    #expect(await settled(root).error is CompositeError)
    busy.finish(with: 1)
  }

  @Test("On the main queue compositions start on the main thread")
  func mainQueue_startsThereToo() async {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    let isMain = Locked<[Bool]>([])
    let delay = DelayOperation(.seconds(1), clock: clock)
    delay.addObserver { event in
      if event.kind == .started { isMain.withLock { $0.append(DispatchQueue.getSpecific(key: key) == true) } }
    }
    let composite = CompositeOperation(operations: [succeeding(1), delay], operationQueue: .main)
    await onWorker { composite.start() }
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    _ = await settled(composite)
    #expect(isMain.current == [true])
  }

  @Test("A preparation under run() that waits for another composition does not hang")
  func run_preparationWaitsForAnotherComposite_bothRun() async throws {
    let root = Preparing([succeeding(1)]) {
      let done = DispatchSemaphore(value: 0)
      let setUp = CompositeOperation(operations: [succeeding(0)])
      setUp.completion = { _ in done.signal() }
      setUp.start()
      done.wait()
    }
    #expect(try await root.run() as? [Int] == [1])
  }
}

/// Calls a closure before it runs its children.
private final class Preparing: CompositeOperation, @unchecked Sendable {  // set before the start
  private var prepare: @Sendable () -> Void = {}

  convenience init(_ operations: [Operation], prepare: @escaping @Sendable () -> Void) {
    self.init(operations: operations)
    self.prepare = prepare
  }

  override func main() {
    prepare()
    super.main()
  }
}
