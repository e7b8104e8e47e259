import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing

/// `retrying` with closures that see the attempts so far.
@Suite("8 retrying by earlier attempts", .hangLimit)
struct RetryAttemptTests {
  private let clock = ManualClock()
  private let everySecond = RetryPolicy(maxAttempts: 4, backoff: .constant(.seconds(1)), jitter: .none)
  private let atOnce = RetryPolicy(maxAttempts: 4, backoff: .noDelay)

  private func names(_ errors: [any Error]) -> [String] { errors.map { ($0 as? TestError)?.name ?? "\($0)" } }

  @Test("The closure gets the errors so far, and may choose the next attempt by them")
  func attempt_afterErrors_isMadeByThem() async {
    let told = EventRecorder<[String]>()
    let retried = retrying(atOnce) { attempt -> SimpleOperation<Int> in
      told.record(["\(attempt.number)"] + attempt.errors.map { "\($0)" })
      guard let last = attempt.lastError as? TestError else { return failing(TestError.first) }
      return last == .first ? failing(TestError.second) : succeeding(attempt.number)
    }
    #expect(await outcomeOfStarting(retried).value == 3)
    #expect(told.events == [["1"], ["2", "\(TestError.first)"], ["3", "\(TestError.first)", "\(TestError.second)"]])
  }

  @Test("The form for an existing operation: its error is the first that the closure gets")
  func attempt_ofExistingOperation_followsItsError() async {
    let retried = failing(TestError.second, as: Int.self).retrying(atOnce) { attempt in
      succeeding(attempt.lastError as? TestError == .second && attempt.errors.count == 1 ? attempt.number : 0)
    }
    #expect(await outcomeOfStarting(retried).value == 2)
  }

  @Test("Of many errors the first four and the newest are told")
  func attempt_afterManyErrors_isToldOfFew() async {
    let told = Locked<[String]>([])
    let retried = retrying(RetryPolicy(maxAttempts: 100, backoff: .noDelay)) { attempt -> SimpleOperation<Int> in
      if attempt.number == 100 {
        told.withLock { $0 = attempt.errors.map { ($0 as? TestError)?.name ?? "" } }
      }
      return failing(TestError("\(attempt.number)"))
    }
    #expect(await outcomeOfStarting(retried).error is RetryError)
    #expect(told.current == (Array(1...4) + Array(88...99)).map { "\($0)" })
  }

  @Test("The time from the beginning of the first attempt is the clock's")
  func elapsed_isMeasuredByTheClock() async {
    let told = EventRecorder<Duration>()
    clock.advance(by: .seconds(100))
    let retried = retrying(everySecond, clock: clock) { attempt -> SimpleOperation<Int> in
      told.record(attempt.elapsed)
      return attempt.number < 3 ? failing(TestError.first) : succeeding(1)
    }
    await onWorker { retried.start() }
    for _ in 1...2 {
      await clock.waitForSleeper(dueIn: .seconds(1))
      clock.advance(by: .seconds(1))
    }
    #expect(await settled(retried).value == 1)
    #expect(told.events == [.zero, .seconds(1), .seconds(2)])
  }

  @Test("The decision is asked instead of the policy's, and not after the last attempt")
  func decide_replacesThePolicys() async {
    let asked = EventRecorder<String>()
    var policy = everySecond
    policy.decide = { _, attempt in
      asked.record("policy \(attempt)")
      return .stop
    }
    policy.willRetry = { _, attempt, delay in asked.record("will \(attempt) \(delay)") }
    let retried = retrying(policy, clock: clock) { attempt -> SimpleOperation<Int> in
      failing(TestError("\(attempt.number)"))
    } decide: { failed in
      asked.record("\(failed.number) \((failed.lastError as? TestError)?.name ?? "") of \(failed.errors.count)")
      await Task.yield()
      return failed.number == 1 ? .retry : .retryAfter(.seconds(failed.number == 2 ? 5 : -1))
    }
    await onWorker { retried.start() }
    for delay in [1, 5] {
      await clock.waitForSleeper(dueIn: .seconds(delay))
      clock.advance(by: .seconds(delay))
    }
    let error = await settled(retried).error as? RetryError
    #expect(names(error?.errors ?? []) == ["1", "2", "3", "4"])
    #expect(
      asked.events == [
        "1 1 of 1", "will 1 1.0 seconds", "2 2 of 2", "will 2 5.0 seconds", "3 3 of 3", "will 3 0.0 seconds",
      ])
  }

  @Test("After .stop, it fails with the errors so far")
  func decide_stop_ends() async {
    let retried = failing(TestError.first, as: Int.self).retrying(atOnce) { _ in
      succeeding(1)
    } decide: { _ in
      .stop
    }
    #expect(names((await outcomeOfStarting(retried).error as? RetryError)?.errors ?? []) == ["first"])
  }

  @Test(
    "An error that the decision throws is the last one, under the name of the operation; a CancellationError cancels")
  func decide_throwing_ends() async {
    let thrown = failing(TestError.first, as: Int.self, named: "fetch").retrying(atOnce) { _ in
      succeeding(1)
    } decide: { _ in
      throw TestError.second
    }
    let error = await outcomeOfStarting(thrown).error as? RetryError
    #expect(names(error?.errors ?? []) == ["first", "second"])
    #expect(error?.operationName == "fetch")
    #expect(error?.description.hasPrefix("“fetch”: 2 attempts failed") == true)
    let cancelled = failing(TestError.first, as: Int.self).retrying(atOnce) { _ in
      succeeding(1)
    } decide: { _ in
      throw CancellationError()
    }
    #expect(await outcomeOfStarting(cancelled).isCancelled)
  }

  @Test("A cancelled attempt is not repeated, and the decision is not asked")
  func decide_afterCancelledAttempt_isNotAsked() async {
    let asked = Gate()
    let retried = cancelling(as: Int.self).retrying(atOnce) { _ in
      succeeding(1)
    } decide: { _ in
      asked.open()
      return .retry
    }
    #expect(await outcomeOfStarting(retried).isCancelled)
    #expect(!asked.isOpen)
  }

  // MARK: - While the decision is pending

  /// A retried operation whose first attempt has failed, and whose decision waits.
  private struct Deciding {
    let asked = Gate(), answer = Gate(), cancelled = Gate()
    let made = EventRecorder<Int>()
    let second = HeldOperation<Int>("fetch")

    func retried(first: some ComposableOperation<Int>) -> SimpleOperation<Int> {
      let (asked, answer, cancelled, made, second) = (asked, answer, cancelled, made, second)
      return first.retrying(RetryPolicy(maxAttempts: 2, backoff: .noDelay)) { attempt in
        made.record(attempt.number)
        return second
      } decide: { _ in
        asked.open()
        do {
          try await answer.waitUnlessCancelled()
        } catch {
          cancelled.open()
          throw error
        }
        return .retry
      }
    }
  }

  @Test("Cancelled while the decision is pending: its task is cancelled, nothing is made, it settles as cancelled")
  func cancel_whileDeciding_cancelsTheTask() async {
    let deciding = Deciding()
    let retried = deciding.retried(first: failing(TestError.first))
    await onWorker { retried.start() }
    await deciding.asked.wait()
    retried.cancel()
    #expect(await settled(retried).isCancelled)
    #expect(deciding.cancelled.isOpen)
    #expect(deciding.made.events == [])
  }

  @Test("A decision that does not heed its cancellation is waited for, and counts for nothing")
  func cancel_whileDecidingStubbornly_waits() async {
    let (asked, answer) = (Gate(), Gate())
    let made = EventRecorder<Int>()
    let retried = failing(TestError.first, as: Int.self).retrying(atOnce) { attempt in
      made.record(attempt.number)
      return succeeding(1)
    } decide: { _ in
      asked.open()
      await answer.wait()
      return .retry
    }
    await onWorker { retried.start() }
    await asked.wait()
    retried.cancel()
    #expect(!retried.isFinished)
    answer.open()
    #expect(await settled(retried).isCancelled)
    #expect(made.events == [])
  }

  @Test("Settled by others, or timed out, while the decision is pending: its task is cancelled, and nothing is made")
  func settle_whileDeciding_cancelsTheTask() async {
    let settling = Deciding()
    let retried = settling.retried(first: failing(TestError.first))
    await onWorker { retried.start() }
    await settling.asked.wait()
    #expect(retried.finish(with: 5))
    #expect(retried.outcome?.value == 5)
    await settling.cancelled.wait()
    #expect(settling.made.events == [])

    let late = Deciding()
    let limited = late.retried(first: failing(TestError.first)).timeout(.seconds(3), clock: clock)
    await onWorker { limited.start() }
    await late.asked.wait()
    await clock.waitForSleeper(dueIn: .seconds(3))
    clock.advance(by: .seconds(3))
    #expect(await settled(limited).error is OperationTimeout)
    await late.cancelled.wait()
    #expect(late.made.events == [])
  }

  @Test("The decision takes no slot of a queue")
  func decide_inQueue_takesNoSlot() async {
    let deciding = Deciding()
    let ran = Gate()
    let retried = deciding.retried(first: failing(TestError.first))
    let composite = CompositeOperation(
      operations: [retried, BlockOperation { ran.open() }], operationQueue: OperationQueue(limit: 1))
    composite.start()
    await deciding.asked.wait()
    await ran.wait()
    deciding.answer.open()
    await deciding.second.started.wait()
    deciding.second.finish(with: 2)
    #expect(await settled(composite).value != nil)
    #expect(retried.outcome?.value == 2)
  }

  @Test("A timeline shows the decision as a wait, and numbers the attempts")
  func timeline_showsTheDecisionAsWait() async {
    let deciding = Deciding()
    let recorder = TimelineRecorder()
    let retried = deciding.retried(first: failing(TestError.first, named: "fetch"))
    recorder.attach(to: retried)
    await onWorker { retried.start() }
    await deciding.asked.wait()
    #expect(recorder.timeline.entries.last?.kind == .wait)
    #expect(retried.mermaid().contains("decides about another attempt"))
    deciding.answer.open()
    await deciding.second.started.wait()
    deciding.second.finish(with: 1)
    await finished(retried)
    let entries = recorder.timeline.entries
    #expect(entries.map(\.kind) == [.retry, .operation, .wait, .operation])
    #expect(entries.map(\.attempt) == [1, 1, 1, 2])
    #expect(entries[2].title == "decides about another attempt")
    #expect(!recorder.timeline.textTree().contains("RetryDecision"))
  }

  @Test("The progress stays where the attempt was while the decision is pending, and follows the next attempt")
  func progress_whileDeciding_stays() async {
    let deciding = Deciding()
    let first = HeldOperation<Int>()
    let retried = deciding.retried(first: first)
    #expect(retried.fractionCompleted == 0)
    await onWorker { retried.start() }
    await first.started.wait()
    first.reportProgress(0.5)
    first.reject(with: TestError.first)
    await deciding.asked.wait()
    #expect(retried.fractionCompleted == 0.5)
    deciding.answer.open()
    await deciding.second.started.wait()
    #expect(retried.fractionCompleted == 0.5)
    deciding.second.reportProgress(0.75)
    #expect(retried.fractionCompleted == 0.75)
    deciding.second.finish(with: 1)
    #expect(await settled(retried).value == 1)
  }

  @Test("Observers get the decision as a child, between the attempts")
  func observers_seeTheDecisionBetweenAttempts() async {
    let told = EventRecorder<String>()
    let retried = failing(TestError.first, as: Int.self, named: "1").retrying(atOnce) { _ in
      succeeding(1, named: "2")
    } decide: { _ in
      .retry
    }
    retried.addObserver { event in
      if let child = event.child { told.record(child.name ?? "") }
    }
    #expect(await outcomeOfStarting(retried).value == 1)
    #expect(told.events == ["1", "decides about another attempt", "2"])
  }

  @Test("Settled, it releases both closures; also if it never started")
  func settled_releasesTheClosures() async {
    func make(_ released: (Gate, Gate)) -> SimpleOperation<Int> {
      let (maker, decider) = (ReleaseProbe(released.0), ReleaseProbe(released.1))
      return failing(TestError.first, as: Int.self).retrying(atOnce) { _ in
        maker.touch()
        return succeeding(1)
      } decide: { _ in
        decider.touch()
        return .retry
      }
    }
    for isStarted in [true, false] {
      let released = (Gate(), Gate())
      let retried = make(released)
      #expect(!released.0.isOpen && !released.1.isOpen)
      if isStarted { _ = await outcomeOfStarting(retried) } else { #expect(retried.finish(with: 3)) }
      await released.0.wait()
      await released.1.wait()
      #expect(retried.isFinished)
    }
  }

  @Test("A cancel and an answer at the same time: one of the two, exactly once, and no attempt after the cancel")
  func cancelAndAnswer_together_endOnce() async {
    for _ in 0..<200 {
      let deciding = Deciding()
      let retried = deciding.retried(first: failing(TestError.first))
      let spy = CompletionSpy<Int>()
      retried.completion = spy.completion
      await onWorker { retried.start() }
      await deciding.asked.wait()
      async let answered: Void = onWorker { deciding.answer.open() }
      async let cancelled: Void = onWorker { retried.cancel() }
      _ = await (answered, cancelled)
      // An attempt that was made before the cancel must end.
      deciding.second.finish(with: 1)
      #expect(await settled(retried).isCancelled)
      #expect(spy.count == 1)
    }
  }
}
