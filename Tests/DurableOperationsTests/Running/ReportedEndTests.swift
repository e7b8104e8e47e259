import CompositeOperations
import CompositeOperationsTestKit
import Foundation
import TestSupport
import Testing

@testable import DurableOperations

/// When a wait returns, the listeners have returned for what it waited for.
@Suite(.timeLimit(.minutes(30))) struct ReportedEndTests {
  /// Holds the thread that reports one kind of event, until it is released.
  private final class HoldingSink: TelemetrySink {
    let isHeld = Gate(), proceed = Gate()
    private let kind: String
    private let order: EventRecorder<String>

    init(_ kind: String, _ order: EventRecorder<String>) { (self.kind, self.order) = (kind, order) }

    func receive(_ event: TelemetryEvent) { hold(event.kind.rawValue) }

    func hold(_ kind: String) {
      guard kind == self.kind else { return }
      isHeld.open()
      proceed.waitBlocking()
      order.record("reported")
    }

    /// Releases the thread after all else that the queue does now.
    func release(after queue: DurableQueue) async {
      for _ in 0..<20 {
        await queue.hasNothingUnderWay()
        for _ in 0..<50 { await Task.yield() }
      }
      proceed.open()
    }
  }

  /// A job that does not end, until the sink is told so on the thread of a timer.
  private func heldAttempt(
    _ harness: Harness, _ sink: HoldingSink, _ operation: NeverFinishingOperation<Void>, end: () async throws -> Void
  ) async throws {
    try await harness.queue.register(Count.self) { _, _ in operation }
    harness.queue.start()
    try await harness.queue.enqueue(Count(number: 1))
    await operation.started.wait()
    try await end()
    await operation.cancelRequested.wait()
    await harness.clock.waitForSleeper(dueIn: .seconds(10))
    let clock = harness.clock
    Thread.detachNewThread { clock.advance(by: .seconds(10)) }
    await sink.isHeld.wait()
    operation.release()
  }

  @Test(arguments: Engine.available) func sinkIsHeld_onAnotherThread_theIdleQueueWaitsForIt(on engine: Engine)
    async throws
  {
    let harness = try Harness(engine.location()), queue = harness.queue, order = EventRecorder<String>()
    let sink = HoldingSink("unresponsive", order), operation = NeverFinishingOperation<Void>(holdsOn: true)
    queue.report(to: sink)
    try await heldAttempt(harness, sink, operation) { _ = try await queue.cancelAll(kind: Count.kind) }
    let idle = Task {
      try await queue.waitUntilIdle()
      order.record("idle")
    }
    let settled = Task {
      _ = try await queue.waitUntilSettled(JobID(rawValue: 1))
      order.record("settled")
    }
    await until((try? await queue.counts()[.executing]) == 0)
    await sink.release(after: queue)
    try await idle.value
    try await settled.value
    #expect(order.events.first == "reported", "\(order.events)")
    await queue.stop()
  }

  @Test(arguments: Engine.available) func logHandlerIsHeld_onAnotherThread_theStopWaitsForIt(on engine: Engine)
    async throws
  {
    let order = EventRecorder<String>(), sink = HoldingSink("unresponsive", order)
    let harness = try Harness(engine.location()) { $0.logHandler = { sink.hold($0.kind.description) } }
    let queue = harness.queue, operation = NeverFinishingOperation<Void>(holdsOn: true), isStopping = Gate()
    let stopped = Task {
      await isStopping.wait()
      await queue.stop(grace: .zero)
      order.record("stopped")
    }
    try await heldAttempt(harness, sink, operation) { isStopping.open() }
    await until(queue.core.withLock { $0.state.phase == .idle })
    await sink.release(after: queue)
    await stopped.value
    #expect(order.events == ["reported", "stopped"])
  }

  /// A call on another thread has changed the job, and reports that.
  @Test(arguments: Engine.available) func sinkIsHeld_byTheCallThatMadeTheQueueIdle_theIdleQueueWaitsForIt(
    on engine: Engine
  ) async throws {
    let harness = try Harness(engine.location()), queue = harness.queue, order = EventRecorder<String>()
    let sink = HoldingSink("cancelled", order)
    queue.report(to: sink)
    try await queue.register(Count.self) { _, _ in BlockOperation {} }
    try await queue.pause(kind: Count.kind)
    let id = try await queue.enqueue(Count(number: 1))
    let idle = Task {
      try await queue.waitUntilIdle()
      order.record("idle")
    }
    await queue.hasWaiter()
    let hasReturned = Gate()
    Thread.detachNewThread {
      _ = try? queue.cancel(id)
      hasReturned.open()
    }
    await sink.isHeld.wait()
    // A look of the queue, which may find it idle. A file has one thread for both.
    queue.core.database.async { queue.core.wakeWaiters(in: $0) }
    if engine == .postgres {
      await sink.release(after: queue)
    } else {
      for _ in 0..<1000 { await Task.yield() }
      sink.proceed.open()
    }
    try await idle.value
    await hasReturned.wait()
    #expect(order.events == ["reported", "idle"])
  }
}
