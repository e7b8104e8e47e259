import CompositeOperations
import Foundation
import OperationTimelines
import TestSupport
import Testing
import WorkflowOperations

/// Runs of workflows, recorded.
@Suite("9 Timelines of workflows", .timeLimit(.minutes(30)))
struct WorkflowTimelineTests {
  @Test("A recorded run has its attempts, and those of workflows inside")
  func run_recorded_hasItsAttempts() async throws {
    let workflow = Workflow("outer")
    let first = workflow.addEmpty("first")
    let inner = Workflow("inner")
    inner.addEmpty("task")
    _ = workflow.addSubworkflow("sub", inner, after: first)
    let run = workflow.makeOperation()
    let recorder = TimelineRecorder()
    recorder.attach(to: run)
    try await run.run()
    // `run()` may return before the recorder is told of the end.
    await until(recorder.timeline.entries.first?.ending != nil)
    let entries = recorder.timeline.entries
    #expect(entries.allSatisfy { $0.ending == .success && $0.started != nil })
    #expect(entries.first?.title == "outer" && entries.first?.kind == .graph)
    #expect(entries.count == 4)
    #expect(entries.count { $0.kind == .graph } == 2)
    #expect(entries.last?.parent == entries.first { $0.kind == .graph && $0.parent != nil }?.id)
  }

  @Test("A tree observer is told of the tasks, and of those of workflows inside")
  func treeObserver_ofARun_isToldOfItsTasks() async throws {
    let workflow = Workflow("outer")
    let first = workflow.addEmpty("first")
    let inner = Workflow("inner")
    inner.addEmpty("task")
    _ = workflow.addSubworkflow("sub", inner, after: first)
    let run = workflow.makeOperation()
    let told = EventRecorder<String>()
    run.addTreeObserver { operation, event in
      if event.child == nil { told.record("\(operation.name ?? "task"): \(event.kind)") }
    }
    try await run.run()
    #expect(
      told.events == [
        "outer: started", "task: started", "task: settled", "inner: started", "task: started", "task: settled",
        "inner: settled", "outer: settled",
      ])
  }

  @Test("Each attempt of a task has its number")
  func retriedTask_recorded_hasAttemptNumbers() async {
    let workflow = Workflow()
    let held = workflow.addHeld("held")
    let run = workflow.makeOperation()
    let recorder = TimelineRecorder()
    recorder.attach(to: run)
    await onWorker { run.start() }
    let first = await held.attempt(1)
    held.task.cancel()
    held.task.retry()
    let second = await held.attempt(2)
    first.finish(with: 1)
    second.finish(with: 2)
    #expect(await settled(run).value != nil)
    #expect(recorder.timeline.entries.filter { $0.parent == 1 }.map(\.attempt) == [1, 2])
  }
}
