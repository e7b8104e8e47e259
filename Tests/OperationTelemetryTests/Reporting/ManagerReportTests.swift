import CompositeOperations
import ManagedOperations
import TestSupport
import Testing

/// A task whose attempts end as a closure says, which gets their number.
private struct Upload: ManagedTask {
  let count = Locked(0)
  var outcome: @Sendable (_ attempt: Int) -> Outcome<Int> = { .success($0) }

  func makeOperation() -> SimpleOperation<Int> {
    let outcome = outcome(count.increment())
    return SimpleOperation { $0.settle(with: outcome) }
  }
}

@Suite("What managers report", .timeLimit(.minutes(10)))
struct ManagerReportTests {
  @Test("A task is reported from being added to its end")
  func task_succeeds_isReportedInOrder() async throws {
    let sink = RecordingSink()
    let manager = OperationManager(name: "uploads", clock: ManualClock())
    manager.report(to: sink)
    let handle = manager.add(Upload())
    _ = await settled(handle)
    await sink.lines.wait(forCount: 5)
    #expect(
      sink.lines.events == [
        "debug added Upload", "debug queued Upload", "debug started Upload (attempt 1)",
        "debug attemptEnded Upload (attempt 1, timed)", "info succeeded Upload (attempt 1)",
      ])
    #expect(sink.events.allSatisfy { $0.id == Int64(handle.identifier) && $0.source == "uploads" })
    #expect(TelemetryEvent.executionsAreSound(sink.events))
  }

  @Test("A failed attempt is a warning, what follows it is reported, and the end after the last is an error")
  func task_isRetriedAndFails_isReportedInOrder() async throws {
    let sink = RecordingSink()
    let manager = OperationManager(
      reactors: [.retrying(RetryPolicy(maxAttempts: 2, backoff: .constant(.zero)))], clock: ManualClock())
    manager.report(to: sink)
    _ = await settled(manager.add(Upload { _ in .failure(TestError.first) }))
    await sink.lines.wait(until: { $0.last?.contains(" failed ") == true })
    #expect(
      sink.lines.events.filter { !$0.contains("queued") && !$0.contains("reacting") } == [
        "debug added Upload", "debug started Upload (attempt 1)",
        "warning attemptEnded Upload (attempt 1, timed): TestError", "warning retrying Upload (attempt 1)",
        "debug started Upload (attempt 2)", "warning attemptEnded Upload (attempt 2, timed): TestError",
        "error failed Upload (attempt 2): TestError",
      ])
    #expect(TelemetryEvent.executionsAreSound(sink.events))
  }

  @Test("A cancelled task ends as cancelled")
  func cancel_isReported() async throws {
    let sink = RecordingSink()
    let manager = OperationManager(clock: ManualClock())
    manager.isSuspended = true
    manager.report(to: sink)
    let handle = manager.add(Upload())
    handle.cancel()
    await sink.lines.wait(for: "info cancelled Upload")
    #expect(sink.lines.events.last == "info cancelled Upload")
  }

  @Test("A task that an interceptor discards is dropped")
  func discard_isReportedAsDropped() async throws {
    let sink = RecordingSink()
    let manager = OperationManager(
      interceptors: [.intercepting(Upload.self) { _, _ in .discard }], clock: ManualClock())
    manager.report(to: sink)
    _ = await settled(manager.add(Upload()))
    await sink.lines.wait(for: "warning dropped Upload: ManagedTaskError")
    #expect(sink.events.count { $0.kind == .started } == 0)
  }

  @Test("A task that is left when its manager is released is dropped")
  func release_isReportedAsDropped() async throws {
    let sink = RecordingSink()
    var manager: OperationManager? = OperationManager(clock: ManualClock())
    manager?.isSuspended = true
    manager?.report(to: sink)
    let handle = manager?.add(Upload())
    manager = nil
    if let handle { _ = await settled(handle) }
    await sink.lines.wait(for: "error dropped Upload: ManagedTaskError")
  }

  @Test("A task that is added after the end of its manager is dropped")
  func add_afterShutdown_isReportedAsDropped() async throws {
    let sink = RecordingSink()
    let manager = OperationManager(clock: ManualClock())
    await manager.shutdown()
    manager.report(to: sink)
    let handle = manager.add(Upload())
    #expect(sink.lines.events == ["error dropped Upload: ManagedTaskError"])
    #expect(sink.events.first?.id == Int64(handle.identifier))
  }

  @Test("A sink that was removed gets nothing more, and the other does")
  func remove_endsTheReports() async throws {
    let (first, second) = (RecordingSink(), RecordingSink())
    let manager = OperationManager(clock: ManualClock())
    manager.report(to: first)
    let token = manager.report(to: second)
    token.remove()
    token.remove()
    _ = await settled(manager.add(Upload()))
    await first.lines.wait(forCount: 5)
    #expect(second.events.isEmpty)
  }
}
