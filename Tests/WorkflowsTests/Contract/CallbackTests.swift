import CompositeOperations
import Foundation
import TestSupport
import Testing
import Workflows

/// Hooks, delegates and event streams.
@Suite("4 Hooks, delegates and events", .timeLimit(.minutes(5)))
struct CallbackTests {
  @Test("Everything is told, in the order in which it happens")
  func delegate_isToldEverythingInOrder() async throws {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    let first = workflow.addScripted("first", [.failure(TestError.first)])
    let second = workflow.addEmpty("second", after: first)
    _ = await workflow.outcomeOfRun()
    #expect(delegate.events.events == ["workflow started", "first started", "first failed", "workflow failed"])
    workflow.retry()
    await delegate.events.wait(for: "workflow finished")
    #expect(
      delegate.events.events.dropFirst(4) == [
        "first retried", "workflow started", "first started", "first finished", "second started", "second finished",
        "workflow finished",
      ])
    first.reset()
    #expect(delegate.events.events.dropFirst(11) == ["first reset", "second reset"])
    second.cancel()
    #expect(delegate.events.events.last == "second cancelled")
    workflow.start()
    await delegate.events.wait(for: "workflow cancelled")
    withExtendedLifetime(delegate) {}
  }

  @Test("Of one event the hook is told first, then the delegate, then the streams; then tasks that became ready run")
  func callbacks_ofOneEvent_haveAnOrder() async throws {
    let workflow = Workflow()
    let order = EventRecorder<String>()
    final class Delegate: WorkflowDelegate {
      let order: EventRecorder<String>
      init(_ order: EventRecorder<String>) { self.order = order }
      func workflow(_ workflow: Workflow, taskDidFinish task: AnyWorkflowTask) { order.record("delegate \(task.name)") }
      func workflowDidFinish(_ workflow: Workflow) { order.record("workflow") }
    }
    let delegate = Delegate(order)
    workflow.delegate = delegate
    let first = workflow.add("first") { succeeding(4) }
    first.didFinish = { task, value in order.record("hook \(task.name) \(value) \(task.result ?? 0)") }
    _ = workflow.add("second", after: first) { value in
      order.record("body")
      return succeeding(value)
    }
    try await workflow.run()
    #expect(order.events == ["hook first 4 4", "delegate first", "body", "delegate second", "workflow"])
  }

  @Test("All five hooks are called with their task")
  func hooks_areCalled() async {
    let workflow = Workflow()
    let calls = EventRecorder<String>()
    let task = workflow.addScripted("task", [.failure(TestError.first), .cancelled])
    task.didFail = { task, error in calls.record("\(task.name) failed: \((error as? TestError)?.name ?? "")") }
    task.didCancel = { calls.record("\($0.name) cancelled") }
    task.didRetry = { calls.record("\($0.name) retried") }
    task.didReset = { calls.record("\($0.name) reset") }
    task.didFinish = { calls.record("\($0.name) finished: \($1)") }
    _ = await workflow.outcomeOfRun()
    workflow.retry()
    await workflow.untilIdle()
    task.retry()
    await workflow.untilIdle()
    task.reset()
    #expect(
      calls.events == [
        "task failed: first", "task retried", "task cancelled", "task retried", "task finished: 3", "task reset",
      ])
    #expect(task.didFail != nil && task.didFinish != nil)
    task.didFail = nil
    #expect(task.didFail == nil)
  }

  @Test("A hook may retry its task at once: the state changes now, and is told when the hook has returned")
  func retry_fromHook_isReentrant() async {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    let task = workflow.addScripted("task", Array(repeating: .failure(TestError.first), count: 5))
    let after = workflow.addEmpty("after", after: task)
    task.didFail = { task, _ in
      #expect(task.retry())
      #expect(task.state == .ready)
      delegate.events.record("hook returns")
    }
    #expect(await workflow.outcomeOfRun().word == "success")
    #expect(task.attempt == 6 && after.state == .finished)
    #expect(
      delegate.events.events.prefix(6) == [
        "workflow started", "task started", "hook returns", "task failed", "task retried", "task started",
      ])
  }

  @Test("Every verb may be used in every hook", arguments: ["start", "cancel", "retry", "reset"])
  func verbs_fromHooks_doNotDeadlock(verb: String) async {
    let workflow = Workflow()
    let budget = Locked(200)
    let tasks: [AnyWorkflowTask] = [
      workflow.addScripted("a", [.failure(TestError.first), .cancelled]), workflow.addEmpty("b"),
    ]
    let last = workflow.addEmpty("c", after: tasks[0], tasks[1])
    let use: @Sendable (AnyWorkflowTask) -> Void = { task in
      guard budget.increment() < 240 else { return }
      switch verb {
      case "start": task.workflow.start()
      case "cancel": task.workflow.cancel()
      case "retry": task.workflow.retry()
      default: task.workflow.reset()
      }
    }
    for task in tasks + [last] {
      task.didFail = { task, _ in use(task) }
      task.didCancel = use
      task.didRetry = use
      task.didReset = use
    }
    last.didFinish = { task, _ in use(task) }
    _ = await workflow.outcomeOfRun()
    for _ in 0..<3 {
      workflow.retry()
      workflow.start()
      await workflow.untilIdle()
    }
    #expect(!workflow.isRunning)
  }

  @Test("Each stream has all events from its making on, and ends when the run settles")
  func events_untilSettled() async throws {
    let workflow = Workflow()
    let first = workflow.add("first") { succeeding(1) }
    let streams = (0..<3).map { _ in workflow.events() }
    try await workflow.run()
    for stream in streams {
      var words: [String] = []
      for await event in stream {
        words.append("\(event)")
        #expect(event.droppedCount == 0)
      }
      #expect(
        words == ["workflow started", "first: started (attempt 1)", "first: finished (attempt 1)", "workflow finished"])
    }
    _ = first
  }

  @Test("The newest events are kept, and the dropped ones are counted")
  func events_notRead_areDroppedAndCounted() async throws {
    let workflow = Workflow()
    for _ in 0..<10 { workflow.addEmpty() }
    let stream = workflow.events(bufferingPolicy: .bufferingNewest(4))
    try await workflow.run()
    var events: [WorkflowEvent] = []
    for await event in stream { events.append(event) }
    // 22 events, of which 18 went; the last was put in when the 17th had gone.
    #expect(events.count == 4 && events.last?.droppedCount == 17)
    if case .workflowFinished = events.last?.kind {} else { Issue.record("the last event is \(events)") }
  }

  @Test("A stream ends when its workflow goes, and does not keep it")
  func events_ofReleasedWorkflow_end() async {
    var workflow: Workflow? = Workflow()
    let reference = WeakReference(workflow!)
    let stream = workflow!.events()
    workflow = nil
    #expect(reference.object == nil)
    for await event in stream { Issue.record("\(event)") }
  }

  @Test("A failed task's event has its error; the workflow's has the WorkflowError")
  func events_ofFailures_haveErrors() async {
    let workflow = Workflow()
    workflow.addScripted("bad", [.failure(TestError.first)])
    let stream = workflow.events()
    _ = await workflow.outcomeOfRun()
    var errors: [String] = []
    for await event in stream {
      switch event.kind {
      case .failed(let error): errors.append("\(error)")
      case .workflowFailed(let error): errors.append("\(error.failures.count)")
      default: break
      }
    }
    #expect(errors == ["test error first", "1"])
  }

  @Test("Told from many threads at once, what happened to one task stays in order, and nothing is lost")
  func events_fromManyThreads_areOrdered() async {
    let workflow = Workflow()
    let roots = (0..<40).map { _ in
      workflow.add {
        await Task.yield(); return 1
      }
    }
    for root in roots { workflow.addEmpty(nil, after: root) }
    let stream = workflow.events(bufferingPolicy: .unbounded)
    #expect(await workflow.outcomeOfRun().word == "success")
    var finished: Set<AnyWorkflowTask> = []
    var started: Set<AnyWorkflowTask> = []
    for await event in stream {
      guard let task = event.task else { continue }
      if case .started = event.kind {
        started.insert(task)
        #expect(task.prerequisites.allSatisfy { finished.contains($0) })
      } else {
        #expect(started.contains(task))
        finished.insert(task)
      }
    }
    #expect(finished.count == 80)
  }
}
