import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Time, the work and others at the same moment.
@Suite("8 Races of policies", .serialized, .hangLimit)
struct PolicyRaceTests {
  private static let rounds = Scale.count(10_000, least: 300)

  /// Returns what is wrong once the operation has settled.
  private static func check<Value>(
    _ operation: SimpleOperation<Value>, _ spy: CompletionSpy<Value>, _ clock: ManualClock,
    _ isRight: (Outcome<Value>) -> Bool
  ) -> String? {
    while !operation.isFinished { sched_yield() }
    // A timer that was just being set is cancelled in a moment; a forgotten one never is.
    while Timekeeper.of(clock).pendingCount > 0 { sched_yield() }
    let outcome = operation.outcome
    return complaint("\(String(describing: outcome))", unless: outcome.map(isRight) == true)
      ?? complaint("\(spy.count) completions", unless: spy.count == 1)
  }

  @Test("A timeout, the work that ends, and a cancel", arguments: [TimeoutBehavior.settlesAtOnce, .waitsForWork])
  func timeout_workEndingAndCancel_settlesOnce(behavior: TimeoutBehavior) async {
    let complaints = await Race.run(rounds: PolicyRaceTests.rounds, threads: 3) { round, _ in
      let clock = ManualClock()
      let work = HeldOperation<Int>()
      let timed = work.timeout(.seconds(1), behavior, clock: clock)
      let spy = CompletionSpy<Int>()
      timed.completion = spy.completion
      timed.start()
      let cancels = round % 2 == 0
      return Race.Round(bodies: [
        { clock.advance(by: .seconds(1)) },
        {
          work.start()  // ours or the timeout's, whichever is first
          work.finish(with: 1)
        },
        { if cancels { timed.cancel() } },
      ]) {
        PolicyRaceTests.check(timed, spy, clock) { outcome in
          switch outcome {
          case .success(let value): value == 1
          case .failure(let error): error is OperationTimeout
          // The work may have been cancelled by the timeout before that has settled it.
          case .cancelled: cancels
          }
        }
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test("A timeout, and other code that settles it")
  func timeout_settledFromOutside_settlesOnce() async {
    let complaints = await Race.run(rounds: PolicyRaceTests.rounds, threads: 3) { _, _ in
      let clock = ManualClock()
      let work = NeverFinishingOperation<Int>()
      let timed = work.timeout(.seconds(1), clock: clock)
      let spy = CompletionSpy<Int>()
      timed.completion = spy.completion
      return Race.Round(bodies: [
        { timed.start() }, { clock.advance(by: .seconds(1)) }, { timed.finish(with: 5) },
      ]) {
        PolicyRaceTests.check(timed, spy, clock) { $0.value == 5 || $0.error is OperationTimeout }
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test("A deadline that passes while its operation is being started")
  func deadline_whileStarting_fails() async {
    let complaints = await Race.run(rounds: PolicyRaceTests.rounds, threads: 2) { _, _ in
      let clock = ManualClock()
      let work = NeverFinishingOperation<Int>()
      let timed = work.deadline(.init(offset: .seconds(1)), clock: clock, .waitsForWork)
      let spy = CompletionSpy<Int>()
      timed.completion = spy.completion
      return Race.Round(bodies: [{ timed.start() }, { clock.advance(by: .seconds(1)) }]) {
        PolicyRaceTests.check(timed, spy, clock) { $0.error is OperationTimeout && work.outcome?.isCancelled == true }
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test("A delay that elapses, is cancelled and is settled")
  func delay_elapsingCancelledAndSettled_settlesOnce() async {
    let complaints = await Race.run(rounds: PolicyRaceTests.rounds, threads: 4) { _, _ in
      let clock = ManualClock()
      let delay = DelayOperation(.seconds(1), clock: clock)
      let spy = CompletionSpy<Void>()
      delay.completion = spy.completion
      return Race.Round(bodies: [
        { delay.start() }, { clock.advance(by: .seconds(1)) }, { delay.cancel() },
        { delay.reject(with: TestError.first) },
      ]) {
        PolicyRaceTests.check(delay, spy, clock) { _ in true }
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test("A retry between two attempts that is cancelled as its delay ends")
  func retry_cancelledAtEndOfDelay_settlesOnce() async {
    let complaints = await Race.run(rounds: PolicyRaceTests.rounds, threads: 2) { _, _ in
      let clock = ManualClock()
      let policy = RetryPolicy(maxAttempts: 2, backoff: .constant(.seconds(1)), jitter: .none)
      let retried = retrying(policy, clock: clock) {
        $0.number == 1 ? failing(TestError.first) : succeeding($0.number)
      }
      let spy = CompletionSpy<Int>()
      retried.completion = spy.completion
      retried.start()
      return Race.Round(bodies: [{ clock.advance(by: .seconds(1)) }, { retried.cancel() }]) {
        PolicyRaceTests.check(retried, spy, clock) { $0.value == 2 || $0.isCancelled }
      }
    }
    #expect(complaints.isEmpty)
  }

  @Test("10,000 timeouts on one clock: half of the work ends, and the time of the others is up")
  func manyTimeouts_onOneClock() async {
    let clock = ManualClock()
    let keeper = Timekeeper.of(clock)
    let works = (0..<10_000).map { _ in HeldOperation<Int>(settlesWhenCancelled: true) }
    let timed = works.enumerated().map { index, work in work.timeout(.seconds(1 + index % 100), clock: clock) }
    let composite = CompositeOperation(operations: timed)
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    for work in works { await work.started.wait() }
    #expect(keeper.pendingCount == 10_000)
    await clock.waitForSleeper(dueIn: .seconds(1))
    // Other timers are soon replaced by earlier ones.
    await onWorker { for (index, work) in works.enumerated() where index % 2 == 0 { work.finish(with: index) } }
    for index in stride(from: 0, to: 10_000, by: 2) { #expect(await settled(timed[index]).value == index) }
    #expect(keeper.pendingCount == 5_000)
    clock.advance(by: .seconds(100))
    #expect((await settled(composite).error as? CompositeError)?.failures.count == 5_000)
    #expect(keeper.pendingCount == 0)
    await clock.waitUntilIdle()
    #expect(composite.childOutcomes.filter { $0?.error is OperationTimeout }.count == 5_000)
  }

  @Test("A guard inside another one that is settled while the outer one takes it over")
  func guard_settledWhileTheOuterOneStarts_settlesAll() async {
    let complaints = await Race.run(rounds: PolicyRaceTests.rounds, threads: 2) { round, random in
      let leaf = succeeding(1)
      let inner = round % 2 == 0 ? leaf.condition(.all([])) : leaf.exclusive("x", in: ExclusionRegistry())
      let outer = inner.condition(.all([]))
      let spins = random.number(0...3_000)
      let counter = Locked(0)
      return Race.Round(bodies: [
        { outer.start() },
        {
          for _ in 0..<spins { counter.increment() }
          inner.finish(with: 2)
        },
      ]) {
        // A leaf that is never settled would stay forever.
        let isOver = Patience.isReached { outer.isFinished && leaf.isFinished }
        let isRight = isOver && inner.outcome?.value == outer.outcome?.value
        return complaint("\(outer), \(inner), \(leaf)", unless: isRight)
      }
    }
    #expect(complaints.isEmpty)
  }
}
