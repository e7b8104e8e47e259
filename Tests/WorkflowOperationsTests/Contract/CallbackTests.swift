import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// Hooks, delegates and event streams.
@Suite("4 Hooks, delegates and events", .timeLimit(.minutes(30)))
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
        "workflow retried", "first retried", "workflow started", "first started", "first finished", "second started",
        "second finished",
        "workflow finished",
      ])
    // The thread that passed on the end may not have left yet, and passes this on, too.
    first.reset()
    await delegate.events.wait(forCount: 14)
    #expect(delegate.events.events.dropFirst(12) == ["first reset", "second reset"])
    second.cancel()
    await delegate.events.wait(forCount: 15)
    #expect(delegate.events.events.last == "second cancelled")
    workflow.start()
    await delegate.events.wait(for: "workflow cancelled")
    withExtendedLifetime(delegate) {}
  }

  @Test("Of one event the hook is told first, then the delegate, then the streams; then tasks that became ready run")
  func callbacks_ofOneEvent_haveAnOrder() async throws {
    let workflow = Workflow()
    let order = EventRecorder<String>()
    let delegate = EventDelegate { event in
      if event.kind == .finished { order.record("delegate \(event.task?.name ?? "")") }
      if event.kind == .workflowFinished { order.record("workflow") }
    }
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
    // A run is over before the last hook of it has returned, after which this one is called.
    await calls.wait(for: "task reset")
    #expect(
      calls.events == [
        "task failed: first", "task retried", "task cancelled", "task retried", "task finished: 3", "task reset",
      ])
    #expect(task.didFail != nil && task.didFinish != nil)
    task.didFail = nil
    #expect(task.didFail == nil)
  }

  @Test("A reset and a retry of the whole workflow are told before what they do to its tasks, if they do anything")
  func resetAndRetry_ofWorkflow_areTold() async throws {
    let workflow = Workflow()
    let delegate = RecordingDelegate()
    workflow.delegate = delegate
    workflow.addScripted("task", [.failure(TestError.first)])
    workflow.retry()
    _ = await workflow.outcomeOfRun()
    let stream = workflow.events()
    workflow.retry()
    await delegate.events.wait(for: "workflow finished")
    workflow.retry()
    workflow.reset()
    await delegate.events.wait(for: "task reset")
    #expect(
      delegate.events.events.dropFirst(4) == [
        "workflow retried", "task retried", "workflow started", "task started", "task finished", "workflow finished",
        "workflow reset", "task reset",
      ])
    var words: [String] = []
    for await event in stream { words.append("\(event)") }
    #expect(words.first == "workflow retried" && words.last == "workflow finished" && words.count == 6)
  }

  @Test("An attempt that no longer counts is an event, with its number and what it ended with")
  func events_ofStaleAttempts_haveTheirOutcome() async {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let stream = workflow.events()
    workflow.start()
    let first = await held.attempt(1)
    held.task.cancel()
    held.task.retry()
    let second = await held.attempt(2)
    first.reject(with: TestError.second)
    await workflow.untilEvent("held: discarded (attempt 1)", in: stream) { event in
      event.kind == .discarded && event.outcome?.isCancelled == true && event.attempt == 1
        && event.task == held.task
    }
    second.finish(with: 2)
    await workflow.untilIdle()
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

  @Test("A stream that a delegate makes when a run ends has the events of the next run, and no older one")
  func events_madeAtTheEndOfARun_areThoseOfTheNext() async throws {
    let workflow = Workflow()
    let made = Locked<AsyncStream<WorkflowEvent>?>(nil)
    let delegate = EventDelegate { [weak workflow] event in
      guard event.kind == .workflowFinished, made.current == nil else { return }
      let stream = workflow?.events()
      made.withLock { $0 = stream }
    }
    workflow.delegate = delegate
    workflow.addEmpty("task")
    try await workflow.run()
    workflow.reset()
    try await workflow.run()
    var words: [String] = []
    for await event in try #require(made.current) { words.append("\(event)") }
    #expect(
      words == [
        "workflow reset", "task: reset (attempt 1)", "workflow started", "task: started (attempt 2)",
        "task: finished (attempt 2)", "workflow finished",
      ])
    withExtendedLifetime(delegate) {}
  }

  @Test("The newest events are kept, and the dropped ones are counted")
  func events_notRead_areDroppedAndCounted() async throws {
    let workflow = Workflow()
    for _ in 0..<10 { workflow.addEmpty() }
    let stream = workflow.events(bufferingPolicy: .bufferingNewest(4))
    try await workflow.run()
    var events: [WorkflowEvent] = []
    for await event in stream { events.append(event) }
    // 22 events, of which 18 went.
    #expect(events.map(\.droppedCount) == [18, 18, 18, 18])
    #expect(events.last?.kind == .workflowFinished, "the last event is \(events)")
  }

  @Test("Without a policy, the newest 1,024 events are kept")
  func events_byDefault_areTheNewest1024() async throws {
    let workflow = Workflow()
    for _ in 0..<600 { workflow.addEmpty() }
    let stream = workflow.events()
    try await workflow.run()
    var events: [WorkflowEvent] = []
    for await event in stream { events.append(event) }
    #expect(events.count == 1_024 && events.allSatisfy { $0.droppedCount == 1_202 - 1_024 })
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
      case .failed: errors.append(event.error.map { "\($0)" } ?? "none")
      case .workflowFailed: errors.append("\((event.error as? WorkflowError)?.failures.count ?? 0)")
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
      if event.kind == .started {
        started.insert(task)
        #expect(task.prerequisites.allSatisfy { finished.contains($0) })
      } else {
        #expect(started.contains(task))
        finished.insert(task)
      }
    }
    #expect(finished.count == 80)
  }

  @Test("A task's start is told before its closure is called, also while another thread tells of others")
  func taskDidStart_isToldBeforeTheClosureBegins() async throws {
    final class Delegate: WorkflowDelegate {
      let started = EventRecorder<String>()
      let isFirst = Locked(true)
      let (inside, goOn) = (Gate(), Gate())
      func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) {
        guard event.kind == .started, let task = event.task else { return }
        let isFirst = isFirst.withLock { isFirst in
          defer { isFirst = false }
          return isFirst
        }
        if isFirst {
          inside.open()
          goOn.waitBlocking()
        }
        started.record(task.name)
      }
    }
    let workflow = Workflow()
    let delegate = Delegate()
    workflow.delegate = delegate
    let early = EventRecorder<String>()
    for number in 0..<8 {
      workflow.add("\(number)") {
        if !delegate.started.contains("\(number)") { early.record("\(number)") }
        return succeeding(number)
      }
    }
    let inner = Workflow("inner")
    inner.add("in it") {
      if !delegate.started.contains("sub") { early.record("sub") }
      return succeeding(1)
    }
    workflow.addSubworkflow("sub", inner)
    let operation = workflow.makeOperation()
    // Not waited for: it may be this thread that tells, and waits.
    DispatchQueue.global().async { operation.start() }
    await delegate.inside.wait()
    // The others have begun meanwhile, as far as they may.
    await until(workflow.tasks.count { $0.state == .executing } >= 2)
    for _ in 0..<1_000 { await Task.yield() }
    delegate.goOn.open()
    #expect(await settled(operation).word == "success")
    #expect(early.events == [])
    #expect(delegate.started.count == 9)
  }

  @Test("A task that is cancelled while its start waits to be told does not run")
  func cancel_beforeTheStartIsTold_doesNotCallTheClosure() async {
    final class Delegate: WorkflowDelegate {
      let (inside, goOn) = (Gate(), Gate())
      let first = Locked<AnyWorkflowTask?>(nil)
      func workflow(_ workflow: Workflow, didReceive event: WorkflowEvent) {
        guard event.kind == .started, let task = event.task else { return }
        let isFirst = first.withLock { first in
          defer { first = first ?? task }
          return first == nil
        }
        guard isFirst else { return }
        inside.open()
        goOn.waitBlocking()
      }
    }
    let workflow = Workflow()
    let delegate = Delegate()
    workflow.delegate = delegate
    let calls = EventRecorder<String>()
    // Either of them may start first; the other one waits until that has been told.
    for name in ["one", "other"] {
      workflow.add(name) {
        calls.record(name)
        return succeeding(1)
      }
    }
    DispatchQueue.global().async { workflow.start() }
    await delegate.inside.wait()
    let first = delegate.first.current!
    let second = workflow.tasks.first { $0.name != first.name }!
    await until(second.state == .executing)
    second.cancel()
    delegate.goOn.open()
    await workflow.untilIdle()
    #expect(first.state == .finished && second.state == .cancelled && calls.events == [first.name])
  }

  @Test("A task in a queue of its own whose start another thread tells fails with its own error")
  func failure_inQueueAfterNotice_isTheTasks() async {
    let workflow = Workflow()
    let (inside, goOn, starts) = (Gate(), Gate(), Locked(0))
    let delegate = EventDelegate { event in
      guard event.kind == .started, starts.increment() == 1 else { return }
      inside.open()
      goOn.waitBlocking()
    }
    workflow.delegate = delegate
    // Either of them may start first; the other one waits until that has been told.
    for name in ["first", "second"] {
      workflow.add(name, operationQueue: OperationQueue()) { failing(TestError(name)) }
    }
    DispatchQueue.global().async { workflow.start() }
    await inside.wait()
    await until(workflow.states == [.executing, .executing])
    goOn.open()
    await workflow.untilIdle()
    #expect(workflow.tasks.map { $0.error as? TestError } == [TestError("first"), TestError("second")])
    withExtendedLifetime(delegate) {}
  }

  @Test("An event has the outcome as it was when it happened: of attempts, and of runs")
  func events_haveOutcomes() async throws {
    let workflow = Workflow()
    let outcomes = EventRecorder<String>()
    let delegate = EventDelegate { event in
      outcomes.record(
        "\(event.kind) \(event.outcome.map { $0.word } ?? "-") \(event.outcome?.value.map { "\($0)" } ?? "-")")
    }
    workflow.delegate = delegate
    let task = workflow.addScripted("task", [.failure(TestError.first), .cancelled])
    // What the hook does is passed on later, and the event does not change by it.
    task.didFinish = { task, _ in task.reset() }
    _ = await workflow.outcomeOfRun()
    task.retry()
    await outcomes.wait(for: "workflowCancelled cancelled -")
    task.retry()
    await outcomes.wait(for: "workflowPaused - -")
    withExtendedLifetime(delegate) {}
    #expect(
      outcomes.events == [
        "workflowStarted - -", "started - -", "failed failure -", "workflowFailed failure -",
        "retried - -", "workflowStarted - -", "started - -", "cancelled cancelled -", "workflowCancelled cancelled -",
        "retried - -", "workflowStarted - -", "started - -", "finished success 3", "reset - -", "workflowPaused - -",
      ])
  }
}

extension Workflow {
  /// Reads the stream up to this event, which must satisfy the condition.
  fileprivate func untilEvent(
    _ description: String, in stream: AsyncStream<WorkflowEvent>, satisfies condition: (WorkflowEvent) -> Bool
  ) async {
    for await event in stream where "\(event)" == description {
      #expect(condition(event))
      return
    }
    Issue.record("There was no event “\(description)”")
  }
}
