import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import CompositeOperations

/// Operations that are not run while what they need has failed too often.
@Suite("Circuit breakers", .hangLimit)
struct CircuitBreakerTests {
  private let clock = ManualClock()

  private func breaker(
    isFailure: @escaping @Sendable (any Error) -> Bool = { _ in true },
    whenStateChanges: @escaping @Sendable (CircuitBreaker.State) -> Void = { _ in }
  ) -> CircuitBreaker {
    CircuitBreaker(
      "mail", failureThreshold: 2, resetAfter: .seconds(60), clock: clock, isFailure: isFailure,
      whenStateChanges: whenStateChanges)
  }

  private func fail(_ breaker: CircuitBreaker, times: Int = 1) async {
    for _ in 0..<times {
      #expect(await outcomeOfStarting(failing(TestError.first).guarded(by: breaker)).error as? TestError == .first)
    }
  }

  @Test func insideWhatItHasLetPass_itIsNotAskedAgain() async {
    let breaker = breaker()
    await fail(breaker, times: 2)
    clock.advance(by: .seconds(60))
    let whole = succeeding(1).then { succeeding($0).guarded(by: breaker) }.guarded(by: breaker)
    #expect(await outcomeOfStarting(whole).value == 1)
    #expect(breaker.state == .closed)
    let failing = failing(TestError.first).guarded(by: breaker).guarded(by: breaker)
    #expect(await outcomeOfStarting(failing).error as? TestError == .first)
    // It counts once.
    #expect(breaker.state == .closed)
  }

  @Test func failuresInARow_openIt_andNothingRunsUntilItsTimeIsOver() async {
    let breaker = breaker(), recorder = EventRecorder<String>()
    await fail(breaker)
    #expect(breaker.state == .closed)
    await fail(breaker)
    #expect(breaker.state == .open)
    clock.advance(by: .seconds(20))
    let inner = succeeding(1, named: "letter", recorder: recorder)
    let refused = await outcomeOfStarting(inner.guarded(by: breaker)).error as? CircuitBreakerError
    #expect(refused?.breakerName == "mail" && refused?.retryAfter == .seconds(40))
    #expect(inner.isFinished && inner.isCancelled && recorder.events.isEmpty)
    clock.advance(by: .seconds(40))
    #expect(breaker.state == .halfOpen)
    #expect(await outcomeOfStarting(succeeding(2).guarded(by: breaker)).value == 2)
    #expect(breaker.state == .closed)
    await fail(breaker)
    #expect(breaker.state == .closed)
  }

  @Test func successBetweenFailures_keepsItClosed() async {
    let breaker = breaker()
    for _ in 0..<5 {
      await fail(breaker)
      #expect(await outcomeOfStarting(succeeding(1).guarded(by: breaker)).value == 1)
    }
    #expect(breaker.state == .closed)
  }

  @Test func errorThatIsNoFailure_countsAsAnAnswer() async {
    let breaker = breaker { $0 as? TestError != .second }
    for _ in 0..<3 {
      await fail(breaker)
      #expect(await outcomeOfStarting(failing(TestError.second).guarded(by: breaker)).error as? TestError == .second)
    }
    #expect(breaker.state == .closed)
  }

  /// What it starts and cancels takes effect before it continues, as in all user code.
  @Test func isFailure_thatCancelsAComposite_findsItSettled() async {
    let isSettled = Locked(false)
    let breaker = breaker { _ in
      let composite = CompositeOperation(operations: [CompositeOperation(operations: [succeeding(1)])])
      composite.cancel()
      composite.start()
      isSettled.withLock { $0 = composite.isFinished }
      return true
    }
    let failing = HeldOperation<Int>()
    async let outcome = outcomeOfStarting(failing.guarded(by: breaker))
    await failing.started.wait()
    await Patience.untilAwaited(failing)
    // This thread notifies the policy, and is then inside the engine.
    failing.reject(with: TestError.first)
    #expect(await outcome.error as? TestError == .first)
    #expect(isSettled.current)
  }

  @Test func halfOpen_letsOneTry_andTheOthersFail_untilThatHasEnded() async {
    let breaker = breaker()
    await fail(breaker, times: 2)
    clock.advance(by: .seconds(60))
    let trial = HeldOperation<Int>(settlesWhenCancelled: true)
    let trying = trial.guarded(by: breaker)
    async let tried = outcomeOfStarting(trying)
    await trial.started.wait()
    let refused = await outcomeOfStarting(succeeding(1).guarded(by: breaker)).error as? CircuitBreakerError
    #expect(refused != nil && refused?.retryAfter == nil)
    // A cancelled operation decides nothing: the next one tries.
    trying.cancel()
    #expect(await tried.isCancelled)
    #expect(breaker.state == .halfOpen)
    await fail(breaker)
    #expect(breaker.state == .open)
  }

  @Test func letThroughBeforeItOpened_endsLater_countsNoMore() async {
    let breaker = breaker()
    let slow = HeldOperation<Int>()
    async let outcome = outcomeOfStarting(slow.guarded(by: breaker))
    await slow.started.wait()
    await fail(breaker, times: 2)
    slow.finish(with: 1)
    #expect(await outcome.value == 1)
    #expect(breaker.state == .open)
  }

  @Test func tripAndReset_openAndCloseIt() async {
    let breaker = breaker()
    breaker.trip()
    #expect(await outcomeOfStarting(succeeding(1).guarded(by: breaker)).error is CircuitBreakerError)
    breaker.reset()
    #expect(await outcomeOfStarting(succeeding(1).guarded(by: breaker)).value == 1)
  }

  @Test func changesOfState_areToldInTheirOrder_alsoOfThoseMadeMeanwhile() async {
    let states = EventRecorder<CircuitBreaker.State>(), own = Locked<CircuitBreaker?>(nil)
    let breaker = breaker(whenStateChanges: { state in
      states.record(state)
      if state == .open, states.events.count == 1 { own.current?.reset() }
    })
    own.withLock { $0 = breaker }
    await fail(breaker, times: 2)
    #expect(states.events == [.open, .closed])
    await fail(breaker, times: 2)
    clock.advance(by: .seconds(60))
    _ = await outcomeOfStarting(succeeding(1).guarded(by: breaker))
    #expect(states.events == [.open, .closed, .open, .halfOpen, .closed])
    own.withLock { $0 = nil }
  }

  @Test func plainOperation_isGuardedToo() async {
    let breaker = breaker()
    #expect(await outcomeOfStarting(BlockOperation {}.asSimpleOperation().guarded(by: breaker)).value != nil)
    breaker.trip()
    let block = BlockOperation { Issue.record("It ran.") }
    #expect(await outcomeOfStarting(block.asSimpleOperation().guarded(by: breaker)).error is CircuitBreakerError)
    #expect(block.isFinished)
  }

  @Test func operationOfAnotherOwner_isWaitedFor_thoughItIsOpen() async {
    let breaker = breaker()
    breaker.trip()
    let running = HeldOperation<Int>()
    await onWorker { running.start() }
    async let outcome = outcomeOfStarting(running.guarded(by: breaker))
    running.finish(with: 3)
    #expect(await outcome.value == 3)
  }

  @Test func retry_ofGuardedAttempts_endsWithTheBreakersError() async {
    let breaker = breaker()
    let letters = retrying(RetryPolicy(maxAttempts: 5, backoff: .noDelay)) { _ in
      failing(TestError.first).guarded(by: breaker)
    }
    let error = await outcomeOfStarting(letters).error as? RetryError
    #expect(error?.errors.filter { $0 as? TestError == .first }.count == 2)
    #expect(error?.lastError is CircuitBreakerError)
  }

  @Test func inAQueueOfOne_besideOthers_keepsTheSlotOnlyForItself() async {
    let breaker = breaker(), queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let inner = CompositeOperation(
      operations: (0..<20).map { succeeding($0).guarded(by: breaker) }, operationQueue: queue)
    let outer = CompositeOperation(operations: [inner, succeeding(1).guarded(by: breaker)])
    queue.addOperation(outer)
    #expect(await settled(outer).value != nil)
  }

  @Test func manyAtOnce_whileItOpensAndCloses_allSettle_andOneTriesAtATime() async {
    let breaker = CircuitBreaker(failureThreshold: 3, resetAfter: .zero)
    let tries = (0..<2_000).map { number in
      SimpleOperation<Int> { operation in
        if number % 3 == 0 { operation.reject(with: TestError.first) } else { operation.finish(with: number) }
      }.guarded(by: breaker)
    }
    let outcomes = await outcomeOfStarting(allSettled(tries)).value ?? []
    #expect(outcomes.count == 2_000)
    for (number, outcome) in outcomes.enumerated() {
      let isRight = outcome.value == number || outcome.error is CircuitBreakerError
      #expect(number % 3 == 0 ? outcome.value == nil && !outcome.isCancelled : isRight, "\(number): \(outcome)")
    }
    // After any history, it can be closed again.
    while breaker.state != .closed { _ = await outcomeOfStarting(succeeding(1).guarded(by: breaker)) }
  }

  @Test func error_saysWhatWasNotRun_andWhenToTryAgain() {
    let error = CircuitBreakerError(
      operationDescription: "“letter” (Send)", breakerName: "mail", retryAfter: .seconds(5))
    #expect(
      error.localizedDescription
        == "The circuit breaker “mail” is open, so “letter” (Send) was not run. Try again in 5.0 seconds.")
    let trying = CircuitBreakerError(operationDescription: "Send", breakerName: nil, retryAfter: nil)
    #expect(
      trying.description
        == "A circuit breaker is half open, and lets only one operation run, so Send was not run. "
        + "Try again when the operation that runs now has ended.")
  }
}

@Suite("CircuitState: each state and each input")
struct CircuitStateTests {
  private func time(_ seconds: Int) -> Timekeeper.Time { Timekeeper.Time(offset: .seconds(seconds)) }

  private func open() -> CircuitState {
    var circuit = CircuitState(threshold: 1, resetAfter: .seconds(10))
    circuit.trip(at: time(0))
    return circuit
  }

  @Test func admit_inEachState() throws {
    var circuit = CircuitState(threshold: 1, resetAfter: .seconds(10))
    guard case .run(let first) = circuit.admit(at: time(0)) else { throw TestError.first }
    circuit.ended(first, as: .failure, at: time(0))
    #expect(circuit.phase == .open(until: time(10)))
    #expect(circuit.admit(at: time(9)) == .refuse(retryAfter: .seconds(1)))
    guard case .run(let trial) = circuit.admit(at: time(10)) else { throw TestError.second }
    #expect(trial != first && circuit.phase == .halfOpen(isTrying: true))
    #expect(circuit.admit(at: time(11)) == .refuse(retryAfter: nil))
    // An old ticket has no effect.
    for ending in CircuitState.Ending.allCases { circuit.ended(first, as: ending, at: time(11)) }
    #expect(circuit.phase == .halfOpen(isTrying: true))
  }

  @Test(arguments: CircuitState.Ending.allCases)
  func trialEnds(as ending: CircuitState.Ending) throws {
    var circuit = open()
    guard case .run(let trial) = circuit.admit(at: time(10)) else { throw TestError.first }
    circuit.ended(trial, as: ending, at: time(12))
    switch ending {
    case .success: #expect(circuit.phase == .closed(failures: 0))
    case .failure: #expect(circuit.phase == .open(until: time(22)))
    case .undecided: #expect(circuit.phase == .halfOpen(isTrying: false))
    }
    // Once.
    let after = circuit.phase
    circuit.ended(trial, as: .failure, at: time(13))
    #expect(circuit.phase == after)
  }

  @Test func open_forMoreThanItsTime_showsHalfOpen() {
    let circuit = open()
    #expect(circuit.state(at: time(9)) == .open && circuit.state(at: time(10)) == .halfOpen)
  }
}
