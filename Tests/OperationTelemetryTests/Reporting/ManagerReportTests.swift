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
    #expect(sink.events.allSatisfy { $0.id == Int64(handle.id) && $0.source == "uploads" })
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

  @Test("A task that fails with the error of a task that another manager discarded has failed")
  func task_failsWithAnErrorOfAnotherManager_isReportedAsFailed() async throws {
    let sink = RecordingSink()
    let inner = OperationManager(
      interceptors: [.intercepting(Upload.self) { _, _ in .discard }], clock: ManualClock())
    let outer = OperationManager(clock: ManualClock())
    outer.report(to: sink)
    _ = await settled(outer.add(AnyManagedTask<Int> { try await inner.run(Upload()) }))
    await sink.lines.wait(forCount: 5)
    #expect(sink.lines.events.last == "error failed AnyManagedTask<Int> (attempt 1): ManagedTaskError")
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
  func add_afterStop_isReportedAsDropped() async throws {
    let sink = RecordingSink()
    let manager = OperationManager(clock: ManualClock())
    await manager.stop()
    manager.report(to: sink)
    let handle = manager.add(Upload())
    #expect(sink.lines.events == ["debug added Upload", "error dropped Upload: ManagedTaskError"])
    #expect(sink.events.first?.id == Int64(handle.id))
  }

  @Test("A sink is released when its manager was and the last attempt has ended, also if a handle is kept")
  func release_handleKept_releasesTheSink() async throws {
    final class Sink: TelemetrySink {
      let kinds: EventRecorder<TelemetryEvent.Kind>

      init(_ kinds: EventRecorder<TelemetryEvent.Kind>) { self.kinds = kinds }

      func receive(_ event: TelemetryEvent) { kinds.record(event.kind) }
    }
    let kinds = EventRecorder<TelemetryEvent.Kind>()
    let work = HeldOperation<Int>()
    var manager: OperationManager? = OperationManager(clock: ManualClock())
    let sink: WeakReference<Sink>
    do {
      let strong = Sink(kinds)
      manager?.report(to: strong)
      sink = WeakReference(strong)
    }
    let handle = manager?.add(AnyManagedTask<Int>(makeOperation: { work }))
    await work.started.wait()
    manager = nil
    let isKept = sink.object != nil
    #expect(isKept)
    work.finish(with: 1)
    await untilReleased(sink)
    #expect(kinds.events.last == .succeeded)
    #expect(handle?.outcome?.value == 1)
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

#if os(macOS) || os(Linux)
@Suite("What managers say without a sink", .timeLimit(.minutes(10)))
struct ManagerWarningTests {
  @Test("A manager that is released with tasks left says so in one line")
  func release_isSaidOnStandardError() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      var manager: OperationManager? = OperationManager(name: "uploads", clock: ManualClock())
      manager?.isSuspended = true
      let handles = (0..<3).compactMap { _ in manager?.add(Upload()) }
      let notStarted = manager?.add(Upload(), startImmediately: false)
      manager = nil
      for handle in handles { _ = await settled(handle) }
      withExtendedLifetime(notStarted) {}
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("ManagedOperations: The manager “uploads” was released with 3 tasks that have not ended."))
    #expect(text.split(separator: "\n").count { $0.contains("ManagedOperations: ") } == 1)
  }

  @Test("So it does of tasks whose group was started, and has not started them")
  func release_groupInOrder_isSaidOnStandardError() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let held = HeldOperation<Int>()
      var manager: OperationManager? = OperationManager(name: "uploads", clock: ManualClock())
      let tasks = [
        AnyManagedTask<Int>(makeOperation: { held }), AnyManagedTask<Int>(makeOperation: { succeeding(2) }),
        AnyManagedTask<Int>(makeOperation: { succeeding(3) }),
      ]
      let group = manager?.add(contentsOf: tasks, inOrder: true)
      let notStarted = manager?.add(contentsOf: tasks, inOrder: true, startImmediately: false)
      await held.started.wait()
      manager = nil
      held.finish(with: 1)
      if let group { _ = await settled(group) }
      withExtendedLifetime(notStarted) {}
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("The manager “uploads” was released with 2 tasks that have not ended."))
  }

  @Test("A manager that takes no more tasks says so once")
  func refusal_isSaidOnceOnStandardError() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let manager = OperationManager(name: "uploads", clock: ManualClock())
      await manager.stop()
      for _ in 0..<3 { _ = await settled(manager.add(Upload())) }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.split(separator: "\n").count { $0.contains("does not take the task Upload") } == 1)
  }

  @Test("With a sink, nothing else is said")
  func sink_keepsStandardErrorEmpty() async throws {
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      var manager: OperationManager? = OperationManager(name: "uploads", clock: ManualClock())
      manager?.isSuspended = true
      manager?.report(to: RecordingSink())
      let handle = manager?.add(Upload())
      manager = nil
      if let handle { _ = await settled(handle) }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(!text.contains("ManagedOperations: "))
  }
}
#endif
