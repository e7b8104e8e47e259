import CompositeOperations
import Foundation
import TestSupport
import Testing

/// The outcome is readable, then `completion`, then `isFinished` and its observers, then the parent
/// and awaiting tasks.
@Suite("3.1.2 The order in which settling shows", .hangLimit)
struct OrderTests {
  @Test("3.1.2 In completion the outcome is readable and isFinished is still false")
  func completion_whileRunning_seesOutcomeButNotFinished() {
    let operation = HeldOperation<Int>()
    let seen = Locked<(value: Int?, isFinished: Bool)?>(nil)
    operation.completion = { [unowned operation] _ in
      seen.withLock { $0 = (operation.outcome?.value, operation.isFinished) }
    }
    operation.start()
    operation.finish(with: 3)
    #expect(seen.withLock { $0?.value } == 3)
    #expect(seen.withLock { $0?.isFinished } == false)
    #expect(operation.isFinished)
    #expect(!operation.isExecuting)
  }

  @Test("3.1.2 completion is given the outcome that is readable, for each kind of outcome")
  func completion_isGivenTheOutcome() {
    for settling in Settling.allCases {
      let operation = HeldOperation<String>()
      let spy = CompletionSpy<String>()
      operation.completion = spy.completion
      operation.start()
      _ = settling.apply(to: operation, value: "value", error: .first)
      #expect(spy.count == 1)
      #expect(spy.outcomes.first?.value == operation.result)
      #expect(spy.outcomes.first?.error as? TestError == operation.error as? TestError)
      #expect(spy.outcomes.first?.isCancelled == operation.outcome?.isCancelled)
    }
  }

  @Test("3.1.2 waitUntilFinished returns after completion ran")
  func waitUntilFinished_returns_afterCompletion() async {
    for _ in 0..<200 {
      let operation = HeldOperation<Int>()
      let completed = Locked(false)
      operation.completion = { _ in completed.withLock { $0 = true } }
      operation.start()
      async let seen = onThread {
        operation.waitUntilFinished()
        return completed.current
      }
      DispatchQueue.global().async { operation.finish(with: 1) }
      #expect(await seen)
    }
  }

  @Test("3.1.2 waitUntilAllOperationsAreFinished returns after every completion ran")
  func waitForQueue_returns_afterCompletions() async {
    let queue = OperationQueue()
    let completed = Locked(0)
    let operations = (0..<100).map { number in
      let operation = succeeding(number)
      operation.completion = { _ in completed.increment() }
      return operation
    }
    queue.add(operations)
    let seen = await onWorker {
      queue.waitUntilAllOperationsAreFinished()
      return completed.current
    }
    #expect(seen == 100)
  }

  @Test("3.1.2 A dependent starts after completion ran and isFinished is true")
  func dependent_starts_afterCompletion() async {
    let recorder = EventRecorder<String>()
    let operation = succeeding(1)
    operation.completion = { _ in recorder.record("completion") }
    let dependent = BlockOperation { [unowned operation] in
      recorder.record("dependent, finished \(operation.isFinished)")
    }
    dependent.addDependency(operation)
    let queue = OperationQueue()
    queue.addOperation(dependent)
    queue.addOperation(operation)
    await finished(dependent)
    #expect(recorder.events == ["completion", "dependent, finished true"])
  }

  @Test("3.1.2 The queue's slot is free only after completion ran")
  func serialQueue_startsNext_afterCompletion() async {
    let recorder = EventRecorder<String>()
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    let operations = (0..<20).map { number in
      let operation = succeeding(number, named: "main \(number)", recorder: recorder)
      operation.completion = { _ in recorder.record("completion \(number)") }
      return operation
    }
    queue.add(operations)
    await finished(operations[19])
    #expect(recorder.events == (0..<20).flatMap { ["main \($0)", "completion \($0)"] })
  }

  @Test("3.1.2 The parent composite continues after the child's completion, when the child is finished")
  func parent_isTold_afterChildIsFinished() async {
    let recorder = EventRecorder<String>()
    let children = (0..<3).map { number in
      let child = succeeding(number)
      child.completion = { _ in recorder.record("child") }
      return child
    }
    let composite = CompositeOperation(operations: children)
    composite.completion = { _ in
      recorder.record("composite, children finished \(children.allSatisfy(\.isFinished))")
    }
    _ = await outcomeOfStarting(composite)
    #expect(recorder.events == ["child", "child", "child", "composite, children finished true"])
  }

  @Test("3.1.2 A sequence delegate is asked after the step's completion, when the step is finished")
  func delegate_isAsked_afterStepIsFinished() async {
    let recorder = EventRecorder<String>()
    let sequence = ClosureSequence { previous in
      recorder.record(previous.map { "asked, finished \($0.isFinished)" } ?? "asked first")
      guard previous == nil else { return nil }
      let step = succeeding(1)
      step.completion = { _ in recorder.record("completion") }
      return step
    }
    _ = await outcomeOfStarting(CompositeOperation(sequence: sequence))
    #expect(recorder.events == ["asked first", "completion", "asked, finished true"])
  }

  @Test("3.1.2 An awaiting task resumes after completion ran, when the operation is finished")
  func awaitingTask_resumes_afterFinished() async throws {
    for _ in 0..<100 {
      let operation = HeldOperation<Int>()
      let spy = CompletionSpy<Int>()
      operation.completion = spy.completion
      operation.start()
      let waiter = Task {
        _ = try await operation.value
        return (spy.count, operation.isFinished)
      }
      DispatchQueue.global().async { operation.finish(with: 1) }
      let (count, isFinished) = try await waiter.value
      #expect(count == 1)
      #expect(isFinished)
    }
  }

  @Test("3.1.2 The completion of map's upstream runs before the transform")
  func transform_runs_afterUpstreamCompletion() async {
    let recorder = EventRecorder<String>()
    let upstream = succeeding(1)
    upstream.completion = { _ in recorder.record("completion") }
    let mapped = upstream.map { [unowned upstream] in
      recorder.record("transform, finished \(upstream.isFinished)")
      return $0
    }
    _ = await outcomeOfStarting(mapped)
    #expect(recorder.events == ["completion", "transform, finished true"])
  }
}
