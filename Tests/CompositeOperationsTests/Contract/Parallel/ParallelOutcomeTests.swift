import CompositeOperations
import Foundation
import TestSupport
import Testing

@Suite("3.2 Parallel: what comes out", .hangLimit)
struct ParallelOutcomeTests {
  @Test("3.2 No children: the completion is not called on the thread that is inside start()", arguments: 0...2)
  func start_withoutChildren_settlesElsewhere(form: Int) async {
    let starting = Locked<pthread_t?>(nil)
    let isInside = EventRecorder<Bool>()
    @Sendable func note() {
      let thread = pthread_self()
      isInside.record(starting.withLock { $0.map { pthread_equal($0, thread) != 0 } == true })
    }
    let start: @Sendable () -> Void
    switch form {
    case 0:
      let composite = CompositeOperation(operations: [])
      composite.completion = { _ in note() }
      start = { composite.start() }
    case 1:
      let together = all([SimpleOperation<Int>]())
      together.completion = { _ in note() }
      start = { together.start() }
    default:
      let composite = CompositeOperation(operations: [], operationQueue: OperationQueue(limit: 1, suspended: true))
      composite.isSuspended = true
      composite.completion = { _ in note() }
      start = { composite.start() }
    }
    await onThread {
      starting.withLock { $0 = pthread_self() }
      start()
      starting.withLock { $0 = nil }
    }
    await isInside.wait(forCount: 1)
    #expect(isInside.events == [false])
  }

  @Test("3.2 All succeed: the values in child order, whatever the order of finishing")
  func children_allSucceed_valuesInChildOrder() async {
    let children = (0..<5).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(operations: children)
    await onWorker { composite.start() }
    for (number, child) in children.enumerated().reversed() {
      await child.started.wait()
      child.finish(with: number)
    }
    #expect(await settled(composite).value as? [Int] == [0, 1, 2, 3, 4])
    #expect(composite.results as? [Int] == [0, 1, 2, 3, 4])
    #expect(composite.result as? [Int] == [0, 1, 2, 3, 4])
    #expect(composite.errors.isEmpty)
    #expect(composite.error == nil)
  }

  @Test("3.2 The values keep their types, mixed as the children are")
  func children_ofMixedTypes_keepTheirTypes() async throws {
    let composite = CompositeOperation(operations: [
      succeeding(1), succeeding("two"), BlockOperation {}, AsyncOperation { 4.0 },
      CompositeOperation(operations: [succeeding(5)]),
    ])
    let values = try #require(await outcomeOfStarting(composite).value)
    #expect(values[0] as? Int == 1)
    #expect(values[1] as? String == "two")
    #expect(values[2] is Void)
    #expect(values[3] as? Double == 4)
    #expect((values[4] as? [any Sendable])?.first as? Int == 5)
  }

  @Test("3.2 No children: success with no values")
  func children_none_succeeds() async {
    let composite = CompositeOperation(operations: [])
    let outcome = await outcomeOfStarting(composite)
    #expect(outcome.value?.isEmpty == true)
    #expect(composite.results.isEmpty)
    #expect(composite.childOutcomes.isEmpty)
    #expect(composite.operations.isEmpty)
    #expect(composite.errors.isEmpty)
  }

  @Test("3.2 .cancelRemaining is the default policy")
  func failurePolicy_byDefault_isCancelRemaining() {
    #expect(CompositeOperation(operations: []).failurePolicy == .cancelRemaining)
    #expect(
      CompositeOperation(operations: []).maxConcurrentOperationCount
        == OperationQueue.defaultMaxConcurrentOperationCount)
    #expect(!CompositeOperation(operations: []).isSuspended)
  }

  @Test("3.2 One fails, .cancelRemaining: no further child starts")
  func child_failing_keepsTheRestFromStarting() async {
    let recorder = EventRecorder<String>()
    let failing = HeldOperation<Int>("failing")
    let rest = (0..<50).map { succeeding($0, named: "\($0)", recorder: recorder) }
    let composite = CompositeOperation(operations: [failing] + rest)
    composite.maxConcurrentOperationCount = 1
    await onWorker { composite.start() }
    await failing.started.wait()
    failing.reject(with: TestError.first)
    let outcome = await settled(composite)
    #expect(recorder.events.isEmpty)
    #expect(composite.failures == [.first])
    #expect(outcome.error is CompositeError)
    #expect(!composite.isCancelled)
  }

  @Test("3.2 One fails, .cancelRemaining: running ones are cancelled, and it fails when all have finished")
  func child_failing_cancelsRunningOnesAndWaits() async {
    let running = HeldOperation<Int>()
    let failing = HeldOperation<Int>()
    let composite = CompositeOperation(operations: [running, failing])
    await onWorker { composite.start() }
    await running.started.wait()
    await failing.started.wait()
    failing.reject(with: TestError.first)
    await running.cancelRequested.wait()
    #expect(composite.outcome == nil)
    #expect(composite.isExecuting)
    #expect(!running.finish(with: 1))
    #expect(await settled(composite).error is CompositeError)
    #expect(composite.failures == [.first])
    #expect(composite.childOutcomes.map { Ending($0) } == [.cancelled, .failure])
    #expect(!composite.isCancelled)
  }

  @Test("3.2 One fails, .cancelRemaining: children that finished before keep their outcome")
  func child_failingLate_keepsEarlierOutcomes() async {
    let composite = CompositeOperation(operations: [succeeding(1), failing(TestError.first), succeeding(3)])
    composite.maxConcurrentOperationCount = 1
    _ = await outcomeOfStarting(composite)
    #expect(composite.childOutcomes.map { Ending($0) } == [.success, .failure, .cancelled])
    #expect(composite.childOutcomes[0]?.value as? Int == 1)
    #expect(composite.childOutcomes[1]?.error as? TestError == .first)
    #expect(composite.results as? [Int] == [1])
  }

  @Test("3.2 One fails, .waitForAll: the rest run, and the error holds every failure in child order")
  func child_failingUnderWaitForAll_letsTheRestRun() async throws {
    let recorder = EventRecorder<String>()
    let children = [
      succeeding(0, named: "0", recorder: recorder), failing(TestError.first, named: "1", recorder: recorder),
      succeeding(2, named: "2", recorder: recorder), failing(TestError.second, named: "3", recorder: recorder),
    ]
    let composite = CompositeOperation(operations: children)
    composite.failurePolicy = .waitForAll
    let outcome = await outcomeOfStarting(composite)
    #expect(recorder.events.sorted() == ["0", "1", "2", "3"])
    let failures = try #require(outcome.error as? CompositeError).failures
    #expect(failures.map(\.index) == [1, 3])
    #expect(failures.map(\.operationName) == ["1", "3"])
    #expect(failures.map { $0.error as? TestError } == [.first, .second])
    #expect(composite.errors as? [TestError] == [.first, .second])
    #expect(composite.childOutcomes.map { Ending($0) } == [.success, .failure, .success, .failure])
  }

  @Test("3.2 .waitForAll with failures in the other order of time: still child order")
  func children_failingInReverse_errorsInChildOrder() async {
    let children = (0..<4).map { _ in HeldOperation<Int>() }
    let composite = CompositeOperation(operations: children)
    composite.failurePolicy = .waitForAll
    await onWorker { composite.start() }
    for (number, child) in children.enumerated().reversed() {
      await child.started.wait()
      child.reject(with: TestError("\(number)"))
    }
    _ = await settled(composite)
    #expect(composite.failures.map(\.name) == ["0", "1", "2", "3"])
  }

  @Test("3.2 .cancelRemaining: two that failed before the rest was cancelled are both in the error")
  func children_twoFailing_areBothReported() async {
    let first = HeldOperation<Int>()
    let second = HeldOperation<Int>()
    // Runs before the composite sees the first failure, so the second one is not cancelled yet.
    first.completion = { _ in second.reject(with: TestError.second) }
    let composite = CompositeOperation(operations: [first, second])
    await onWorker { composite.start() }
    await first.started.wait()
    await second.started.wait()
    first.reject(with: TestError.first)
    _ = await settled(composite)
    #expect(composite.failures == [.first, .second])
  }
}

extension CompositeOperation {
  /// The children's errors, where they are test errors.
  var failures: [TestError] { errors.compactMap { $0 as? TestError } }
}
