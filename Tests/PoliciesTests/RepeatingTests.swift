import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("8 repeating", .hangLimit)
struct RepeatingTests {
  private let clock = ManualClock()

  @Test("Rounds begin at the interval, until the condition holds; the value is the last round's")
  func repeating_untilTheConditionHolds_beginsAtTheInterval() async {
    let rounds = EventRecorder<Int>()
    let repeated = repeating(every: .seconds(5), clock: clock, until: { $0 == 3 }) { round in
      SimpleOperation<Int> {
        rounds.record(round)
        return round
      }
    }
    await onWorker { repeated.start() }
    for round in 1...2 {
      await clock.waitForSleeper(dueIn: .seconds(5))
      #expect(rounds.count == round)
      clock.advance(by: .seconds(5))
    }
    #expect(await settled(repeated).value == 3)
    #expect(rounds.events == [1, 2, 3])
    #expect(clock.sleeperCount == 0)
  }

  @Test("The interval counts from the beginning of a round; a longer round is followed by one at once")
  func round_thatTakesLongerThanTheInterval_isFollowedAtOnce() async {
    let rounds = EventRecorder<Duration>()
    let clock = clock
    let start = clock.now
    let moved = Gate()
    let repeated = repeating(every: .seconds(5), clock: clock, maxRounds: 4) { round in
      SimpleOperation<Int> {
        rounds.record(start.duration(to: clock.now))
        // 12 s for the first round, 2 s for the second.
        if round < 3 { clock.advance(by: .seconds(round == 1 ? 12 : 2)) }
        if round == 2 { moved.open() }
        return round
      }
    }
    await onWorker { repeated.start() }
    await moved.wait()
    await clock.waitForSleeper(dueIn: .seconds(3))
    clock.advance(by: .seconds(3))
    await clock.waitForSleeper(dueIn: .seconds(5))
    clock.advance(by: .seconds(5))
    #expect(await settled(repeated).value == 4)
    #expect(rounds.events == [.zero, .seconds(12), .seconds(17), .seconds(22)])
  }

  @Test("The progress is unknown until the last round has ended")
  func progress_afterARound_isUnknown() async {
    let repeated = repeating(every: .seconds(5), clock: clock, maxRounds: 2) { succeeding($0) }
    let progress = repeated.progress
    await onWorker { repeated.start() }
    await clock.waitForSleeper(dueIn: .seconds(5))
    #expect(repeated.fractionCompleted == 0 && repeated.isProgressIndeterminate)
    #expect(!progress.isFinished && progress.isIndeterminate)
    clock.advance(by: .seconds(5))
    #expect(await settled(repeated).value == 2)
    #expect(repeated.fractionCompleted == 1 && !repeated.isProgressIndeterminate)
  }

  @Test("A round that fails is how it fails")
  func round_thatFails_endsTheRounds() async {
    let repeated = repeating(every: .zero) { round -> SimpleOperation<Int> in
      round < 3 ? succeeding(round) : failing(TestError.first)
    }
    #expect(await outcomeOfStarting(repeated).error as? TestError == .first)
  }

  @Test("A failure as a value continues")
  func round_thatIsSettled_goesOn() async throws {
    let repeated = repeating(every: .zero, maxRounds: 3) { round in
      (round == 2 ? failing(TestError.first, as: Int.self) : succeeding(round)).settled()
    }
    #expect(try await repeated.run().value == 3)
  }

  @Test("It fails with the error of the condition, or of the making of a round", arguments: [true, false])
  func closure_thatThrows_endsTheRounds(condition: Bool) async {
    let repeated = repeating(
      every: .zero, until: { if condition && $0 == 2 { throw TestError.second } else { false } }
    ) { round -> SimpleOperation<Int> in
      if round == 3 { throw TestError.second }
      return succeeding(round)
    }
    #expect(await outcomeOfStarting(repeated).error as? TestError == .second)
  }

  @Test("A round that was returned before is refused")
  func round_thatIsReturnedAgain_isRefused() async {
    let round = succeeding(1)
    let repeated = repeating(every: .zero) { _ in round }
    #expect((await outcomeOfStarting(repeated).error as? OperationError)?.code == .alreadyFinished)
  }

  @Test("Cancelled in a pause, it settles at once and leaves no timer")
  func cancel_duringAPause_endsIt() async {
    let repeated = repeating(every: .seconds(5), clock: clock) { succeeding($0) }
    await onWorker { repeated.start() }
    await clock.waitForSleeper(dueIn: .seconds(5))
    repeated.cancel()
    #expect(await settled(repeated).isCancelled)
    #expect(clock.sleeperCount == 0)
  }

  @Test("Cancelled in a round, that is cancelled, and no further one is made")
  func cancel_duringARound_cancelsIt() async {
    let made = EventRecorder<Int>()
    let round = NeverFinishingOperation<Int>()
    let repeated = repeating(every: .zero) { number in
      made.record(number)
      return round
    }
    await onWorker { repeated.start() }
    await round.started.wait()
    repeated.cancel()
    #expect(await settled(repeated).isCancelled)
    #expect(round.isCancelled && made.events == [1])
  }

  @Test("Many rounds need neither stack nor memory")
  func manyRounds_needConstantStack() async {
    let rounds = Scale.count(100_000, least: 10_000)
    let repeated = repeating(every: .zero, maxRounds: rounds) { succeeding($0) }
    #expect(await outcomeOfStarting(repeated).value == rounds)
  }

  @Test("Nested in a composite and in itself it is an operation as any other")
  func repeating_inCompositions_behavesAsAnyOther() async throws {
    let values = EventRecorder<Int>()
    let inner = { @Sendable in repeating(every: .zero, maxRounds: 3) { succeeding($0) } }
    let outer = repeating(every: .zero, maxRounds: 2) { _ in inner().map { values.record($0) } }
    let composite = CompositeOperation { outer }
    _ = try await composite.run()
    #expect(values.events == [3, 3])
  }
}
