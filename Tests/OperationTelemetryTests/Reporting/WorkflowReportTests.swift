import CompositeOperations
import TestSupport
import Testing
import WorkflowOperations

@Suite("What workflows report", .timeLimit(.minutes(10)))
struct WorkflowReportTests {
  @Test("A run and its tasks are reported in order, and the next run, too")
  func runs_areReportedInOrder() async throws {
    let sink = RecordingSink()
    let workflow = Workflow("order")
    let count = Locked(0)
    let first = workflow.add("first") {
      count.increment() == 1 ? failing(TestError.first, as: Int.self) : succeeding(2)
    }
    _ = workflow.add("second", after: first) { succeeding($0) }
    workflow.report(to: sink)
    try? await workflow.run()
    await sink.lines.wait(forCount: 4)
    #expect(
      sink.lines.events == [
        "info started order", "debug started first (attempt 1)", "warning failed first (attempt 1, timed): TestError",
        "error failed order (timed): WorkflowError",
      ])
    workflow.retry()
    await sink.lines.wait(forCount: 12)
    #expect(
      sink.lines.events.dropFirst(4) == [
        "info retrying order", "debug retrying first (attempt 1)", "info started order",
        "debug started first (attempt 2)", "debug succeeded first (attempt 2, timed)",
        "debug started second (attempt 1)", "debug succeeded second (attempt 1, timed)",
        "info succeeded order (timed)",
      ])
    let events = sink.events
    let id = try #require(events.first?.id)
    #expect(events.allSatisfy { $0.source == "order" && ($0.name == "order" ? $0.id == id : $0.parentID == id) })
    #expect(Set(events.compactMap(\.id)).count == 3)
    #expect(TelemetryEvent.executionsAreSound(events))
  }

  @Test("Cancelled tasks and runs are reported as such")
  func cancel_isReported() async throws {
    let sink = RecordingSink()
    let workflow = Workflow("order")
    let held = HeldOperation<Int>(settlesWhenCancelled: true)
    _ = workflow.add("held") { held }
    workflow.report(to: sink)
    workflow.start()
    await held.started.wait()
    workflow.cancel()
    await sink.lines.wait(until: { $0.last == "info cancelled order (timed)" })
    #expect(sink.lines.contains("debug cancelled held (attempt 1, timed)"))
    #expect(TelemetryEvent.executionsAreSound(sink.events))
  }

  @Test("A cancelled run that a new one follows before its attempts have settled has ended when that one starts")
  func runs_thatOverlap_bothEnd() async {
    let sink = RecordingSink()
    let workflow = Workflow("order")
    let held = [HeldOperation<Int>(), HeldOperation<Int>()]
    let count = Locked(0)
    let task = workflow.add("held") { held[count.increment() - 1] }
    workflow.report(to: sink)
    let first = workflow.makeOperation()
    await onWorker { first.start() }
    await held[0].started.wait()
    first.cancel()
    task.retry()
    await held[1].started.wait()
    held[0].finish(with: 1)
    held[1].finish(with: 2)
    await sink.lines.wait(until: { $0.last == "info succeeded order (timed)" })
    #expect(
      sink.lines.events.filter { $0.hasPrefix("info") } == [
        "info started order", "info cancelled order (timed)", "info started order", "info succeeded order (timed)",
      ])
    #expect(TelemetryEvent.executionsAreSound(sink.events))
  }

  @Test("A sink that was removed gets nothing more")
  func remove_endsTheReports() async throws {
    let sink = RecordingSink()
    let workflow = Workflow("order")
    _ = workflow.add("first") { succeeding(1) }
    workflow.report(to: sink).remove()
    try await workflow.run()
    #expect(sink.events.isEmpty)
  }
}
