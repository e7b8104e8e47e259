import CompositeOperations
import Foundation
import TestSupport
import Testing
import WorkflowOperations

/// What was wrong in Task (TSKWorkflow), and is right here.
@Suite("4 Bugs K19 to K26 of the original", .timeLimit(.minutes(30)))
struct OriginalBugsK19ToK26 {
  @Test("K19 Inputs do not vanish when a prerequisite is reset while the task runs")
  func k19_inputsAreASnapshot() async {
    let workflow = Workflow()
    let source = workflow.add("source") { succeeding("text") }
    let (started, gate, read) = (Gate(), Gate(), EventRecorder<String>())
    _ = workflow.add("reader", after: source) { text in
      started.open()
      await gate.wait()
      read.record(text)
    }
    workflow.start()
    await started.wait()
    source.reset()
    gate.open()
    await read.wait(for: "text")
    await workflow.untilIdle()
  }

  @Test("K20 A subworkflow has one owner, inputs through conditions, a policy of its own, and one state with its task")
  func k20_subworkflowsAreOneWithTheirTask() async throws {
    let inner = Workflow("inner")
    inner.failurePolicy = .cancelRemaining
    let input = inner.addCondition("input", of: Int.self)
    let doubled = inner.add("doubled", after: input) { succeeding($0 * 2) }
    let flaky = inner.addScripted("flaky", [.failure(TestError.first)])
    let outer = Workflow("outer")
    let source = outer.add("source") { succeeding(21) }
    source.didFinish = { _, value in input.fulfill(with: value) }
    let task = outer.addSubworkflow("inner", inner, after: source)
    let result = outer.add("result", after: task) { inner in
      succeeding(inner.task(named: "doubled").flatMap { ($0 as? WorkflowTask<Int>)?.result } ?? 0)
    }
    #expect(await outer.outcomeOfRun().word == "failure")
    #expect(task.state == .failed && flaky.state == .failed && !inner.hasExecutingTasks)
    flaky.retry()
    doubled.retry()
    await until(result.state == .finished)
    #expect(result.result == 42 && task.state == .finished)
  }

  #if os(macOS) || os(Linux)
  @Test("K21 Misuse is an error in release builds, too")
  func k21_misuseTraps() async {
    await #expect(processExitsWith: .failure) {
      let workflow = Workflow()
      _ = workflow.addEmpty("a")
      _ = workflow.addEmpty("a")
    }
  }
  #endif

  @Test("K22 There is no target that may vanish: the closure is the work, and is kept")
  func k22_theWorkIsKept() async throws {
    let workflow = Workflow()
    final class Helper: Sendable { let number = 5 }
    let task: WorkflowTask<Int>
    do {
      let helper = Helper()
      task = workflow.add { SimpleOperation { $0.finish(with: helper.number) } }
    }
    try await workflow.run()
    #expect(task.result == 5)
  }

  @Test("K23 Retrying one task retries what depends on it, and leaves others that were cancelled alone")
  func k23_retryIsOfOneTask() async {
    let workflow = Workflow()
    let failing = workflow.addScripted("failing", [.failure(TestError.first)])
    let after = workflow.addEmpty("after", after: failing)
    let cancelled = workflow.addScripted("cancelled", [.cancelled])
    _ = await workflow.outcomeOfRun()
    failing.retry()
    await workflow.untilIdle()
    #expect(failing.state == .finished && after.state == .finished && cancelled.state == .cancelled)
    #expect(workflow.outcome?.word == "cancelled")
  }

  @Test("K24 Adding a task touches its prerequisites and nothing else: 100,000 are added, with the roots asked for")
  func k24_buildingIsLinear() {
    let workflow = Workflow()
    let root = workflow.addEmpty("root")
    for _ in 0..<100_000 { workflow.addEmpty(nil, after: root) }
    #expect(workflow.roots == [root] && workflow.leaves.count == 100_000 && root.dependents.count == 100_000)
  }

  @Test("K25 Events can be read on the main actor, in order, without KVO")
  @MainActor
  func k25_eventsOnTheMainActor() async {
    let workflow = Workflow()
    let first = workflow.addEmpty("first")
    workflow.addEmpty("second", after: first)
    let events = workflow.events()
    workflow.start()
    var words: [String] = []
    for await event in events {
      MainActor.assertIsolated()
      words.append("\(event)")
    }
    #expect(words.first == "workflow started" && words.last == "workflow finished" && words.count == 6)
  }

  @Test("K26 A reset task is not started again by itself, as its documentation says")
  func k26_resetStartsNothing() async throws {
    let workflow = Workflow()
    let task = workflow.addEmpty("task")
    try await workflow.run()
    task.reset()
    #expect(task.state == .ready && !workflow.isRunning && task.attempt == 1)
  }
}

extension Workflow {
  fileprivate var hasExecutingTasks: Bool { states.contains(.executing) }
}
