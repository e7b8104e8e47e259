import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

/// When a call that waits returns, sinks and observers have returned, too.
@Suite("6 Waiting for what is reported", .timeLimit(.minutes(30))) struct ReportedBeforeReturnTests {
  private struct ClosureSink: TelemetrySink {
    let body: @Sendable (TelemetryEvent) -> Void

    func receive(_ event: TelemetryEvent) { body(event) }
  }

  /// Returns what happens in order if a sink holds another thread, which is adding a task, while
  /// `wait` waits for other tasks.
  private func order(_ wait: @escaping @Sendable (OperationManager) async -> Void) async -> [String] {
    let (isHeld, release) = (Gate(), Gate())
    let order = EventRecorder<String>()
    let heldID = Locked<Int64?>(nil)
    let manager = OperationManager(clock: ManualClock())
    manager.report(
      to: ClosureSink { event in
        let isFirst = heldID.withLock { id in
          defer { id = id ?? event.id }
          return id == nil
        }
        if isFirst {
          isHeld.open()
          release.waitBlocking()
        }
        let isEnd = event.kind == .succeeded || event.kind == .cancelled
        if isEnd, event.id != heldID.current { order.record("told \(event.kind.rawValue)") }
      })
    let adding = Task { await onThread { _ = manager.add(Number(0), startImmediately: false) } }
    await isHeld.wait()
    let waiting = Task {
      await wait(manager)
      order.record("returned")
    }
    // What does not wait for the sink returns here.
    await settleDown()
    release.open()
    await waiting.value
    await adding.value
    return order.events
  }

  @Test func waitUntilIdle_whileASinkHoldsAnotherThread_returnsAfterTheSink() async {
    let events = await order { manager in
      manager.add(Number(1))
      await manager.waitUntilIdle()
    }
    #expect(events == ["told succeeded", "returned"])
  }

  @Test func waitUntilIdle_ofAManagerThatIsIdle_returnsAfterTheSink() async {
    let events = await order { manager in
      let handle = manager.add(Number(1))
      await until(handle.isFinished)
      await settleDown()
      await manager.waitUntilIdle()
    }
    #expect(events == ["told succeeded", "returned"])
  }

  @Test(arguments: [nil, Duration.seconds(1)])
  func stop_whileASinkHoldsAnotherThread_returnsAfterTheSink(grace: Duration?) async {
    let events = await order { manager in
      let waiting = manager.add(Number(1), after: .seconds(5))
      await manager.stop(grace: grace)
      withExtendedLifetime(waiting) {}
    }
    #expect(events == ["told cancelled", "returned"])
  }

  @Test func run_whileASinkHoldsAnotherThread_returnsAfterTheSink() async {
    let events = await order { manager in _ = try? await manager.run(Number(1)) }
    #expect(events == ["told succeeded", "returned"])
  }

  @Test func run_ofAHandleAndInAQueue_whileASinkHoldsAnotherThread_returnsAfterTheSink() async {
    let run = await order { manager in _ = try? await manager.add(Number(1), startImmediately: false).run() }
    #expect(run == ["told succeeded", "returned"])
    let inQueue = await order { manager in
      _ = try? await OperationQueue().run(manager.add(Number(1), startImmediately: false))
    }
    #expect(inQueue == ["told succeeded", "returned"])
  }

  @Test func value_ofASettledHandle_whileASinkHoldsAnotherThread_returnsAfterTheSink() async {
    let events = await order { manager in
      let handle = manager.add(Number(1))
      await until(handle.isFinished)
      await settleDown()
      _ = try? await handle.value
    }
    #expect(events == ["told succeeded", "returned"])
  }

  @Test(arguments: [false, true])
  func run_ofAGroup_whileASinkHoldsAnotherThread_returnsAfterTheSink(inOrder: Bool) async {
    let events = await order { manager in
      _ = try? await manager.run(contentsOf: [Number(1), Number(2)], inOrder: inOrder)
    }
    #expect(events == ["told succeeded", "told succeeded", "returned"])
  }

  @Test("An observer of a group or a handle that holds the thread that cancels it is waited for")
  func waitUntilIdle_whileAnObserverHoldsAnotherThread_returnsAfterTheObserver() async {
    for isGroup in [true, false] {
      let (isHeld, release) = (Gate(), Gate())
      let order = EventRecorder<String>()
      let manager = OperationManager(clock: ManualClock())
      let work = HeldOperation<Int>()
      let task = AnyManagedTask(makeOperation: { work })
      let watched: SettlingOperation = isGroup ? manager.add(contentsOf: [task]) : manager.add(task)
      watched.addObserver { event in
        if event.kind == .cancelled {
          isHeld.open()
          release.waitBlocking()
        }
        if event.kind == .settled { order.record("observed") }
      }
      await work.started.wait()
      let cancelling = Task { await onThread { watched.cancel() } }
      await isHeld.wait()
      let waiting = Task {
        await manager.waitUntilIdle()
        order.record("returned")
      }
      work.finish(with: 1)
      await settleDown()
      release.open()
      await waiting.value
      await cancelling.value
      #expect(order.events == ["observed", "returned"])
    }
  }

  @Test("A sink may wait in a task of its own, for the manager and for the task that it is told of")
  func wait_inATaskOfASink_returns() async throws {
    let returned = EventRecorder<String>()
    let manager = OperationManager(clock: ManualClock())
    let known = Locked<OperationHandle<Int>?>(nil)
    manager.report(
      to: ClosureSink { event in
        guard event.kind == .succeeded, let handle = known.current else { return }
        Task {
          _ = try await handle.value
          returned.record("value")
        }
        Task {
          await manager.waitUntilIdle()
          returned.record("idle")
        }
      })
    let handle = manager.add(Number(1), startImmediately: false)
    known.withLock { $0 = handle }
    handle.start()
    await manager.waitUntilIdle()
    await returned.wait(forCount: 2)
    known.withLock { $0 = nil }
  }

  @Test("Many tasks wait for many handles, and each finds that the sink has been told of its handle")
  func value_ofManyHandlesAtOnce_returnsAfterTheSink() async throws {
    let told = Locked<Set<Int64>>([])
    let manager = OperationManager()
    manager.report(
      to: ClosureSink { event in
        if event.kind == .succeeded, let id = event.id { told.withLock { _ = $0.insert(id) } }
      })
    let missing = Locked(0)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for number in 0..<Scale.count(400, least: 100) {
            let handle = manager.add(Number(number))
            _ = try await handle.value
            if !told.current.contains(Int64(handle.id)) { missing.increment() }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(missing.current == 0)
  }
}
