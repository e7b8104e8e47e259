import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// A workflow as a task of another.
@Suite("4 Subworkflows", .timeLimit(.minutes(30)))
struct SubworkflowTests {
  /// A workflow around another one with a first task, whose attempts are scripted, and a second one
  /// after it.
  private func nested(
    _ outcomes: [Outcome<Int>] = []
  ) -> (outer: Workflow, inner: Workflow, task: WorkflowTask<Workflow>, after: WorkflowTask<Void>) {
    let inner = Workflow("inner")
    let first = inner.addScripted("first", outcomes)
    inner.addEmpty("second", after: first)
    let outer = Workflow("outer")
    let before = outer.addEmpty("before")
    let task = outer.addSubworkflow("inner", inner, after: before)
    let after = outer.addEmpty("after", after: task)
    return (outer, inner, task, after)
  }

  @Test("It runs in its turn, and its result is the workflow")
  func run_withSubworkflow_runsIt() async throws {
    let (outer, inner, task, after) = nested()
    #expect(task.name == "inner" && inner.states == [.ready, .pending])
    try await outer.run()
    #expect(task.result === inner && inner.outcome?.word == "success" && after.state == .finished)
  }

  @Test("It fails with the subworkflow's error, and a retry retries what failed in it")
  func failure_inside_failsTheTask() async throws {
    let (outer, inner, task, after) = nested([.failure(TestError.first)])
    let error = try #require(await outer.outcomeOfRun().error as? WorkflowError)
    #expect(error.failures.map(\.task) == [task])
    #expect((error.failures[0].error as? WorkflowError)?.failures.map(\.task) == [inner.tasks[0]])
    #expect(error.blocked.map(\.task) == [after])
    outer.retry()
    await outer.untilIdle()
    #expect(outer.outcome?.word == "success" && inner.tasks.map(\.attempt) == [2, 1] && task.attempt == 2)
  }

  @Test("A cancelled task inside cancels the task and what comes after it; retry heals all")
  func cancel_inside_cancelsTheTask() async {
    let (outer, inner, task, after) = nested([.cancelled])
    #expect(await outer.outcomeOfRun().isCancelled)
    #expect(task.state == .cancelled && after.state == .cancelled && inner.states == [.cancelled, .cancelled])
    task.retry()
    await outer.untilIdle()
    #expect(outer.outcome?.word == "success")
  }

  @Test("cancel, reset and retry of the task reach the subworkflow, whatever it does")
  func verbs_ofTheTask_reachInside() async throws {
    let (outer, inner, task, _) = nested()
    task.cancel()
    #expect(inner.states == [.cancelled, .cancelled])
    task.retry()
    #expect(inner.states == [.ready, .pending])
    outer.start()
    await outer.untilIdle()
    #expect(outer.outcome?.word == "success")
    task.reset()
    #expect(inner.states == [.ready, .pending] && task.state == .ready)
    try await outer.run()
    #expect(inner.tasks.map(\.attempt) == [2, 2])
  }

  @Test("Cancelled while it runs, it is retried while its old run winds down")
  func retry_whileTheOldRunDrains_runsAgain() async {
    let inner = Workflow("inner")
    let held = inner.addHeld("held")
    let outer = Workflow("outer")
    let task = outer.addSubworkflow("inner", inner)
    async let outcome = outer.outcomeOfRun()
    let old = await held.attempt(1)
    task.cancel()
    #expect(old.isCancelled && held.task.state == .cancelled)
    task.retry()
    let new = await held.attempt(2)
    new.finish(with: 2)
    old.finish(with: 1)
    #expect(await outcome.word == "success")
    #expect(held.task.result == 2 && task.state == .finished)
  }

  @Test("Cancelled by the delegate that is told of its second attempt, it stays cancelled, and so does what is inside")
  func cancel_asTheSecondAttemptIsTold_reachesInside() async {
    let inner = Workflow("inner")
    inner.addScripted("part", [.failure(TestError.first)])
    let outer = Workflow("outer")
    let task = outer.addSubworkflow("inner", inner)
    let delegate = EventDelegate { event in
      if event.kind == .started, event.attempt == 2 { event.task?.cancel() }
    }
    outer.delegate = delegate
    #expect(await outer.outcomeOfRun().word == "failure")
    outer.retry()
    await outer.untilIdle()
    #expect(task.state == .cancelled && inner.states == [.cancelled])
    #expect(outer.outcome?.word == "cancelled")
    // What was abandoned leaves nothing behind: it can run again.
    outer.retry()
    await outer.untilIdle()
    #expect(task.state == .finished && inner.states == [.finished] && outer.outcome?.word == "success")
    withExtendedLifetime(delegate) {}
  }

  @Test("Reset and then cancelled while its old run winds down, it stays cancelled when that has ended")
  func cancel_afterResetWhileTheOldRunDrains_stays() async {
    let inner = Workflow("inner")
    let held = inner.addHeld("held")
    let outer = Workflow("outer")
    let task = outer.addSubworkflow("inner", inner)
    async let outcome = outer.outcomeOfRun()
    let old = await held.attempt(1)
    task.reset()
    task.cancel()
    old.finish(with: 1)
    #expect(await outcome.isCancelled)
    #expect(task.state == .cancelled && inner.states == [.cancelled] && outer.outcome?.word == "cancelled")
  }

  @Test("Healed from inside, the task that failed follows, and the outer workflow finishes")
  func retry_inside_isFollowed() async {
    let (outer, inner, task, after) = nested([.failure(TestError.first)])
    _ = await outer.outcomeOfRun()
    #expect(task.state == .failed)
    #expect(inner.tasks[0].retry())
    await until(outer.outcome != nil && after.state == .finished)
    #expect(task.state == .finished && outer.outcome?.word == "success")
  }

  @Test("Reset from inside, the finished task and those after it are reset, too")
  func reset_inside_isFollowed() async throws {
    let (outer, inner, task, after) = nested()
    try await outer.run()
    inner.tasks[1].reset()
    #expect(task.state == .ready && after.state == .pending && inner.states == [.finished, .ready])
    try await outer.run()
    #expect(inner.tasks.map(\.attempt) == [1, 2])
  }

  @Test("Reset from inside when its run has just ended, the task that is about to finish is reset, too")
  func reset_insideAtItsEnd_isFollowed() async throws {
    let (outer, inner, task, after) = nested()
    let runs = Locked(0)
    let delegate = EventDelegate { [weak inner] event in
      if event.kind == .workflowFinished, runs.increment() == 1 { inner?.tasks[1].reset() }
    }
    inner.delegate = delegate
    _ = await outer.outcomeOfRun()
    #expect(inner.states == [.finished, .ready] && task.state == .ready && after.state == .pending)
    #expect(after.attempt == 0 && outer.outcome == nil)
    try await outer.run()
    #expect(inner.tasks.map(\.attempt) == [1, 2] && after.state == .finished)
    withExtendedLifetime(delegate) {}
  }

  @Test(
    "Reset from inside when its run has just ended, the last task is reset, and the run around it ends as cancelled",
    arguments: [false, true], [false, true])
  func reset_insideAtTheEndOfTheLastTask_cancelsTheRun(fails: Bool, isObserved: Bool) async throws {
    let inner = Workflow("inner")
    inner.addScripted("only", fails ? [.failure(TestError.first)] : [])
    let outer = Workflow("outer")
    let task = outer.addSubworkflow("inner", inner)
    let ends = Locked(0)
    let delegate = EventDelegate { [weak inner] event in
      let isEnd = event.kind == .workflowFinished || event.kind == .workflowFailed
      if isEnd, ends.increment() == 1 { inner?.reset() }
    }
    inner.delegate = delegate
    let observer = EventDelegate { _ in }
    if isObserved { outer.delegate = observer }
    #expect(await outer.outcomeOfRun().isCancelled)
    #expect(inner.states == [.ready] && task.state == .ready)
    #expect(outer.outcome == nil && outer.hasUnfinishedTasks)
    try await outer.run()
    #expect(task.state == .finished && task.attempt == 2)
    withExtendedLifetime((delegate, observer)) {}
  }

  @Test("Reset by another thread while its run ends, the task has not finished: it is reset, or ends as cancelled")
  func reset_insideFromAnotherThread_isFollowed() async {
    let complaints = await Race.run(rounds: Scale.count(4_000, least: 200), threads: 2) { _, _ in
      let operation = HeldOperation<Int>()
      let inner = Workflow("inner")
      inner.add("only") { operation }
      let outer = Workflow("outer")
      let task = outer.addSubworkflow("inner", inner)
      outer.start()
      _ = Patience.isReached { operation.started.isOpen }
      return Race.Round(bodies: [{ operation.finish(with: 1) }, { inner.reset() }]) {
        _ = Patience.isReached { !inner.isRunning && !outer.isRunning }
        let isRight = inner.states == [.ready] && (task.state == .ready || task.state == .cancelled)
        return complaint("\(outer.debugDescription)\n\(inner.debugDescription)", unless: isRight)
      }
    }
    #expect(complaints == [])
  }

  @Test("Healed from inside when its run has just failed, the task that is about to fail follows")
  func retry_insideAtItsEnd_isFollowed() async {
    let (outer, inner, task, after) = nested([.failure(TestError.first)])
    let delegate = EventDelegate { [weak inner] event in
      if event.kind == .workflowFailed { inner?.tasks[0].retry() }
    }
    inner.delegate = delegate
    _ = await outer.outcomeOfRun()
    await until(outer.outcome != nil && after.state == .finished)
    #expect(task.state == .finished && outer.outcome?.word == "success")
    #expect(inner.tasks.map(\.attempt) == [2, 1] && task.attempt == 2)
    withExtendedLifetime(delegate) {}
  }

  @Test("Healed from inside and cancelled, before all that its failure caused is done, the task stays cancelled")
  func retriedAndCancelled_whileItsFailureIsTold_staysCancelled() async {
    let (outer, inner, task, _) = nested([.failure(TestError.first)])
    let failures = Locked(0)
    let delegate = EventDelegate { [weak inner] event in
      guard event.kind == .failed, failures.increment() == 1, let inner else { return }
      // The task follows, and waits until its start has been told.
      inner.retry()
      while inner.isRunning { sched_yield() }
      task.cancel()
    }
    outer.delegate = delegate
    #expect(await outer.outcomeOfRun().word != "success")
    await outer.untilIdle()
    #expect(inner.states == [.finished, .finished] && outer.states == [.finished, .cancelled, .cancelled])
    withExtendedLifetime(delegate) {}
  }

  @Test("Started again from inside when its run has just failed, and retried only before, the task stays failed")
  func start_insideAtItsEnd_isNotFollowed() async {
    let (outer, inner, task, _) = nested([.failure(TestError.first), .failure(TestError.second)])
    _ = await inner.outcomeOfRun()
    inner.retry()
    await inner.untilIdle()
    let delegate = EventDelegate { [weak inner] event in
      guard event.kind == .workflowFailed, let inner, inner.tasks.count == 2 else { return }
      inner.addEmpty("late")
      inner.start()
    }
    inner.delegate = delegate
    #expect(await outer.outcomeOfRun().word == "failure")
    await inner.untilIdle()
    #expect(task.state == .failed && task.attempt == 1 && inner.states == [.failed, .pending, .finished])
    withExtendedLifetime(delegate) {}
  }

  @Test("Reset and started from inside when its run has just ended, the task that is about to finish is reset")
  func resetAndStart_insideAtItsEnd_isFollowed() async {
    let (outer, inner, task, after) = nested()
    let runs = Locked(0)
    let delegate = EventDelegate { [weak inner] event in
      guard event.kind == .workflowFinished, runs.increment() == 1 else { return }
      inner?.reset()
      inner?.start()
    }
    inner.delegate = delegate
    _ = await outer.outcomeOfRun()
    await inner.untilIdle()
    await outer.untilIdle()
    #expect(inner.states == [.finished, .finished])
    #expect(task.state == .ready && after.state == .pending)
    withExtendedLifetime(delegate) {}
  }

  @Test("Restored from inside when its run has just ended, the task that is about to finish is reset")
  func restore_insideAtItsEnd_isFollowed() async throws {
    let (outer, inner, task, after) = nested()
    let untouched = try inner.snapshot()
    let runs = Locked(0)
    let delegate = EventDelegate { [weak inner] event in
      guard event.kind == .workflowFinished, runs.increment() == 1 else { return }
      #expect((try? inner?.restore(untouched)) == [])
    }
    inner.delegate = delegate
    _ = await outer.outcomeOfRun()
    #expect(inner.states == [.ready, .pending] && task.state == .ready && after.state == .pending)
    #expect(after.attempt == 0 && outer.outcome == nil)
    try await outer.run()
    #expect(inner.tasks.map(\.attempt) == [2, 2] && after.state == .finished)
    withExtendedLifetime(delegate) {}
  }

  @Test("Reset from inside while its run goes on, what was reset stays ready; the task ends as cancelled")
  func reset_insideWhileRunning_isNotUndone() async {
    let inner = Workflow("inner")
    let held = inner.addHeld("held")
    let outer = Workflow("outer")
    let task = outer.addSubworkflow("inner", inner)
    let after = outer.addEmpty("after", after: task)
    async let outcome = outer.outcomeOfRun()
    let operation = await held.attempt(1)
    inner.reset()
    operation.finish(with: 1)
    #expect(await outcome.isCancelled)
    #expect(inner.states == [.ready] && task.state == .cancelled && after.state == .cancelled)
    outer.retry()
    (await held.attempt(2)).finish(with: 2)
    await outer.untilIdle()
    #expect(outer.outcome?.word == "success" && held.task.result == 2)
  }

  @Test("Reset before its turn has come, the task resets a subworkflow that was run by hand, too")
  func reset_whilePending_reachesInside() async {
    let (outer, inner, task, _) = nested()
    inner.start()
    await inner.untilIdle()
    #expect(task.state == .pending && inner.states == [.finished, .finished])
    outer.reset()
    #expect(inner.states == [.ready, .pending] && inner.outcome == nil)
  }

  @Test("A subworkflow that was run by hand before is joined, or counts as it is")
  func subworkflow_startedByHand_isJoined() async {
    let inner = Workflow("inner")
    let held = inner.addHeld("held")
    let outer = Workflow("outer")
    let task = outer.addSubworkflow("inner", inner)
    inner.start()
    let operation = await held.attempt(1)
    outer.start()
    await until(task.state == .executing)
    operation.finish(with: 1)
    await outer.untilIdle()
    #expect(task.state == .finished && held.task.attempt == 1)
  }

  @Test("A workflow made of the prerequisites' results is an operation like others")
  func workflow_madeFromInputs_isOneAttempt() async throws {
    let outer = Workflow("outer")
    let number = outer.add("number") { succeeding(20) }
    let made = outer.add("made", after: number) { number in
      let inner = Workflow("inner")
      let doubled = inner.add("doubled") { succeeding(number * 2) }
      return inner.makeOperation().map { _ in doubled.result! }
    }
    try await outer.run()
    #expect(made.result == 40)
  }

  @Test("Two hundred levels deep it runs, fails, is retried, reset, cancelled and restored on a small stack")
  func subworkflows_veryDeep_needLittleStack() async throws {
    var workflow = Workflow("innermost")
    let innermost = workflow.addScripted("task", [.failure(TestError.first)])
    for level in 0..<200 {
      let outer = Workflow("level \(level)")
      outer.addSubworkflow(nil, workflow)
      workflow = outer
    }
    let outermost = workflow
    #expect(await outermost.outcomeOfRun().word == "failure")
    _ = await onThread { outermost.retry() }
    await outermost.untilIdle()
    #expect(outermost.outcome?.word == "success" && innermost.attempt == 2)
    await onThread {
      outermost.reset()
      outermost.tasks[0].cancel()
      outermost.retry()
    }
    await outermost.untilIdle()
    #expect(outermost.outcome?.word == "success" && innermost.attempt == 3)
    let snapshot = try outermost.snapshot()
    await onThread {
      innermost.reset()
      #expect(outermost.states == [.ready])
      #expect((try? outermost.restore(snapshot)) == [])
    }
    #expect(innermost.state == .finished && outermost.states == [.finished])
  }
}
