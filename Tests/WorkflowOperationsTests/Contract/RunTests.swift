import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Runs, and what a workflow comes to.
@Suite("4 Runs and outcomes", .timeLimit(.minutes(30)))
struct RunTests {
  @Test("An empty workflow succeeds, again and again")
  func run_withoutTasks_succeeds() async throws {
    let workflow = Workflow()
    #expect(workflow.outcome == nil && !workflow.hasUnfinishedTasks && workflow.leaves.isEmpty)
    try await workflow.run()
    #expect(workflow.outcome?.word == "success" && !workflow.hasUnfinishedTasks)
    try await workflow.run()
    workflow.start()
    #expect(workflow.outcome?.word == "success")
  }

  @Test("A run whose operation is settled by other code is cancelled")
  func settle_ofItsOperation_cancelsTheRun() async {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let operation = workflow.makeOperation()
    await onWorker { operation.start() }
    let attempt = await held.attempt(1)
    #expect(operation.finish(with: workflow))
    #expect(attempt.isCancelled)
    attempt.settle(with: .cancelled)
    await workflow.untilIdle()
    #expect(held.task.state == .cancelled && operation.result === workflow)
  }

  @Test(
    "Independent branches go on after a failure; the error has every failure, and every blocked task with its cause")
  func run_withFailures_tellsAll() async throws {
    let workflow = Workflow("Order")
    let bad = workflow.addScripted("bad", [.failure(TestError.first)])
    let good = workflow.addScripted("good", [])
    let blocked = workflow.addEmpty("blocked", after: bad, good)
    let afterBlocked = workflow.addEmpty("after blocked", after: blocked)
    let worse = workflow.addScripted("worse", [.failure(TestError.second)], after: good)
    let both = workflow.addEmpty("both", after: worse, bad)
    let cancelled = workflow.addScripted("cancelled", [.cancelled], after: good)
    let last = workflow.addEmpty("last", after: good)
    let error = try #require(await workflow.outcomeOfRun().error as? WorkflowError)
    #expect(error.failures.map(\.task) == [bad, worse])
    #expect(error.failures.map { $0.error as? TestError } == [.first, .second])
    #expect(error.blocked.map(\.task) == [blocked, afterBlocked, both])
    #expect(error.blocked.map(\.cause) == [bad, bad, bad])
    #expect(last.state == .finished && cancelled.state == .cancelled && blocked.state == .pending)
    #expect(workflow.hasFailedTasks && workflow.hasUnfinishedTasks)
    #expect(
      "\(error)" == """
        The workflow “Order” failed: 2 of its tasks failed, and 3 cannot run.
          “bad” failed: test error first
          “worse” failed: test error second
          “blocked” is blocked by “bad”
          “after blocked” is blocked by “bad”
          “both” is blocked by “bad”
        """)
  }

  @Test("A cancelled task blocks what was retried without it, and is named as the cause")
  func blocked_byCancelledTask_namesIt() async throws {
    let workflow = Workflow()
    let first = workflow.addScripted("first", [.cancelled])
    let second = workflow.addScripted("second", [.failure(TestError.first)])
    let both = workflow.addEmpty("both", after: first, second)
    _ = await workflow.outcomeOfRun()
    #expect(both.state == .cancelled)
    both.retry()
    await workflow.untilIdle()
    let error = try #require(workflow.error)
    #expect(error.blocked.map(\.task) == [both] && error.blocked.map(\.cause) == [first])
  }

  @Test("cancelRemaining cancels everything at the first failure; the outcome is the failure")
  func run_cancelRemaining_cancelsTheRest() async throws {
    let workflow = Workflow()
    workflow.failurePolicy = .cancelRemaining
    let held = workflow.addHeld("held")
    let condition = workflow.addCondition("condition", of: Int.self)
    let after = workflow.addEmpty("after", after: held.task)
    let gate = workflow.addHeld("gate")
    workflow.start()
    let operation = await held.attempt(1)
    await gate.attempt(1).reject(with: TestError.first)
    await operation.cancelRequested.wait()
    #expect(workflow.outcome == nil && workflow.isRunning)
    #expect(workflow.states == [.cancelled, .cancelled, .cancelled, .failed])
    operation.finish(with: 1)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "failure")
    #expect(workflow.error?.failures.map(\.task) == [gate.task] && workflow.error?.blocked.isEmpty == true)
    _ = (condition, after)
  }

  @Test("cancel() ends the run as cancelled when what is under way has settled")
  func cancel_whileRunning_settlesCancelled() async {
    let workflow = Workflow()
    let done = workflow.addEmpty("done")
    let held = workflow.addHeld("held", after: done)
    let after = workflow.addEmpty("after", after: held.task)
    async let outcome = workflow.outcomeOfRun()
    let operation = await held.attempt(1)
    workflow.cancel()
    #expect(workflow.states == [.finished, .cancelled, .cancelled])
    #expect(operation.isCancelled && workflow.outcome == nil && workflow.isRunning)
    operation.finish(with: 1)
    #expect(await outcome.isCancelled)
    #expect(workflow.outcome?.word == "cancelled" && after.outcome?.isCancelled == true)
  }

  @Test("Started again while its operations end, a cancelled run has nothing to start, and ends as cancelled")
  func start_whileACancelledRunEnds_staysCancelled() async {
    let workflow = Workflow()
    let bad = workflow.addScripted("bad", [.failure(TestError.first)])
    let held = workflow.addHeld("held")
    async let outcome = workflow.outcomeOfRun()
    let operation = await held.attempt(1)
    await until(bad.state == .failed)
    workflow.cancel()
    workflow.start()
    let joined = workflow.makeOperation()
    await onWorker { joined.start() }
    operation.finish(with: 1)
    #expect(await outcome.isCancelled)
    #expect(await settled(joined).isCancelled)
    #expect(workflow.outcome?.word == "cancelled")
  }

  @Test(
    "A task that is added after start() of a run that ends, cancelled or because of a failure, runs",
    arguments: [false, true])
  func add_afterStartOfAnEndingRun_runs(fails: Bool) async {
    let workflow = Workflow()
    workflow.failurePolicy = .cancelRemaining
    let held = workflow.addHeld("held")
    let gate = workflow.addHeld("gate")
    workflow.start()
    let (operation, other) = (await held.attempt(1), await gate.attempt(1))
    if fails { other.reject(with: TestError.first) } else { workflow.cancel() }
    await operation.cancelRequested.wait()
    workflow.start()
    let late = workflow.addEmpty("late")
    await until(late.state == .finished)
    operation.finish(with: 1)
    other.finish(with: 1)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == (fails ? "failure" : "cancelled"))
  }

  @Test("Cancelling the task that awaits run() cancels the run that began there")
  func run_taskCancelled_cancelsRun() async {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let running = Task { await workflow.outcomeOfRun() }
    let operation = await held.attempt(1)
    running.cancel()
    await operation.cancelRequested.wait()
    #expect(held.task.state == .cancelled)
    operation.finish(with: 1)
    #expect(await running.value.isCancelled)
    #expect(workflow.outcome?.word == "cancelled")
  }

  @Test("A second run joins the first; cancelling it cancels nothing")
  func run_whileRunning_joins() async throws {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    async let first = workflow.outcomeOfRun()
    let operation = await held.attempt(1)
    let second = workflow.makeOperation()
    let third = workflow.makeOperation()
    await onWorker {
      second.start()
      third.start()
    }
    second.cancel()
    #expect(second.outcome?.isCancelled == true)
    #expect(held.task.state == .executing && third.outcome == nil)
    operation.finish(with: 1)
    #expect(try await third.value === workflow)
    #expect(await first.word == "success")
    #expect(held.operations.count == 1)
  }

  @Test("An operation keeps the outcome of its run, whatever happens to the workflow")
  func makeOperation_keepsItsOutcome() async throws {
    let workflow = Workflow()
    workflow.addScripted("flaky", [.failure(TestError.first)])
    let first = workflow.makeOperation()
    #expect(await outcomeOfStarting(first).word == "failure")
    workflow.retry()
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
    #expect(first.outcome?.word == "failure")
    workflow.reset()
    #expect(workflow.outcome == nil && first.outcome?.word == "failure")
  }

  @Test("An operation that is cancelled before it starts leaves the workflow alone")
  func makeOperation_cancelledBeforeStart_runsNothing() async {
    let workflow = Workflow()
    let task = workflow.addEmpty()
    let operation = workflow.makeOperation()
    operation.cancel()
    #expect(await outcomeOfStarting(operation).isCancelled)
    #expect(task.state == .ready && workflow.outcome == nil)
  }

  @Test("A run that failed fails again with the same error when it is started again, until something is retried")
  func start_afterFailure_settlesAgain() async {
    let workflow = Workflow()
    let task = workflow.addScripted("flaky", [.failure(TestError.first)])
    _ = await workflow.outcomeOfRun()
    #expect(await workflow.outcomeOfRun().word == "failure")
    #expect(task.attempt == 1)
    workflow.retry()
    #expect(workflow.outcome == nil || task.attempt == 2)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success" && task.attempt == 2 && task.result == 2)
  }

  @Test("A task started alone runs with those after it; the run then pauses, and start() goes on")
  func start_ofOneTask_runsItsBranch() async {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    let first = workflow.addEmpty("first")
    let second = workflow.addEmpty("second", after: first)
    let other = workflow.addEmpty("other")
    #expect(first.start())
    await delegate.events.wait(for: "workflow paused")
    #expect(workflow.states == [.finished, .finished, .ready])
    #expect(workflow.outcome == nil)
    workflow.start()
    await delegate.events.wait(for: "workflow finished")
    #expect(other.state == .finished)
    #expect(!first.start() && !second.retry())
  }

  @Test("Dates: an attempt has a start, a finished or failed one an end, a cancelled one none; reset takes both")
  func dates_followTheState() async throws {
    let workflow = Workflow()
    let good = workflow.addEmpty("good")
    let bad = workflow.addScripted("bad", [.failure(TestError.first)])
    #expect(good.startDate == nil && good.finishDate == nil && workflow.startDate == nil)
    _ = await workflow.outcomeOfRun()
    for task in [good, bad] as [AnyWorkflowTask] {
      let (start, end) = (try #require(task.startDate), try #require(task.finishDate))
      #expect(start <= end)
    }
    #expect(workflow.startDate != nil && workflow.finishDate != nil)
    good.reset()
    #expect(good.startDate == nil && good.finishDate == nil && bad.finishDate != nil)
    good.cancel()
    #expect(good.state == .cancelled && good.finishDate == nil)
    bad.retry()
    #expect(bad.finishDate == nil || bad.attempt == 2)
  }

  @Test("The text of a nested error indents each workflow once, up to forty levels")
  func error_nested_isBounded() async {
    func text(levels: Int) async -> String {
      var workflow = Workflow("0")
      workflow.addScripted("leaf", [.failure(TestError.first)])
      for level in 1..<levels {
        let outer = Workflow("\(level)")
        outer.addSubworkflow("inside", workflow)
        workflow = outer
      }
      let operation = workflow
      _ = await operation.outcomeOfRun()
      return "\(workflow.error!)"
    }
    #expect(
      await text(levels: 3) == """
        The workflow “2” failed: 1 of its tasks failed.
          “inside” failed: The workflow “1” failed: 1 of its tasks failed.
            “inside” failed: The workflow “0” failed: 1 of its tasks failed.
              “leaf” failed: \(TestError.first)
        """)
    #expect(await text(levels: 40).contains("“leaf” failed: \(TestError.first)"))
    #expect(
      await text(levels: 41).hasSuffix("“inside” failed: … 1 level further in: “leaf” failed: \(TestError.first)"))
    #expect(
      await text(levels: 1_250).hasSuffix(
        "“inside” failed: … 1210 levels further in: “leaf” failed: \(TestError.first)"))
    #expect(await text(levels: 1_250).count < 10_000)
  }
  @Test("The text of workflows in composites in workflows indents each once, and is bounded")
  func error_mixedWithComposites_isBounded() async {
    func text(levels: Int) async -> String {
      var workflow = Workflow("0")
      workflow.addScripted("leaf", [.failure(TestError.first)])
      for level in 1..<levels {
        let inner = workflow
        workflow = Workflow("\(level)")
        workflow.add("both") { _ in
          CompositeOperation(operations: [inner.makeOperation(), SimpleOperation<Void> { $0.finish() }])
        }
      }
      _ = await workflow.outcomeOfRun()
      return "\(workflow.error!)"
    }
    #expect(
      await text(levels: 2) == """
        The workflow “1” failed: 1 of its tasks failed.
          “both” failed: 1 operation failed
            [0] “0”: The workflow “0” failed: 1 of its tasks failed.
              “leaf” failed: \(TestError.first)
        """)
    let deep = await text(levels: 200)
    #expect(deep.hasSuffix("further in: “leaf” failed: \(TestError.first)") && deep.utf8.count < 10_000)
  }
}
