import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing
import WorkflowOperations

/// The workflow may be used from everything that it calls.
@Suite("4 Re-entrancy", .timeLimit(.minutes(30)))
struct ReentrancyTests {
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

  @Test("What a hook does to other workflows is done when the call returns, though many workflows end around it")
  func hook_atTheEndOfADeepNest_cancelsAnotherNestAtOnce() async {
    let inner = Workflow("inner")
    let part = inner.addHeld("part")
    let other = Workflow("other")
    other.addSubworkflow("inner", inner)
    async let otherOutcome = other.outcomeOfRun()
    let operation = await part.attempt(1)
    let innermost = Workflow("innermost")
    let leaf = innermost.addHeld("leaf")
    let states = EventRecorder<[AnyWorkflowTask.State]>()
    let outermost = innermost.nested(12) { task, level in
      guard level == 11 else { return }
      task.didFinish = { _, _ in
        other.cancel()
        states.record(inner.states)
      }
    }
    async let outcome = outermost.outcomeOfRun()
    await leaf.attempt(1).finish(with: 1)
    #expect(await outcome.word == "success")
    #expect(states.events == [[.cancelled]])
    operation.finish(with: 1)
    #expect(await otherOutcome.isCancelled)
  }

  @Test("What a cancel hook in a deep nest does to other workflows is done when the outermost call returns")
  func onCancel_inADeepNest_cancelsAnotherNestBeforeTheOutermostReturns() async {
    let inner = Workflow("inner")
    let part = inner.addHeld("part")
    let other = Workflow("other")
    let outerPart = other.addSubworkflow("inner", inner)
    async let otherOutcome = other.outcomeOfRun()
    let operation = await part.attempt(1)
    let innermost = Workflow("innermost")
    let leaf = innermost.addHeld("leaf")
    let outermost = innermost.nested(12)
    async let outcome = outermost.outcomeOfRun()
    let held = await leaf.attempt(1)
    let states = EventRecorder<AnyWorkflowTask.State>()
    held.onCancel = {
      other.cancel()
      states.record(outerPart.state)
    }
    #expect(outermost.cancel())
    #expect(states.events == [.cancelled])
    #expect(inner.states == [.cancelled] && operation.isCancelled)
    held.finish(with: 1)
    operation.finish(with: 1)
    #expect(await outcome.isCancelled)
    #expect(await otherOutcome.isCancelled)
  }

  @Test("What a hook resets in a deep nest that is being cancelled is reset, at each level", arguments: 0..<12)
  func hook_inADeepNestThatIsCancelled_resetsWhatIsInside(at place: Int) async {
    let innermost = Workflow("innermost")
    _ = innermost.addHeld("leaf")
    var workflows = [innermost]
    for level in 0..<12 {
      let outer = Workflow("level \(level)")
      let task = outer.addSubworkflow(nil, workflows[level])
      if level == place { task.didCancel = { _ in task.reset() } }
      workflows.append(outer)
    }
    workflows[12].cancel()
    // Those inside are reset with it, and those around it follow.
    for workflow in workflows { #expect(workflow.states == [.ready], "\(workflow.name)") }
  }

  enum Use: CaseIterable {
    case start, cancel, retry, reset, startWorkflow, cancelWorkflow, retryWorkflow, resetWorkflow, add, read
  }

  /// Uses the workflow in one way, so many times.
  private final class User: Sendable {
    private let use: Use
    private let count = Locked(0)

    init(_ use: Use) { self.use = use }

    func use(_ workflow: Workflow, _ task: AnyWorkflowTask?) {
      isUsed.open()
      guard count.increment() <= 60 else { return }
      let task = task ?? workflow.tasks[0]
      switch use {
      case .start: task.start()
      case .cancel: task.cancel()
      case .retry: task.retry()
      case .reset: task.reset()
      case .startWorkflow: workflow.start()
      case .cancelWorkflow: workflow.cancel()
      case .retryWorkflow: workflow.retry()
      case .resetWorkflow: workflow.reset()
      case .add: workflow.add(unkeyed: [task]) { _ in succeeding(1) }
      case .read: _ = (workflow.mermaid(), workflow.debugDescription, try? workflow.snapshot(), workflow.events())
      }
    }

    /// Opens when it is used for the first time.
    let isUsed = Gate()
  }

  /// Brings the workflow to its end, whatever was done to it, and checks that it gets there.
  private func expectToSucceed(_ workflow: Workflow, _ user: User) async throws {
    _ = await workflow.outcomeOfRun()
    await user.isUsed.wait()
    var tries = 80
    // What the user does late, from other threads, may come at any moment.
    var hasSucceeded = workflow.outcome?.word == "success"
    while !hasSucceeded, tries > 0 {
      workflow.retry()
      workflow.start()
      await workflow.untilIdle()
      hasSucceeded = workflow.outcome?.word == "success"
      tries -= 1
    }
    #expect(hasSucceeded, "\(workflow.debugDescription)")
  }

  @Test("From the delegate, at every event", arguments: Use.allCases)
  func verbs_fromDelegate_doNotDeadlock(use: Use) async throws {
    let user = User(use)
    let workflow = Workflow()
    let delegate = EventDelegate { [weak workflow] event in
      if let workflow { user.use(workflow, event.task) }
    }
    workflow.delegate = delegate
    let first = workflow.addScripted("a", [.failure(TestError.first), .cancelled])
    workflow.addEmpty("b", after: first)
    try await expectToSucceed(workflow, user)
    withExtendedLifetime(delegate) {}
  }

  @Test("From the closures that make operations, and from asynchronous work", arguments: Use.allCases)
  func verbs_fromBodies_doNotDeadlock(use: Use) async throws {
    let user = User(use)
    let workflow = Workflow()
    let first = workflow.add("a") { [weak workflow] in
      if let workflow { user.use(workflow, workflow.task(named: "a")) }
      return succeeding(1)
    }
    workflow.add("b", after: first) { [weak workflow] number in
      if let workflow { user.use(workflow, workflow.task(named: "b")) }
      return await Task { number }.value
    }
    try await expectToSucceed(workflow, user)
  }

  @Test("From the end of an event stream, and from the completion of an attempt's operation", arguments: Use.allCases)
  func verbs_fromCompletions_doNotDeadlock(use: Use) async throws {
    let user = User(use)
    let workflow = Workflow()
    let reference = WeakReference(workflow)
    let first = workflow.add("a") {
      let operation = succeeding(1)
      operation.completionBlock = { if let workflow = reference.object { user.use(workflow, nil) } }
      return operation
    }
    workflow.addEmpty("b", after: first)
    let reading = Task { [stream = workflow.events()] in
      for await event in stream { user.use(first.workflow, event.task) }
    }
    try await expectToSucceed(workflow, user)
    reading.cancel()
    await reading.value
  }

  @Test("From the deinit of a result and of an error that a reset or a retry drops")
  func reset_ofValueThatUsesTheWorkflow_doesNotDeadlock() async throws {
    let workflow = Workflow()
    let released = EventRecorder<String>()
    let reference = WeakReference(workflow)
    let canary: @Sendable (String) -> OnRelease = { name in
      OnRelease { released.record("\(name), of \(reference.object?.tasks.count ?? 0) tasks") }
    }
    let value = workflow.add("value") { succeeding(canary("value")) }
    let condition = workflow.addCondition("condition", of: OnRelease.self, after: value)
    condition.fulfill(with: canary("fulfilment"))
    let attempts = Locked(0)
    workflow.add("error", after: condition) { _ in
      guard attempts.increment() > 1 else { throw ReleasingError(onRelease: canary("error")) }
      return succeeding(1)
    }
    _ = await workflow.outcomeOfRun()
    workflow.retry()
    await workflow.untilIdle()
    await released.wait(for: "error, of 3 tasks")
    #expect(workflow.outcome?.word == "success")
    workflow.reset()
    await released.wait(forCount: 3)
    #expect(Set(released.events) == ["error, of 3 tasks", "value, of 3 tasks", "fulfilment, of 3 tasks"])
  }
}

/// Calls a closure when it is released.
private final class OnRelease: Sendable {
  private let body: @Sendable () -> Void

  init(_ body: @escaping @Sendable () -> Void) { self.body = body }

  deinit { body() }
}

private struct ReleasingError: Error {
  let onRelease: OnRelease
}
