import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

@Suite("6 OperationManager", .timeLimit(.minutes(30))) struct ManagerTests {
  @Test func add_started_givesTheValue() async throws {
    let manager = OperationManager(clock: ManualClock())
    let handle = manager.add(Number(7))
    #expect(try await handle.value == 7)
    #expect(handle.state == .finished)
    #expect(try await manager.run(Number(8)) == 8)
  }

  @Test func add_notStarted_waitsForItsStart() async throws {
    let manager = OperationManager(clock: ManualClock())
    let recorder = EventRecorder<Int>()
    let handle = manager.add(Number(7, recorder: recorder), startImmediately: false)
    #expect(handle.state == .pending)
    await manager.waitUntilIdle()
    #expect(recorder.events == [])
    handle.start()
    handle.start()
    #expect(try await handle.value == 7)
    #expect(recorder.events == [7])
  }

  @Test func handle_inACompositeOrQueue_isStartedByIt() async throws {
    let manager = OperationManager(clock: ManualClock())
    let queue = OperationQueue(limit: 1)
    let handles = (0..<3).map { manager.add(Number($0), startImmediately: false) }
    let composite = CompositeOperation(operations: [handles[0], handles[1]], operationQueue: queue)
    #expect(try await composite.run() as? [Int] == [0, 1])
    queue.addOperation(handles[2])
    #expect(try await handles[2].value == 2)
    #expect(try await manager.add(Number(3), startImmediately: false).then { succeeding($0 + 1) }.run() == 4)
  }

  @Test func cancel_pending_settlesAtOnce() async {
    let manager = OperationManager(clock: ManualClock())
    let handle = manager.add(Number(7), startImmediately: false)
    handle.cancel()
    #expect(handle.outcome?.isCancelled == true)
    #expect(handle.isFinished)
    handle.cancel()
    handle.start()
    await manager.waitUntilIdle()
  }

  @Test func cancel_executing_settlesWhenTheOperationHasEnded() async {
    let manager = OperationManager(clock: ManualClock())
    let operation = NeverFinishingOperation<Int>(holdsOn: true)
    let handle = manager.add(AnyManagedTask { operation })
    await operation.started.wait()
    #expect(handle.state == .executing)
    handle.cancel()
    await operation.cancelRequested.wait()
    #expect(handle.outcome == nil)
    operation.release()
    #expect(await settled(handle).isCancelled)
    await manager.waitUntilIdle()
  }

  @Test func after_delay_countsFromTheStart() async throws {
    let clock = ManualClock()
    let manager = OperationManager(clock: clock)
    let handle = manager.add(Number(7), startImmediately: false, after: .seconds(5))
    clock.advance(by: .seconds(10))
    #expect(handle.state == .pending)
    handle.start()
    #expect(handle.state == .delayed)
    await clock.waitForSleeper(dueIn: .seconds(5))
    clock.advance(by: .seconds(5))
    #expect(try await handle.value == 7)
  }

  @Test func timeout_executing_failsAtOnceAndCancels() async {
    let clock = ManualClock()
    let manager = OperationManager(clock: clock)
    let operation = NeverFinishingOperation<Int>(holdsOn: true)
    let handle = manager.add(AnyManagedTask { operation }, timeout: .seconds(3))
    await operation.started.wait()
    await clock.waitForSleeper(dueIn: .seconds(3))
    clock.advance(by: .seconds(3))
    #expect(managedError(await settled(handle))?.code == .timedOut)
    await operation.cancelRequested.wait()
    operation.release()
    await manager.waitUntilIdle()
  }

  @Test func released_withWork_onlyExecutingWorkGoesOn() async {
    let operation = NeverFinishingOperation<Int>(holdsOn: true)
    var manager: OperationManager? = OperationManager(
      interceptors: [
        .intercepting(Number.self) { _, _ in .hold }
      ], clock: ManualClock())
    let executing = manager!.add(AnyManagedTask { operation })
    let held = manager!.add(Number(1))
    let pending = manager!.add(Number(2), startImmediately: false)
    await operation.started.wait()
    manager = nil
    #expect(managedError(await settled(held))?.code == .managerReleased)
    #expect(managedError(await settled(pending))?.code == .managerReleased)
    #expect(executing.outcome == nil)
    operation.finish(with: 3)
    #expect(await settled(executing).value == 3)
  }

  @Test func stop_withoutGrace_cancelsEverythingAtOnce() async {
    let manager = OperationManager(
      interceptors: [.intercepting(Number.self) { _, _ in .hold }], clock: ManualClock())
    let operation = NeverFinishingOperation<Int>()
    let executing = manager.add(AnyManagedTask { operation })
    let held = manager.add(Number(1))
    let pending = manager.add(Number(2), startImmediately: false)
    await operation.started.wait()
    await manager.stop()
    for handle in [executing, held, pending] { #expect(handle.outcome?.isCancelled == true) }
    #expect(managedError(await settled(manager.add(Number(3))))?.code == .stopped)
    await manager.stop()
  }

  @Test func stop_withAnUnstartedHandleInASuspendedQueue_returns() async {
    var manager: OperationManager? = OperationManager(clock: ManualClock())
    let stream = manager!.events()
    let queue = OperationQueue(limit: 1, suspended: true)
    let completions = Locked(0)
    let handles = (0..<3).map { manager!.add(Number($0), startImmediately: false) }
    for handle in handles {
      handle.completion = { _ in completions.increment() }
      queue.addOperation(handle)
    }
    handles[0].cancel()
    await manager!.waitUntilIdle()
    handles[1].finish(with: 7)
    await manager!.stop()
    #expect(completions.current == 3)
    #expect(handles.map { $0.outcome?.value } == [nil, 7, nil])
    queue.isSuspended = false
    for handle in handles { await finished(handle) }
    manager = nil
    var told: [Int] = []
    for await event in stream where event.kind == .finished { told.append(event.taskID) }
    #expect(told == handles.map(\.id))
  }

  @Test func stop_withGrace_executingWorkEndsWithinIt() async {
    let clock = ManualClock()
    let reactions = Locked(0)
    let manager = OperationManager(
      interceptors: [.intercepting(Number.self) { _, _ in .hold }],
      reactors: [
        .reacting(when: { _, _ in
          reactions.increment()
          return true
        }) { _ in .requeue() }
      ], clock: clock)
    let operations = (0..<2).map { _ in HeldOperation<Int>() }
    let executing = operations.map { operation in manager.add(AnyManagedTask(makeOperation: { operation })) }
    for operation in operations { await operation.started.wait() }
    let waiting = [
      manager.add(Number(1)), manager.add(Number(2), startImmediately: false),
      manager.add(Number(3), after: .seconds(9)),
    ]
    await until(waiting[0].state == .held)
    let stopped = Task { await manager.stop(grace: .seconds(5)) }
    for handle in waiting { #expect(await settled(handle).isCancelled) }
    #expect(executing.allSatisfy { $0.outcome == nil })
    #expect(managedError(await settled(manager.add(Number(4))))?.code == .stopped)
    operations[0].finish(with: 7)
    operations[1].reject(with: TestError.first)
    await stopped.value
    #expect(executing[0].outcome?.value == 7)
    #expect(executing[1].outcome?.error as? TestError == .first)
    #expect(reactions.current == 0)
  }

  @Test func stop_graceHasPassed_cancelsExecutingWork() async {
    let clock = ManualClock()
    let manager = OperationManager(clock: clock)
    let operation = NeverFinishingOperation<Int>()
    let handle = manager.add(AnyManagedTask(makeOperation: { operation }))
    await operation.started.wait()
    let stopped = Task { await manager.stop(grace: .seconds(5)) }
    await clock.waitForSleeper(dueIn: .seconds(5))
    clock.advance(by: .seconds(4))
    #expect(handle.outcome == nil)
    clock.advance(by: .seconds(1))
    await stopped.value
    #expect(handle.outcome?.isCancelled == true)
  }

  @Test(arguments: [nil, Duration.zero, .seconds(-1)])
  func stop_duringAGrace_withoutOne_cancelsAtOnce(_ grace: Duration?) async {
    let clock = ManualClock()
    let manager = OperationManager(clock: clock)
    let operation = NeverFinishingOperation<Int>()
    let handle = manager.add(AnyManagedTask(makeOperation: { operation }))
    await operation.started.wait()
    let stopped = Task { await manager.stop(grace: .seconds(5)) }
    await clock.waitForSleeper(dueIn: .seconds(5))
    await manager.stop(grace: grace)
    #expect(handle.outcome?.isCancelled == true)
    await stopped.value
    // A grace that comes too late changes nothing.
    await manager.stop(grace: .seconds(5))
  }

  @Test func run_callerCancelled_cancelsTheTask() async {
    let manager = OperationManager(clock: ManualClock())
    let operation = NeverFinishingOperation<Int>()
    let task = Task { try await manager.run(AnyManagedTask { operation }) }
    await operation.started.wait()
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func run_callerCancelledBefore_startsNothing() async {
    let manager = OperationManager(clock: ManualClock())
    let events = manager.events()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await manager.run(Number(1))
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    var kinds: [ManagedEvent.Kind] = []
    for await event in events {
      kinds.append(event.kind)
      if event.kind == .finished { break }
    }
    #expect(kinds == [.added, .finished])
  }
}
