import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing
import WorkflowOperations

/// What verbs do to whole graphs.
@Suite("4 Verbs", .timeLimit(.minutes(30)))
struct VerbTests {
  @Test("cancel reaches every dependent, also through finished tasks, and no prerequisite nor sibling")
  func cancel_inTheMiddle_goesDownstreamOnly() async {
    let workflow = Workflow()
    let root = workflow.addEmpty("root")
    let middle = workflow.addEmpty("middle", after: root)
    let held = workflow.addHeld("held", after: middle)
    let last = workflow.addEmpty("last", after: held.task)
    let sibling = workflow.addHeld("sibling", after: root)
    workflow.start()
    let operations = (await held.attempt(1), await sibling.attempt(1))
    #expect(middle.cancel())
    #expect(workflow.states == [.finished, .finished, .cancelled, .cancelled, .executing])
    #expect(!last.cancel() && !held.task.cancel())
    operations.0.finish(with: 1)
    operations.1.finish(with: 1)
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "cancelled")
  }

  @Test("A verb on the workflow tells whether it changed anything")
  func verbs_onTheWorkflow_tellWhetherTheyChangedAnything() async {
    let workflow = Workflow()
    #expect(!workflow.cancel() && !workflow.retry() && !workflow.reset())
    workflow.addEmpty("task")
    #expect(!workflow.retry())
    #expect(workflow.cancel() && !workflow.cancel())
    #expect(workflow.retry())
    await workflow.untilIdle()
    #expect(!workflow.cancel() && !workflow.retry())
    #expect(workflow.reset())
    #expect(workflow.states == [.ready])
  }

  @Test("reset reaches every dependent and starts nothing; start runs what is ready, in the middle of the graph, too")
  func reset_inTheMiddle_runsAgainOnStart() async throws {
    let workflow = Workflow()
    let counts = EventRecorder<String>()
    func task(_ name: String, after prerequisites: AnyWorkflowTask...) -> AnyWorkflowTask {
      workflow.add(name, unkeyed: prerequisites) { _ in succeeding(1, named: name, recorder: counts) }
    }
    let a = task("a")
    let b = task("b", after: a)
    let c = task("c", after: b)
    let d = task("d", after: a)
    let e = task("e", after: c, d)
    try await workflow.run()
    #expect(b.reset())
    #expect(workflow.states == [.finished, .ready, .pending, .finished, .pending])
    #expect(b.startDate == nil && workflow.outcome == nil && !workflow.isRunning)
    try await workflow.run()
    #expect(counts.count(of: "a") == 1 && counts.count(of: "d") == 1)
    #expect(counts.count(of: "b") == 2 && counts.count(of: "c") == 2 && counts.count(of: "e") == 2)
    #expect([a, b, c, d, e].map(\.attempt) == [1, 2, 2, 1, 2])
  }

  @Test("A ready task goes back to pending when its prerequisite is reset")
  func reset_ofPrerequisite_takesReadinessBack() async throws {
    let workflow = Workflow()
    let first = workflow.addEmpty("first")
    try await workflow.run()
    let second = workflow.addEmpty("second", after: first)
    #expect(second.state == .ready)
    first.reset()
    #expect(second.state == .pending)
  }

  @Test("retry runs failed and cancelled tasks and their dependents again, and nothing else")
  func retry_afterFailure_runsTheRest() async {
    let workflow = Workflow()
    let good = workflow.addScripted("good", [])
    let bad = workflow.addScripted("bad", [.failure(TestError.first)], after: good)
    let after = workflow.addEmpty("after", after: bad)
    let cancelled = workflow.addScripted("cancelled", [.cancelled])
    let afterCancelled = workflow.addEmpty("after cancelled", after: cancelled, bad)
    _ = await workflow.outcomeOfRun()
    #expect(workflow.states == [.finished, .failed, .pending, .cancelled, .cancelled])
    workflow.retry()
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
    #expect([good, bad, after, cancelled, afterCancelled].map(\.attempt) == [1, 2, 1, 2, 1])
  }

  @Test("retry of a finished task retries its failed and cancelled dependents")
  func retry_ofFinishedTask_reachesDependents() async {
    let workflow = Workflow()
    let good = workflow.addScripted("good", [])
    let bad = workflow.addScripted("bad", [.failure(TestError.first)], after: good)
    _ = await workflow.outcomeOfRun()
    #expect(good.retry())
    await workflow.untilIdle()
    #expect(good.attempt == 1 && bad.attempt == 2 && workflow.outcome?.word == "success")
    #expect(!good.retry() && !bad.retry())
  }

  @Test("retry of the workflow runs what is ready as well")
  func retry_ofWorkflow_runsReadyTasks() async {
    let workflow = Workflow()
    let bad = workflow.addScripted("bad", [.failure(TestError.first)])
    let other = workflow.addEmpty("other")
    bad.start()
    await workflow.untilIdle()
    #expect(workflow.states == [.failed, .ready] && workflow.outcome == nil)
    workflow.retry()
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
    workflow.retry()
    #expect(!workflow.isRunning && other.attempt == 1)
  }

  @Test("A verb on a workflow that does not run changes its tasks")
  func verbs_withoutRun_changeStates() async {
    let workflow = Workflow()
    let first = workflow.addEmpty("first")
    let second = workflow.addEmpty("second", after: first)
    workflow.cancel()
    #expect(workflow.states == [.cancelled, .cancelled] && !workflow.isRunning)
    #expect(await workflow.outcomeOfRun().isCancelled)
    workflow.reset()
    #expect(workflow.states == [.ready, .pending] && workflow.outcome == nil)
    #expect(await workflow.outcomeOfRun().word == "success")
    _ = second
  }

  @Test("Verbs of a dense graph reach every task once: thirty layers of thirty", arguments: [true, false])
  func verbs_ofDenseGraph_reachEachOnce(observed: Bool) async {
    let workflow = Workflow()
    var layer: [AnyWorkflowTask] = [workflow.addEmpty()]
    for _ in 0..<30 {
      layer = (0..<30).map { _ in workflow.add(unkeyed: layer) { _ in SimpleOperation<Void> { $0.finish() } } }
    }
    let stream = observed ? workflow.events(bufferingPolicy: .unbounded) : nil
    let root = workflow.tasks[0]
    root.cancel()
    root.retry()
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
    if let stream {
      var counts: [String: Int] = [:]
      for await event in stream where event.task != nil {
        counts["\(event)".components(separatedBy: ": ")[1], default: 0] += 1
      }
      #expect(counts == ["cancelled": 901, "retried": 901, "started (attempt 1)": 901, "finished (attempt 1)": 901])
    }
    root.reset()
    #expect(workflow.states.count { $0 == .pending } == 900)
  }

  @Test("A chain of very many tasks runs, is reset, cancelled, retried, described and released on a small stack")
  func chain_ofManyTasks_needsNoStack() async {
    let workflow = Workflow("chain")
    let reference = WeakReference(workflow)
    let count = Scale.count(100_000, least: 20_000)
    let finished = Gate()
    await onThread {
      var last: AnyWorkflowTask = workflow.addEmpty()
      for _ in 1..<count { last = workflow.addEmpty(nil, after: last) }
      let root = workflow.tasks[0]
      root.cancel()
      root.reset()
      let operation = workflow.makeOperation()
      operation.completion = { _ in finished.open() }
      operation.start()
    }
    await finished.wait()
    await workflow.untilIdle()
    #expect(workflow.outcome?.word == "success")
    await onThread {
      let root = workflow.tasks[0]
      root.reset()
      root.cancel()
      #expect(!workflow.hasFailedTasks && workflow.debugDescription.count > count * 20)
      #expect(workflow.mermaid().count > count * 20 && workflow.tasks[count - 1].debugDescription.count < 200)
    }
    _ = consume workflow
    await untilReleased(reference)
  }
}
