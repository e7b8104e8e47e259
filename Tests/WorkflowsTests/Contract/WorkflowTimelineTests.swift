import CompositeOperations
import TestSupport
import Testing
import Workflows

/// Runs of workflows, recorded.
@Suite("9 Timelines of workflows", .timeLimit(.minutes(10)))
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
    let entries = recorder.timeline.entries
    #expect(entries.allSatisfy { $0.ending == .success && $0.started != nil })
    #expect(entries.first?.title == "outer" && entries.first?.kind == .graph)
    #expect(entries.count == 4)
    #expect(entries.count { $0.kind == .graph } == 2)
    #expect(entries.last?.parent == entries.first { $0.kind == .graph && $0.parent != nil }?.id)
  }
}
