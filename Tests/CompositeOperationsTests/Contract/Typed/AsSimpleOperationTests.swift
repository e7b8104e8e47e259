import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import OperationTimelines
import TestSupport
import Testing

/// `asSimpleOperation()`: an operation of any type as one that policies and typed compositions
/// take.
@Suite("Typed: asSimpleOperation", .hangLimit)
struct AsSimpleOperationTests {
  private let clock = ManualClock()

  // MARK: - Outcomes

  @Test func block_succeedsWithVoid() async {
    let recorder = EventRecorder<String>()
    let adapted: SimpleOperation<Void> = BlockOperation { recorder.record("ran") }.asSimpleOperation()
    #expect(recorder.events.isEmpty)
    #expect(await outcomeOfStarting(adapted).value != nil)
    #expect(recorder.events == ["ran"])
  }

  @Test func asyncPlain_isAwaited() async {
    let plain = AsyncPlainOperation()
    let adapted = plain.asSimpleOperation()
    await onWorker { adapted.start() }
    await plain.started.wait()
    #expect(adapted.outcome == nil)
    await onWorker { plain.complete() }
    #expect(await settled(adapted).value != nil)
  }

  @Test func operationOfThePackage_hasItsOwnOutcomeWithoutTheValue() async {
    let operations: [Operation] = [
      succeeding(5), CompositeOperation { succeeding(1) }, ConformingOperation { .success(1) },
    ]
    for operation in operations {
      #expect(await outcomeOfStarting(operation.asSimpleOperation()).value != nil)
    }
    let failed: [Operation] = [failing(TestError.first), ConformingOperation<Int> { .failure(TestError.first) }]
    for operation in failed {
      #expect(await outcomeOfStarting(operation.asSimpleOperation()).error as? TestError == .first)
    }
    let composite: Operation = CompositeOperation { failing(TestError.first) }
    #expect(await outcomeOfStarting(composite.asSimpleOperation()).error is CompositeError)
    #expect(await outcomeOfStarting((cancelling() as Operation).asSimpleOperation()).isCancelled)
  }

  @Test func circleOfDependencies_isItsError() async throws {
    let block = BlockOperation { Issue.record("It ran.") }
    let adapted = block.asSimpleOperation()
    block.addDependency(adapted)
    let error = try #require(await outcomeOfStarting(adapted).error as? OperationError)
    #expect(error.code == .dependencyCircle)
  }

  // MARK: - Cancelling

  @Test func cancelled_beforeItsStart_runsNothing() async {
    let block = BlockOperation { Issue.record("It ran.") }
    let adapted = block.asSimpleOperation()
    adapted.cancel()
    #expect(await outcomeOfStarting(adapted).isCancelled)
    #expect(block.isCancelled && block.isFinished)
  }

  @Test func cancelled_whileItRuns_cancelsThePlainOperationAndWaitsForIt() async {
    let plain = AsyncPlainOperation(ignoresCancel: true)
    let adapted = plain.asSimpleOperation()
    await onWorker { adapted.start() }
    await plain.started.wait()
    adapted.cancel()
    await plain.cancelRequested.wait()
    #expect(adapted.outcome == nil)
    await onWorker { plain.complete() }
    #expect(await settled(adapted).isCancelled)
  }

  @Test func cancelled_whileItRuns_cancelsTheOperationOfThePackage() async {
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    let adapted = (held as Operation).asSimpleOperation()
    await onWorker { adapted.start() }
    await held.started.wait()
    adapted.cancel()
    #expect(await settled(adapted).isCancelled && held.outcome?.isCancelled == true)
  }

  @Test func plainOperation_cancelledByOthers_cancelsIt() async {
    let plain = AsyncPlainOperation()
    let adapted = plain.asSimpleOperation()
    await onWorker { adapted.start() }
    await plain.started.wait()
    await onWorker { plain.cancel() }
    #expect(await settled(adapted).isCancelled)
  }

  // MARK: - Operations of others

  @Test func executingElsewhere_isAwaited_andNotCancelled() async {
    let held = HeldOperation<Int>()
    await onWorker { held.start() }
    let (first, second) = (held.asSimpleOperation(), held.asSimpleOperation())
    await onWorker { first.start() }
    await onWorker { second.start() }
    await Patience.untilAwaited(held)
    first.cancel()
    #expect(await settled(first).isCancelled && !held.isCancelled)
    #expect(second.outcome == nil)
    held.finish(with: 1)
    #expect(await settled(second).value != nil)
  }

  @Test func plainOperationExecutingElsewhere_isAwaited_andNotCancelled() async {
    let plain = AsyncPlainOperation()
    await onWorker { plain.start() }
    let (first, second) = (plain.asSimpleOperation(), plain.asSimpleOperation())
    await onWorker { first.start() }
    await onWorker { second.start() }
    await settleDown()
    first.cancel()
    #expect(await settled(first).isCancelled && !plain.isCancelled)
    await onWorker { plain.complete() }
    #expect(await settled(second).value != nil)
  }

  @Test func finishedElsewhere_countsWithItsOutcome() async {
    let block = BlockOperation {}
    await onWorker { block.start() }
    #expect(await outcomeOfStarting(block.asSimpleOperation()).value != nil)
    let cancelled = BlockOperation {}
    cancelled.cancel()
    await onWorker { cancelled.start() }
    #expect(await outcomeOfStarting(cancelled.asSimpleOperation()).isCancelled)
    let failed = failing(TestError.first)
    _ = await outcomeOfStarting(failed)
    #expect(await outcomeOfStarting(failed.asSimpleOperation()).error as? TestError == .first)
  }

  // MARK: - In policies and compositions

  @Test func inEveryPolicy_runsOnce_andFailsWithItsError() async {
    let recorder = EventRecorder<String>()
    let (registry, limit, breaker, clock) = (ExclusionRegistry(), SharedLimit(), CircuitBreaker(), clock)
    func policies(_ operation: Operation) -> SimpleOperation<Void> {
      operation.asSimpleOperation().guarded(by: breaker).limited(by: limit).exclusive("x", in: registry)
        .condition(Condition("yes") { _ in true }).retrying(RetryPolicy(maxAttempts: 1)) { _ in
          BlockOperation {}.asSimpleOperation()
        }.timeout(.seconds(5), clock: clock).deadline(.init(offset: .seconds(9)), clock: clock)
    }
    #expect(await outcomeOfStarting(policies(BlockOperation { recorder.record("ran") })).value != nil)
    #expect(recorder.events == ["ran"])
    let error = await outcomeOfStarting(policies(failing(TestError.first))).error as? RetryError
    #expect(error?.lastError as? TestError == .first)
    let gathered = zip(succeeding(1), BlockOperation {}.asSimpleOperation()).then { number, _ in succeeding(number) }
    #expect(await outcomeOfStarting(gathered).value == 1)
  }

  @Test func retrying_makesPlainOperations() async {
    let retried = retrying(RetryPolicy(backoff: .noDelay)) { attempt in
      (attempt.number < 3 ? failing(TestError.first) as Operation : BlockOperation {}).asSimpleOperation()
    }
    #expect(await outcomeOfStarting(retried).value != nil)
  }

  @Test func timeout_cancelsThePlainOperation() async {
    let plain = AsyncPlainOperation()
    let timed = plain.asSimpleOperation().timeout(.seconds(1), .waitsForWork, clock: clock)
    await onWorker { timed.start() }
    await plain.started.wait()
    clock.advance(by: .seconds(1))
    #expect(await settled(timed).error is OperationTimeout)
    #expect(plain.isCancelled)
  }

  @Test func inAQueue_onlyThePlainOperationTakesASlot() async throws {
    let queue = OperationQueue(limit: 1)
    let ranIn = Locked<OperationQueue?>(nil)
    let block = BlockOperation { ranIn.withLock { $0 = .current } }
    let composite = CompositeOperation(
      operations: [block.asSimpleOperation().timeout(.seconds(5), clock: clock)], operationQueue: queue)
    try await composite.run()
    #expect(ranIn.current === queue)
  }

  // MARK: - Names and drawings

  @Test func name_isThatOfTheOperation_untilItHasItsOwn() async {
    let block = BlockOperation {}
    let adapted = block.asSimpleOperation(), timed = adapted.timeout(.seconds(5), clock: clock)
    #expect(adapted.name == nil)
    block.name = "block"
    #expect(adapted.name == "block" && timed.name == "block")
    _ = await outcomeOfStarting(timed)
    #expect(adapted.name == "block" && timed.name == "block")
    adapted.name = "own"
    #expect(adapted.name == "own" && block.name == "block")
  }

  @Test func timelinesAndDrawings_showTheOperationInIt() async throws {
    let block = BlockOperation {}
    block.name = "block"
    let timed = block.asSimpleOperation().timeout(.seconds(5), clock: clock)
    let recorder = TimelineRecorder()
    recorder.attach(to: timed)
    #expect(timed.mermaid().contains("asSimpleOperation"))
    try await timed.run()
    let entries = recorder.timeline.entries
    #expect(entries.map(\.kind) == [.timeout, .asSimpleOperation, .plain])
    #expect(entries.allSatisfy { $0.name == "block" && $0.ending == .success })
    #expect(recorder.timeline.peakConcurrency == 1)
  }
}
