import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// What can be done to an executing task from outside, and what its handle tells; a workflow that
/// is suspended.
@Suite("4 Executing tasks and suspension", .timeLimit(.minutes(30)))
struct TaskControlTests {
  // MARK: - Settled from outside

  @Test func finish_whileExecuting_countsAndTheAttemptIsDiscarded() async throws {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    let held = workflow.addHeld("held")
    let next = workflow.add("next", after: held.task) { $0 + 1 }
    #expect(!held.task.finish(with: 1) && held.task.state == .ready)
    let run = workflow.makeOperation()
    run.start()
    let attempt = await held.attempt(1)
    #expect(held.task.finish(with: 41))
    #expect(held.task.state == .finished && held.task.result == 41 && attempt.isCancelled)
    #expect(!held.task.finish(with: 2))
    attempt.finish(with: 7)
    #expect(await settled(run).word == "success")
    #expect(next.result == 42 && held.task.result == 41)
    #expect(delegate.events.contains("held discarded 1") && !delegate.events.contains("held cancelled"))
  }

  @Test func reject_whileExecuting_failsAndCanBeRetried() async throws {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let run = workflow.makeOperation()
    run.start()
    let first = await held.attempt(1)
    #expect(held.task.reject(with: TestError.first))
    #expect(held.task.error as? TestError == .first && first.isCancelled)
    // The old attempt has not ended, and takes nothing from the new one.
    held.task.retry()
    let second = await held.attempt(2)
    first.finish(with: 1)
    second.finish(with: 2)
    #expect(await settled(run).word == "success")
    #expect(held.task.result == 2 && !held.task.reject(with: TestError.first))
  }

  @Test func reject_withCancellationError_cancelsAndReachesDependents() async {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let next = workflow.addEmpty("next", after: held.task)
    let run = workflow.makeOperation()
    run.start()
    let attempt = await held.attempt(1)
    #expect(held.task.reject(with: CancellationError()))
    attempt.finish(with: 1)
    #expect(await settled(run).word == "cancelled")
    #expect(held.task.state == .cancelled && next.state == .cancelled)
  }

  @Test func finish_ofWaitingCondition_fulfilsIt() async throws {
    let workflow = Workflow()
    let condition = workflow.addCondition("condition", of: Void.self)
    #expect(!condition.finish() && !condition.isFulfilled)
    let run = workflow.makeOperation()
    run.start()
    await until(condition.state == .executing)
    #expect(condition.finish() && condition.isFulfilled && !condition.fulfill())
    #expect(await settled(run).word == "success")
  }

  @Test func finish_ofSubworkflow_cancelsWhatRunsInIt() async throws {
    let inner = Workflow("inner")
    let held = inner.addHeld("held")
    let workflow = Workflow()
    let task = workflow.addSubworkflow("sub", inner)
    let run = workflow.makeOperation()
    run.start()
    let attempt = await held.attempt(1)
    #expect(task.finish(with: inner))
    #expect(held.task.state == .cancelled && attempt.isCancelled)
    attempt.finish(with: 1)
    #expect(await settled(run).word == "success")
    #expect(task.state == .finished && inner.outcome?.word == "cancelled")
  }

  // MARK: - The attempt under way

  @Test("The operation is the one that the closure made, also in a queue of its own", arguments: [false, true])
  func operation_whileExecuting_isTheClosures(inQueue: Bool) async throws {
    let workflow = Workflow()
    let held = workflow.addHeld("held", operationQueue: inQueue ? OperationQueue() : nil)
    #expect(held.task.operation == nil && held.task.fractionCompleted == 0)
    let run = workflow.makeOperation()
    run.start()
    let attempt = await held.attempt(1)
    await until(held.task.operation != nil)
    #expect(held.task.operation === attempt)
    attempt.reportProgress(0.25)
    #expect(held.task.fractionCompleted == 0.25)
    attempt.finish(with: 1)
    #expect(await settled(run).word == "success")
    #expect(held.task.operation == nil && held.task.fractionCompleted == 1)
    held.task.reset()
    #expect(held.task.fractionCompleted == 0)
  }

  @Test func fraction_ofSubworkflow_isThatOfItsRun() async throws {
    let inner = Workflow("inner")
    let first = inner.addEmpty("first")
    let held = inner.addHeld("held", after: first)
    let workflow = Workflow()
    let task = workflow.addSubworkflow("sub", inner)
    let run = workflow.makeOperation()
    run.start()
    let attempt = await held.attempt(1)
    #expect(task.fractionCompleted == 0.5)
    attempt.finish(with: 1)
    #expect(await settled(run).word == "success" && task.fractionCompleted == 1)
  }

  @Test func add_withPriorityAndQuality_runsTheClosureSo() async throws {
    let workflow = Workflow()
    let task = workflow.add("plain", priority: .background) { Task.currentPriority }
    let keyed = workflow.add("keyed", qualityOfService: .userInitiated) { _ in Task.currentPriority }
    try await workflow.run()
    #expect(task.result == .background && keyed.result == .userInitiated)
  }

  // MARK: - Suspension

  @Test func suspended_startsNothing_andGoesOn() async throws {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let calls = Locked(0)
    let next = workflow.add("next", after: held.task) { value in
      calls.increment()
      return value + 1
    }
    let run = workflow.makeOperation()
    run.start()
    let attempt = await held.attempt(1)
    workflow.isSuspended = true
    attempt.finish(with: 1)
    await until(held.task.state == .finished)
    for _ in 0..<1_000 { await Task.yield() }
    #expect(workflow.isSuspended && next.state == .ready && workflow.isRunning && calls.current == 0)
    workflow.isSuspended = false
    #expect(await settled(run).word == "success")
    #expect(next.result == 2)
  }

  @Test func suspendedBeforeTheStart_waits_andCanBeCancelled() async {
    let workflow = Workflow()
    let calls = Locked(0)
    let task = workflow.add("task") { calls.increment() }
    let condition = workflow.addCondition("condition", of: Int.self)
    workflow.isSuspended = true
    let run = workflow.makeOperation()
    run.start()
    await until(condition.state == .executing)
    #expect(task.state == .ready)
    run.cancel()
    #expect(await settled(run).word == "cancelled")
    #expect(calls.current == 0 && task.state == .cancelled)
  }

  @Test("Suspended while another thread resumes it or sets its limit, it starts nothing that is added then")
  func suspended_whileAnotherThreadResumes_startsNothing() async {
    for round in 0..<Scale.count(2_000, least: 50) {
      let inner = Workflow("inner")
      let held = inner.addHeld("held")
      let late = inner.addEmpty("late")
      let outer = Workflow("outer")
      outer.addSubworkflow("inner", inner)
      let suspended = round % 2 == 0 ? inner : outer
      held.task.start()
      let operation = await held.attempt(1)
      await withTaskGroup(of: Void.self) { group in
        group.addTask { suspended.isSuspended = false }
        group.addTask { inner.maxConcurrentOperationCount = 2 }
        group.addTask {
          suspended.isSuspended = true
          late.start()
        }
      }
      // If it still is, it was suspended after the other thread had resumed it, and then started.
      if suspended.isSuspended {
        await Task.yield()
        #expect(late.attempt == 0)
      }
      suspended.isSuspended = false
      operation.finish(with: 1)
      await inner.untilIdle()
      #expect(inner.states == [.finished, .finished])
    }
  }

  @Test("Workflows inside are suspended with the one around them, whenever they were added")
  func suspended_reachesWorkflowsInside() async throws {
    let innermost = Workflow("innermost")
    let held = innermost.addHeld("held")
    let last = innermost.add("last", after: held.task) { $0 }
    let middle = Workflow("middle")
    middle.addSubworkflow("innermost", innermost)
    let outer = Workflow("outer")
    outer.addSubworkflow("middle", middle)
    let late = Workflow("late")
    let lateTask = late.add("late") { 1 }
    let run = outer.makeOperation()
    run.start()
    let attempt = await held.attempt(1)
    outer.isSuspended = true
    outer.addSubworkflow("late", late)
    attempt.finish(with: 1)
    await until(held.task.state == .finished)
    for _ in 0..<1_000 { await Task.yield() }
    #expect(last.state == .ready && lateTask.state == .ready)
    // What is suspended by itself stays so.
    innermost.isSuspended = true
    #expect(!middle.isSuspended)
    outer.isSuspended = false
    await until(lateTask.state == .finished)
    #expect(last.state == .ready && outer.isRunning)
    innermost.isSuspended = false
    #expect(await settled(run).word == "success")
  }
}
