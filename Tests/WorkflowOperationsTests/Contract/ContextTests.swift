import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import WorkflowOperations

@Suite("4 Task-local values of workflows", .timeLimit(.minutes(30))) struct ContextTests {
  init() { Request.registration }

  /// A workflow of two tasks, an operation and async work, whose code is noted.
  private func makeWorkflow(_ seen: SeenRequests) -> Workflow {
    let workflow = Workflow("noted")
    let first = workflow.add("first") {
      seen.note("closure")
      return SimpleOperation {
        seen.note("body")
        return 1
      }
    }
    let second = workflow.add("second", after: first) { number in
      seen.note("async work")
      return number
    }
    second.didFinish = { _, _ in seen.note("hook") }
    workflow.report(to: NotingSink(seen: seen))
    return workflow
  }

  private let places: Set<String> = ["closure", "body", "async work", "hook", "sink", "delegate"]

  @Test(arguments: ["start", "run", "makeOperation", "in a composition"])
  func run_hasTheValuesOfWhoRuns(how: String) async throws {
    let seen = SeenRequests()
    let workflow = Request.with(9) { makeWorkflow(seen) }
    let delegate = NotingDelegate(seen: seen)
    workflow.delegate = delegate
    switch how {
    case "start":
      Request.with(1) { workflow.start() }
      await workflow.untilIdle()
    case "run": try await Request.with(1) { try await workflow.run() }
    case "makeOperation":
      let operation = Request.with(1) { workflow.makeOperation() }
      await Request.elsewhere(2) { operation.start() }
      _ = try await operation.value
    default:
      let operation = Request.$tenant.withValue("tenant 1") { workflow.makeOperation() }
      let composite = Request.with(1) { CompositeOperation(operations: [operation]) }
      await Request.elsewhere(2) { composite.start() }
      _ = try await composite.value
    }
    #expect(workflow.outcome?.value != nil)
    #expect(seen.places == places)
    #expect(seen.others(than: 1) == [])
  }

  @Test func secondRun_hasTheValuesOfItsOwn() async throws {
    let (first, second) = (SeenRequests(), SeenRequests())
    let current = Locked(first)
    let workflow = Workflow()
    workflow.add { current.current.note("work") }
    try await Request.with(1) { try await workflow.run() }
    current.withLock { $0 = second }
    workflow.reset()
    try await Request.with(2) { try await workflow.run() }
    #expect(first.places == ["work"] && first.others(than: 1) == [])
    #expect(second.places == ["work"] && second.others(than: 2) == [])
  }

  @Test func fulfilledByAnother_andAddedMeanwhile_haveTheValuesOfTheRun() async throws {
    let seen = SeenRequests()
    let workflow = Workflow()
    let condition = workflow.addCondition("condition", of: Int.self)
    condition.didFinish = { _, _ in seen.note("hook of the condition") }
    workflow.add("after", after: condition) { _ in seen.note("after the condition") }
    Request.with(1) { workflow.start() }
    await Request.elsewhere(2) {
      workflow.add("added") { seen.note("added") }
      condition.fulfill(with: 1)
    }
    await workflow.untilIdle()
    #expect(seen.places == ["hook of the condition", "after the condition", "added"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func retriedByAnother_duringTheRun_thatTaskAndItsDependentsHaveTheirValues() async throws {
    let (retried, rest) = (SeenRequests(), SeenRequests())
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let attempts = Locked(0)
    let failing = workflow.add("failing") { () throws -> Int in
      if attempts.increment() == 1 { throw TestError.first }
      retried.note("the task")
      return 1
    }
    failing.didRetry = { _ in retried.note("hook") }
    workflow.add("dependent", after: failing) { _ in retried.note("the dependent") }
    workflow.add("other", after: held.task) { _ in rest.note("another task") }
    Request.with(1) { workflow.start() }
    await until(failing.state == .failed)
    await Request.elsewhere(2) { _ = failing.retry() }
    await until(failing.state == .finished)
    await held.attempt(1).finish(with: 1)
    await workflow.untilIdle()
    #expect(retried.places == ["hook", "the task", "the dependent"])
    #expect(retried.others(than: 2) == [])
    #expect(rest.places == ["another task"])
    #expect(rest.others(than: 1) == [])
  }

  @Test func retriedByAnother_afterTheRun_hasTheirValues() async {
    let seen = SeenRequests()
    let attempts = Locked(0)
    let workflow = Workflow()
    let inner = Workflow("inner")
    inner.add("failing") {
      if attempts.increment() == 1 { throw TestError.first }
      seen.note("inner task")
    }
    let task = workflow.addSubworkflow("sub", inner)
    workflow.add("dependent", after: task) { _ in seen.note("dependent") }
    Request.with(1) { workflow.start() }
    await workflow.untilIdle()
    await Request.elsewhere(2) { _ = inner.retry() }
    await until(workflow.outcome?.value != nil)
    #expect(seen.places == ["inner task", "dependent"])
    #expect(seen.others(than: 2) == [])
  }

  @Test func cancelledAndResetByAnother_hooksAndDelegateSeeTheValuesOfTheRun() async {
    let seen = SeenRequests()
    let workflow = Workflow()
    let delegate = NotingDelegate(seen: seen)
    workflow.delegate = delegate
    let held = workflow.addHeld("held")
    held.task.didCancel = { _ in seen.note("didCancel") }
    held.task.didReset = { _ in seen.note("didReset") }
    Request.with(1) { workflow.start() }
    await until(held.task.state == .executing)
    await Request.elsewhere(2) { _ = workflow.cancel() }
    await Request.elsewhere(3) { _ = workflow.reset() }
    await held.attempt(1).settle(with: .cancelled)
    await workflow.untilIdle()
    #expect(seen.places == ["didCancel", "didReset", "delegate"])
    #expect(seen.others(than: 1) == [])
  }

  @Test func discardedAttempt_ofACancelledRun_hasTheValuesOfThatRun() async {
    let seen = SeenRequests()
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    workflow.report(to: ClosureSink { event in if event.kind.rawValue == "discarded" { seen.note("discarded") } })
    let first = Request.with(1) { workflow.makeOperation() }
    await onWorker { first.start() }
    await until(held.task.state == .executing)
    let old = await held.attempt(1)
    await Request.elsewhere(3) { first.cancel() }
    workflow.reset()
    Request.with(2) { workflow.start() }
    await until(held.task.state == .executing)
    await onWorker { _ = old.finish(with: 1) }
    _ = await settled(first)
    await held.attempt(2).finish(with: 1)
    await workflow.untilIdle()
    #expect(seen.places == ["discarded"])
    #expect(seen.others(than: 1) == [])
  }

  @Test(arguments: [false, true]) func operationOfFoundation_hasTheValuesOfTheRun(isRetried: Bool) async throws {
    let seen = SeenRequests()
    let workflow = Workflow()
    let attempts = Locked(0)
    let task = workflow.add {
      let fails = isRetried && attempts.increment() == 1
      return ConformingOperation<Int> {
        if !fails { seen.note("body") }
        return fails ? .failure(TestError.first) : .success(1)
      }
    }
    Request.with(isRetried ? 2 : 1) { workflow.start() }
    await workflow.untilIdle()
    if isRetried {
      await Request.elsewhere(1) { _ = task.retry() }
      await until(task.state == .finished)
    }
    #expect(seen.places == ["body"])
    #expect(seen.others(than: 1) == [])
  }

  /// A value whose release uses a workflow, as code of the user may.
  private final class Using: Sendable {
    @TaskLocal static var current: Using?
    let workflow: Workflow
    let released: EventRecorder<Int>

    init(_ workflow: Workflow, _ released: EventRecorder<Int>) { (self.workflow, self.released) = (workflow, released) }

    deinit { released.record(workflow.tasks.count) }
  }

  @Test func values_releasedByTheNextRun_mayUseTheWorkflow() async throws {
    OperationContext.propagate(Using.$current)
    let (workflow, released) = (Workflow(), EventRecorder<Int>())
    let operations = Locked<[() -> Operation?]>([])
    @Sendable func noted<O: Operation>(_ operation: O) -> O {
      operations.withLock { all in all.append { [weak operation] in operation } }
      return operation
    }
    workflow.add { noted(SimpleOperation<Void> { $0.finish() }) }
    await onWorker { Using.$current.withValue(Using(workflow, released)) { noted(workflow.makeOperation()).start() } }
    await until(workflow.outcome?.value != nil)
    // Then only the workflow has the value.
    await until(operations.withLock { all in all.count == 2 && all.allSatisfy { $0() == nil } })
    workflow.reset()
    workflow.start()
    await released.wait(forCount: 1)
    #expect(released.events == [1])
  }

  @Test func operationOfOthers_keepsItsValues() async {
    let seen = SeenRequests()
    let shared = HeldOperation<Int>()
    shared.completion = { _ in seen.note("completion") }
    await onWorker { shared.start() }
    let workflow = Workflow()
    workflow.add { shared }
    Request.with(2) { workflow.start() }
    await until(workflow.isRunning)
    await Request.elsewhere(3) { shared.finish(with: 1) }
    await workflow.untilIdle()
    #expect(seen.places == ["completion"])
    #expect(seen.some == [])
  }

  @Test func subworkflowRetriedByAnother_itsHooksSeeTheirValues() async {
    let seen = SeenRequests()
    let attempts = Locked(0)
    let inner = Workflow("inner")
    let failing = inner.add("failing") { if attempts.increment() == 1 { throw TestError.first } }
    failing.didRetry = { _ in seen.note("didRetry") }
    failing.didFinish = { _, _ in seen.note("didFinish") }
    inner.report(
      to: ClosureSink { event in if event.kind == .retrying || event.kind == .succeeded { seen.note("sink") } })
    let workflow = Workflow()
    let task = workflow.addSubworkflow("sub", inner)
    Request.with(1) { workflow.start() }
    await workflow.untilIdle()
    await Request.elsewhere(2) { _ = task.retry() }
    await until(workflow.outcome?.value != nil)
    #expect(seen.places == ["didRetry", "didFinish", "sink"])
    #expect(seen.others(than: 2) == [])
  }
}

private final class NotingDelegate: WorkflowDelegate {
  let seen: SeenRequests

  init(seen: SeenRequests) { self.seen = seen }

  func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) { seen.note("delegate") }
}
