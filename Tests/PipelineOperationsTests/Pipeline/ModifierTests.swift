import CompositeOperations
import Foundation
import PipelineOperations
import TestSupport
import Testing

@Suite("Modifiers of steps", .timeLimit(.minutes(30)))
struct ModifierTests {
  private let policy = RetryPolicy(maxAttempts: 3, backoff: .constant(.zero), jitter: .none)

  @Test func names_andWeights_passThroughOtherModifiers() {
    let step = Add(1).named("a").weighted(4).retrying(policy).timeout(.seconds(1)).on(.main)
    #expect(step.stepName == "a" && step.stepWeight == 4)
    #expect(step.named("b").stepName == "b" && step.named("b").stepWeight == 4)
    #expect(Add(1).stepName == "Add" && Add(1).stepWeight == 1)
    #expect(Pipeline(Add(1)).stepName == "Pipeline" && Pipeline(Add(1)).named("p").stepName == "p")
    #expect(DecodeJSON([Int].self).stepName == "DecodeJSON")
  }

  @Test func retrying_repeatsWithTheSameInput() async throws {
    let inputs = EventRecorder<Int>()
    let step = Transform<Int, Int> { number in
      inputs.record(number)
      guard inputs.count == 3 else { throw TestError.first }
      return number
    }.retrying(policy)
    #expect(try await Pipeline(Add(1)).then(step).run(6) == 7)
    #expect(inputs.events == [7, 7, 7])
  }

  @Test func retrying_repeatsStepsThatThrowInsteadOfMakingAnOperation() async throws {
    let attempts = Locked(0)
    let step = Transform<Int, Int>(makingOperation: { number in
      guard attempts.increment() == 3 else { throw TestError.first }
      return succeeding(number)
    }).retrying(policy)
    #expect(try await Pipeline(step).run(7) == 7 && attempts.current == 3)
  }

  @Test func retrying_toNoAvail_failsWithAllErrors() async throws {
    let step = Transform { (_: Int) -> Int in throw TestError.first }.named("load").retrying(policy)
    let error = try await outcome(of: Pipeline(Add(1)).then(step), for: 1).stepError
    #expect(error?.stepName == "load" && (error?.cause as? RetryError)?.errors.count == 3)
  }

  @Test func retrying_aPipeline_beginsAtItsFirstStep() async throws {
    let log = EventRecorder<String>()
    let pipeline = Pipeline(Tee { (_: Int) in log.record("a") }).then(
      Tee { _ in
        log.record("b")
        if log.count < 4 { throw TestError.first }
      })
    #expect(try await pipeline.retrying(policy).then(Add(1)).run(1) == 2)
    #expect(log.events == ["a", "b", "a", "b"])
  }

  @Test func timeout_failsTheStep_andCancelsItsOperation() async throws {
    let clock = ManualClock()
    let held = HeldStep("slow")
    let operation = Pipeline(Add(1)).then(held.timeout(.seconds(3), clock: clock)).operation(for: 1)
    operation.start()
    let step = await held.started()
    clock.advance(by: .seconds(3))
    let error = await settled(operation).stepError
    #expect(error?.stepName == "slow" && error?.stepIndex == 1)
    let timeout = try #require(error?.cause as? OperationTimeout)
    #expect(timeout.limit == .seconds(3) && timeout.operationDescription.contains("“slow”"))
    // The step fails at once, before its operation is cancelled.
    await step.cancelRequested.wait()
    #expect(step.isCancelled)
    await clock.waitUntilIdle()
  }

  @Test("Modifiers hold in the order in which they are written") func order_ofTimeoutAndRetry_matters() async throws {
    let clock = ManualClock()
    let held = HeldStep("slow")
    let each = Pipeline(held.timeout(.seconds(1), clock: clock).retrying(policy)).operation(for: 1)
    each.start()
    for attempt in 1...3 {
      _ = await held.started(attempt)
      await clock.waitForSleeper(dueIn: .seconds(1))
      clock.advance(by: .seconds(1))
    }
    #expect((await settled(each).stepError?.cause as? RetryError)?.errors.count == 3)

    let once = HeldStep("slow")
    let whole = Pipeline(once.retrying(policy).timeout(.seconds(1), clock: clock)).operation(for: 1)
    whole.start()
    _ = await once.started()
    await clock.waitForSleeper(dueIn: .seconds(1))
    clock.advance(by: .seconds(1))
    #expect(await settled(whole).stepError?.cause is OperationTimeout)
    #expect(once.count == 1)
  }

  @Test func on_runsTheStepInTheQueue_andTheOthersElsewhere() async throws {
    let queue = OperationQueue(limit: 1)
    queue.name = "shelf"
    let names = EventRecorder<String?>()
    let note = Tee<Int> { _ in names.record(OperationQueue.current?.name) }
    let pipeline = Pipeline(note).then(note.on(queue)).then(note)
    _ = try await pipeline.run(1)
    #expect(names.count == 3 && names.events[1] == "shelf")
    #expect(names.events[0] != "shelf" && names.events[2] != "shelf")
  }

  @Test func on_main_runsOnTheMainThread_alsoTheClosureThatMakesTheOperation() async throws {
    let threads = EventRecorder<Bool>()
    let step = Transform<Int, Int>(makingOperation: { number in
      threads.record(isOnMainQueue())
      return SimpleOperation {
        threads.record(isOnMainQueue())
        $0.finish(with: number)
      }
    })
    #expect(try await Pipeline(Add(1)).then(step.on(.main)).run(1) == 2)
    #expect(threads.events == [true, true])
  }

  @Test func on_suspendedQueue_waits_andItsLimitHolds() async throws {
    let queue = OperationQueue(limit: 2, suspended: true)
    let gauge = ConcurrencyGauge()
    let pipeline = Pipeline(
      Transform<Int, Int> { number in
        gauge.enter()
        defer { gauge.leave() }
        return number
      }.on(queue)
    ).then(Add(1))
    let runs = (0..<20).map { pipeline.operation(for: $0) }
    for run in runs { run.start() }
    #expect(gauge.total == 0)
    queue.isSuspended = false
    for (index, run) in runs.enumerated() { #expect(await settled(run).value == index + 1) }
    #expect(gauge.maximum <= 2 && gauge.total == 20)
  }

  @Test func on_failingStep_givesItsOwnError() async throws {
    let step = Transform { (_: Int) -> Int in throw TestError.first }.on(OperationQueue(limit: 1))
    let error = try await outcome(of: Pipeline(step), for: 1).stepError
    #expect(error?.cause as? TestError == .first)
  }

  @Test func cancel_duringARetryDelay_ends() async throws {
    let clock = ManualClock()
    let policy = RetryPolicy(backoff: .constant(.seconds(9)), jitter: .none)
    let operation = Pipeline(Transform { (_: Int) -> Int in throw TestError.first }.retrying(policy, clock: clock))
      .operation(for: 1)
    operation.start()
    await clock.waitForSleeper()
    operation.cancel()
    #expect(await settled(operation).isCancelled)
  }
}
