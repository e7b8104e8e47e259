import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// What was wrong in Task (TSKWorkflow), and is right here.
@Suite("4 Bugs K1 to K9 of the original", .timeLimit(.minutes(30)))
struct OriginalBugsK01ToK09 {
  @Test("K1 The result of an old attempt is not accepted by a new one, and the old one is told that it is cancelled")
  func k01_attemptsHaveIdentity() async {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    workflow.start()
    let old = await held.attempt(1)
    held.task.reset()
    held.task.start()
    let new = await held.attempt(2)
    #expect(old.isCancelled && !new.isCancelled)
    old.reject(with: TestError.first)
    #expect(held.task.state == .executing)
    new.finish(with: 2)
    await workflow.untilIdle()
    #expect(held.task.result == 2 && old.isCancelled)
  }

  @Test("K2 When a task is seen to have finished, its result and its date are there, too")
  func k02_stateAndResultAreOne() async {
    for _ in 0..<100 {
      let workflow = Workflow()
      let task = workflow.add { succeeding(7) }
      let failing = workflow.addScripted(nil, [.failure(TestError.first)])
      workflow.start()
      while true {
        let isDone = task.state == .finished && failing.state == .failed
        if task.state == .finished, task.result == nil || task.finishDate == nil {
          Issue.record("finished without a result")
        }
        if failing.state == .failed, failing.error == nil { Issue.record("failed without an error") }
        if isDone { break }
        await Task.yield()
      }
    }
  }

  @Test("K3 A condition's callbacks may use the condition")
  func k03_conditionsMayBeUsedFromTheirCallbacks() async {
    let workflow = Workflow()
    let condition = workflow.addCondition("c", of: Int.self)
    let finished = EventRecorder<Int>()
    condition.didFinish = { task, value in
      finished.record(value)
      let condition = task as! ExternalCondition<Int>
      #expect(!condition.fulfill(with: 99))
      if value < 3 {
        condition.reset()
        condition.start()
        condition.fulfill(with: value + 1)
      }
    }
    workflow.start()
    condition.fulfill(with: 1)
    await finished.wait(for: 3)
    await workflow.untilIdle()
    #expect(condition.result == 3 && finished.events == [1, 2, 3])
  }

  @Test("K4 Waiting is not failing, and fulfilling does not start anything that was not started")
  func k04_waitingIsNotFailing() async {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    let condition = workflow.addCondition("c", of: Int.self)
    let after = workflow.add("after", after: condition) { succeeding($0) }
    condition.fulfill(with: 1)
    #expect(!workflow.isRunning && after.state == .pending)
    condition.reset()
    workflow.start()
    #expect(condition.state == .executing && !workflow.hasFailedTasks)
    condition.fulfill(with: 2)
    await workflow.untilIdle()
    #expect(!delegate.events.events.contains("c failed") && after.result == 2)
  }

  @Test("K5 Verbs reach each task of a layered graph once: forty layers of four would be 4^40 visits otherwise")
  func k05_verbsVisitEachTaskOnce() async {
    let workflow = Workflow()
    var layer: [AnyWorkflowTask] = [workflow.addEmpty("root")]
    for _ in 0..<40 { layer = (0..<4).map { _ in workflow.add(unkeyed: layer) { _ in succeeding(1) } } }
    let stream = workflow.events(bufferingPolicy: .unbounded)
    workflow.tasks[0].cancel()
    workflow.tasks[0].retry()
    await workflow.untilIdle()
    var cancelled = 0
    for await event in stream { if event.kind == .cancelled { cancelled += 1 } }
    #expect(cancelled == 161 && workflow.outcome?.word == "success")
  }

  @Test("K6 A start that is still queued does not start what was cancelled or reset in the meantime, nor twice")
  func k06_queuedStartsAreChecked() async {
    let queue = OperationQueue(limit: 1, suspended: true)
    let workflow = Workflow("queued", operationQueue: queue)
    let count = Locked(0)
    let task = workflow.add("task") {
      count.increment()
      return succeeding(1)
    }
    let other = workflow.addEmpty("other")
    for _ in 0..<5 {
      task.start()
      task.reset()
    }
    task.start()
    task.cancel()
    other.start()
    queue.isSuspended = false
    await workflow.untilIdle()
    #expect(count.current == 0 && other.state == .finished && task.state == .cancelled)
    task.retry()
    await workflow.untilIdle()
    #expect(count.current == 1)
  }

  @Test("K7 A workflow without references runs to its end")
  func k07_runningWorkflowKeepsItself() async {
    let done = Gate()
    let held = HeldOperations()
    do {
      let workflow = Workflow()
      let first = workflow.add { held.make() }
      _ = workflow.add(after: first) { _ in
        SimpleOperation<Void> {
          done.open(); $0.finish()
        }
      }
      workflow.start()
    }
    await held.operation(1).finish(with: 1)
    await done.wait()
  }

  @Test("K8 A workflow fails and is cancelled as a whole, says so once, and tells which tasks are blocked")
  func k08_workflowsHaveOutcomes() async {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    let bad = workflow.addScripted("bad", [.failure(TestError.first)])
    let blocked = workflow.addEmpty("blocked", after: bad)
    _ = await workflow.outcomeOfRun()
    #expect(workflow.error?.blocked.first?.task == blocked && workflow.error?.blocked.first?.cause == bad)
    #expect(delegate.events.count(of: "workflow failed") == 1)
    workflow.cancel()
    #expect(await workflow.outcomeOfRun().word == "failure")
    workflow.retry()
    await delegate.events.wait(for: "workflow finished")
    #expect(delegate.events.count(of: "workflow finished") == 1 && workflow.outcome?.word == "success")
  }

  @Test("K9 A task in the middle that is ready is run by start; one that is added after finished ones runs in a run")
  func k09_readyTasksInTheMiddleRun() async throws {
    let workflow = Workflow()
    let first = workflow.addEmpty("first")
    let second = workflow.addEmpty("second", after: first)
    try await workflow.run()
    second.reset()
    try await workflow.run()
    #expect(second.attempt == 2)
    let held = workflow.addHeld("held", after: second)
    workflow.start()
    let operation = await held.attempt(1)
    let late = workflow.addEmpty("late", after: second)
    await until(late.state == .finished)
    operation.finish(with: 1)
    await workflow.untilIdle()
  }
}
