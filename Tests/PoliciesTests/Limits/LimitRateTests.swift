import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Operations that share a rate.
@Suite("Shared limits: rates", .hangLimit)
struct LimitRateTests {
  private let clock = ManualClock()

  private func limit(_ count: Int, per seconds: Int, maxConcurrent: Int = .max) -> SharedLimit {
    SharedLimit("api", maxConcurrent: maxConcurrent, rate: .tokens(count, per: .seconds(seconds)), clock: clock)
  }

  private func start(_ operations: [Operation]) async {
    await onWorker { for operation in operations { operation.start() } }
  }

  @Test func starts_aboveTheRate_waitForTheClock() async {
    let limit = limit(2, per: 4)
    let started = EventRecorder<String>()
    let operations = (0..<5).map { succeeding($0, named: "\($0)", recorder: started).limited(by: limit) }
    await start(operations)
    for number in 0...1 { #expect(await settled(operations[number]).value == number) }
    #expect(limit.waitingCount == 3)
    for number in 2...4 {
      await clock.waitForSleeper(dueIn: .seconds(2))
      clock.advance(by: .seconds(1))
      #expect(limit.waitingCount == 5 - number)
      clock.advance(by: .seconds(1))
      #expect(await settled(operations[number]).value == number)
    }
    // The first two pass together, perhaps on two threads.
    #expect(started.events.prefix(2).sorted() + started.events.dropFirst(2) == (0..<5).map { "\($0)" })
    #expect(limit.isUnused)
    await clock.waitUntilIdle()
  }

  @Test func bucket_afterAPause_holdsThePeriodAndNoMore() async {
    let limit = limit(3, per: 3)
    clock.advance(by: .seconds(1_000))
    let operations = (0..<4).map { succeeding($0).limited(by: limit) }
    await start(operations)
    for number in 0..<3 { #expect(await settled(operations[number]).value == number) }
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1_000))
    #expect(await settled(operations[3]).value == 3)
  }

  @Test func weights_takeFromTheBucket_inOrder() async {
    let limit = limit(3, per: 3)
    let started = EventRecorder<String>()
    let weights = [2, 3, 1]
    let operations = weights.enumerated().map { number, weight in
      succeeding(number, named: "\(number)", recorder: started).limited(by: limit, weight: weight)
    }
    await start(operations)
    #expect(await settled(operations[0]).value == 0)
    await clock.waitForSleeper(dueIn: .seconds(2))
    clock.advance(by: .seconds(2))
    #expect(await settled(operations[1]).value == 1)
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(await settled(operations[2]).value == 2)
    #expect(started.events == ["0", "1", "2"])
  }

  @Test func cancel_whileWaitingForTheRate_givesTheTimerUp() async {
    let limit = limit(1, per: 10)
    #expect(await outcomeOfStarting(succeeding(0).limited(by: limit)).value == 0)
    let work = HeldOperation<Int>()
    let waiting = work.limited(by: limit)
    await start([waiting])
    await clock.waitForSleeper(dueIn: .seconds(10))
    waiting.cancel()
    #expect(await settled(waiting).isCancelled)
    await clock.waitUntilIdle()
    #expect(!work.started.isOpen && limit.isUnused)
  }

  @Test func cancel_ofTheHead_givesItsShareToTheNext() async {
    let limit = limit(3, per: 3)
    let operations = [3, 3, 1].map { succeeding($0).limited(by: limit, weight: $0) }
    await start(operations)
    #expect(await settled(operations[0]).value == 3)
    await clock.waitForSleeper(dueIn: .seconds(3))
    operations[1].cancel()
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(await settled(operations[2]).value == 1)
    #expect(await settled(operations[1]).isCancelled)
  }

  @Test func rateAndRoom_bothHold() async {
    let limit = limit(2, per: 2, maxConcurrent: 1)
    let held = (0..<3).map { HeldOperation<Int>("\($0)") }
    let operations = held.map { $0.limited(by: limit) }
    await start(operations)
    await held[0].started.wait()
    // The bucket is not empty, but there is no room; so no timer.
    #expect(limit.waitingCount == 2 && clock.sleeperCount == 0)
    held[0].finish(with: 0)
    await held[1].started.wait()
    clock.advance(by: .milliseconds(500))
    held[1].finish(with: 1)
    await clock.waitForSleeper(dueIn: .milliseconds(500))
    #expect(!held[2].started.isOpen)
    clock.advance(by: .milliseconds(500))
    await held[2].started.wait()
    held[2].finish(with: 2)
    for (number, operation) in operations.enumerated() { #expect(await settled(operation).value == number) }
  }

  @Test func rate_changed_letsThemGo() async {
    let limit = limit(1, per: 100)
    let operations = (0..<4).map { succeeding($0).limited(by: limit) }
    await start(operations)
    #expect(await settled(operations[0]).value == 0)
    await clock.waitForSleeper(dueIn: .seconds(100))
    // Still empty, but it fills faster.
    limit.rate = SharedLimit.Rate.tokens(10, per: .seconds(10))
    #expect(limit.rate?.count == 10)
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(await settled(operations[1]).value == 1)
    limit.rate = nil
    for number in 2...3 { #expect(await settled(operations[number]).value == number) }
    await clock.waitUntilIdle()
  }

  @Test func inside_ofAHolder_theRateCountsEach() async {
    let limit = limit(2, per: 2, maxConcurrent: 1)
    let inner = (0..<2).map { HeldOperation<Int>("\($0)") }
    let outer = CompositeOperation(operations: inner.map { $0.limited(by: limit) }).limited(by: limit)
    let behind = succeeding(7).limited(by: limit)
    await start([outer, behind])
    await clock.waitForSleeper(dueIn: .seconds(1))
    #expect(inner.count { $0.started.isOpen } <= 1)
    clock.advance(by: .seconds(1))
    for operation in inner { await operation.started.wait() }
    for operation in inner { operation.finish(with: 1) }
    #expect(await settled(outer).value?.count == 2)
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(await settled(behind).value == 7)
  }

  @Test func limit_releasedWhileTheRateIsWaitedFor_staysWithItsOperations() async {
    func make() -> ([SimpleOperation<Int>], WeakReference<SharedLimit>) {
      let limit = limit(1, per: 5)
      return ((0..<2).map { succeeding($0).limited(by: limit) }, WeakReference(limit))
    }
    var (operations, reference) = make()
    await start(operations)
    await clock.waitForSleeper(dueIn: .seconds(5))
    clock.advance(by: .seconds(5))
    #expect(await settled(operations[1]).value == 1)
    operations = []
    await untilReleased(reference)
    #expect(reference.object == nil)
  }

  @Test func retries_ofALimitedOperation_waitForTheRate() async {
    let limit = limit(1, per: 1)
    let made = EventRecorder<Int>()
    let retried = retrying(RetryPolicy(maxAttempts: 3, backoff: .noDelay)) { attempt -> SimpleOperation<Int> in
      made.record(attempt.number)
      return (attempt.number < 3 ? failing(TestError.first) : succeeding(attempt.number)).limited(by: limit)
    }
    await start([retried])
    for attempt in 2...3 {
      await clock.waitForSleeper(dueIn: .seconds(1))
      #expect(made.count == attempt)
      clock.advance(by: .seconds(1))
    }
    #expect(await settled(retried).value == 3)
  }
}
