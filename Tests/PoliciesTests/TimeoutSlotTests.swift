import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Composites and policies take no slot, leaves do, and keep it until they have ended.
@Suite("8 Timeout: which slot is taken how long", .hangLimit)
struct TimeoutSlotTests {
  private let clock = ManualClock()
  private let queue = OperationQueue(limit: 1)
  private let log = EventRecorder<String>()

  private func recording(_ name: String) -> SimpleOperation<Int> {
    succeeding(1, named: name, recorder: log)
  }

  /// Lets other threads run, so that a wrong event has its chance.
  private func giveWay() async {
    for _ in 0..<200 { await Task.yield() }
  }

  @Test("In a composite's queue the slot is taken until the work has ended, also after a timeout at once")
  func atOnce_inComposite_keepsTheSlot() async {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    let timed = never.timeout(.seconds(3), clock: clock)
    // It needs the slot as soon as the timeout has passed.
    let next = recording("next")
    next.addDependency(timed)
    let composite = CompositeOperation(operations: [timed, next], operationQueue: queue)
    composite.failurePolicy = .waitForAll
    composite.start()
    await never.started.wait()
    await clock.waitForSleeper()
    clock.advance(by: .seconds(3))
    #expect(await settled(timed).error is OperationTimeout)
    await never.cancelRequested.wait()
    queue.addOperation(recording("other"))
    await giveWay()
    log.record("work ended")
    never.release()
    _ = await settled(composite)
    await log.wait(forCount: 3)
    #expect(log.events.first == "work ended")
  }

  @Test("The same where the composite has settled, for nothing else was left to wait for")
  func atOnce_lastChild_keepsTheSlot() async {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    let composite = CompositeOperation(
      operations: [never.timeout(.seconds(3), clock: clock)], operationQueue: queue)
    composite.start()
    await clock.waitForSleeper()
    await never.started.wait()
    clock.advance(by: .seconds(3))
    #expect(await settled(composite).error is CompositeError)
    queue.addOperation(recording("other"))
    await giveWay()
    log.record("work ended")
    never.release()
    await log.wait(forCount: 2)
    #expect(log.events == ["work ended", "other"])
  }

  @Test("The slot that the returned operation takes by itself is free when it has settled")
  func atOnce_inQueue_freesTheSlot() async {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    let timed = never.timeout(.seconds(3), clock: clock)
    let other = recording("other")
    queue.add([timed, other])
    await never.started.wait()
    clock.advance(by: .seconds(3))
    #expect(await settled(other).value == 1)
    #expect(timed.outcome?.error is OperationTimeout)
    #expect(!never.isFinished)
    never.release()
  }

  @Test("A timeout that waits for the work keeps that slot too")
  func waiting_inQueue_keepsTheSlot() async {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    let timed = never.timeout(.seconds(3), .waitsForWork, clock: clock)
    queue.add([timed, recording("other")])
    await never.started.wait()
    await clock.waitForSleeper()
    clock.advance(by: .seconds(3))
    await never.cancelRequested.wait()
    await giveWay()
    log.record("work ended")
    never.release()
    await log.wait(forCount: 2)
    #expect(log.events == ["work ended", "other"])
  }

  @Test("A limit of a composite counts children that have not settled, so that a timeout at once makes room")
  func atOnce_limitedComposite_makesRoom() async {
    let never = NeverFinishingOperation<Int>(holdsOn: true)
    let next = recording("next")
    let composite = CompositeOperation(operations: [never.timeout(.seconds(3), clock: clock), next])
    composite.maxConcurrentOperationCount = 1
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    await never.started.wait()
    clock.advance(by: .seconds(3))
    #expect(await settled(next).value == 1)
    #expect(!never.isFinished)
    never.release()
    _ = await settled(composite)
  }

  @Test("The time runs when a slot is free, not while the operation waits for one")
  func time_runsFromTheSlot() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    let composite = CompositeOperation(
      operations: [first, second.timeout(.seconds(3), clock: clock)], operationQueue: queue)
    composite.start()
    await first.started.wait()
    clock.advance(by: .seconds(100))
    #expect(clock.sleeperCount == 0)
    first.finish(with: 1)
    await second.started.wait()
    await clock.waitForSleeper(dueIn: .seconds(3))
    second.finish(with: 2)
    #expect(await settled(composite).value as? [Int] == [1, 2])
  }

  @Test("Work that has ended in time decides, although another operation has the slot when the time is up")
  func endedInTime_slotTaken_decides() async {
    let held = HeldOperation<Int>(), blocker = HeldOperation<Int>()
    let timed = held.timeout(.seconds(3), clock: clock)
    let composite = CompositeOperation(operations: [timed, succeeding(1)], operationQueue: queue)
    composite.start()
    await held.started.wait()
    await clock.waitForSleeper(dueIn: .seconds(3))
    queue.addOperation(blocker)
    held.finish(with: 7)
    await blocker.started.wait()
    clock.advance(by: .seconds(3))
    #expect(await settled(timed).value == 7)
    blocker.finish(with: 1)
    _ = await settled(composite)
  }
}
