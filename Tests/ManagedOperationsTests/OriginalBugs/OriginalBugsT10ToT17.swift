import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

/// The rest of the list. T14 is about HTTP, and stands with that.
@Suite("6 Bugs T10 to T17 of the original", .timeLimit(.minutes(30)))
struct OriginalBugsT10ToT17 {
  @Test("T10 Nothing is kept of tasks that are done: neither the task nor its handle nor its operation")
  func t10_doneTasks_areReleased() async {
    let released = (0..<3).map { _ in Gate() }
    let manager = OperationManager(
      interceptors: [.batch(maxCount: 1)],
      reactors: [.reacting(when: { outcome, _ in outcome.error != nil }) { _ in .requeue() }], clock: ManualClock()
    )
    do {
      let probes = released.map(ReleaseProbe.init)
      manager.add(
        Scripted { attempt in
          probes[0].touch()
          return attempt == 1 ? failing(TestError.first) : succeeding(1)
        })
      let cancelled = manager.add(
        Scripted { [probe = probes[1]] _ in
          probe.touch()
          return succeeding(1)
        }, startImmediately: false)
      cancelled.cancel()
      _ = manager.add(
        Scripted { [probe = probes[2]] _ in
          probe.touch()
          return succeeding(1)
        }, startImmediately: false)
    }
    for gate in released { await gate.wait() }
    await manager.waitUntilIdle()
  }

  @Test("T11 A reactor that blocks its thread is given up in time all the same")
  func t11_blockingReactor_timesOut() async {
    let clock = ManualClock()
    let reacting = Gate()
    let unblock = Gate()
    let manager = OperationManager(
      reactors: [
        .reacting(
          configuration: ReactorConfiguration(timeout: .seconds(2)), when: { outcome, _ in outcome.error != nil }
        ) { _ in
          reacting.open()
          await onWorker { unblock.waitBlocking() }
          return .requeue()
        }
      ], clock: clock)
    let handle = manager.add(Scripted<Int> { _ in failing(TestError.first) })
    await reacting.wait()
    await clock.waitForSleeper(dueIn: .seconds(2))
    clock.advance(by: .seconds(2))
    let error = managedError(await settled(handle))
    #expect(error?.code == .reactionTimedOut)
    #expect(error?.original as? TestError == .first)
    unblock.open()
    await manager.waitUntilIdle()
  }

  @Test("T12 Several tasks complete once, in the order of input, and a cancel reaches all of them")
  func t12_groups_completeOnce() async throws {
    for _ in 0..<50 {
      let manager = OperationManager(clock: ManualClock())
      let spy = CompletionSpy<[Outcome<Int>]>()
      let group = manager.add(contentsOf: (0..<20).map { Number($0) }, startImmediately: false)
      group.completion = spy.completion
      group.start()
      #expect(try await group.value.map(\.value) == Array(0..<20))
      #expect(spy.count == 1)
    }
    let manager = OperationManager(clock: ManualClock())
    let operations = (0..<5).map { _ in NeverFinishingOperation<Int>() }
    let group = manager.add(contentsOf: operations.map { operation in AnyManagedTask(makeOperation: { operation }) })
    for operation in operations { await operation.started.wait() }
    group.cancel()
    #expect(await settled(group).isCancelled)
    for operation in operations { #expect(operation.outcome?.isCancelled == true) }
    await manager.waitUntilIdle()
  }

  @Test("T13 Waiting blocks no thread: many tasks that wait for tasks end")
  func t13_waitingBlocksNoThread() async throws {
    let manager = OperationManager(clock: ManualClock())
    let outer = manager.add(
      contentsOf: (0..<63).map { number in
        AnyManagedTask { try await manager.run(contentsOf: [Number(number)], inOrder: true)[0].get() }
      })
    #expect(try await outer.value.compactMap(\.value) == Array(0..<63))
  }

  @Test("T15 No text is made of an event that is not read, and an event may lead to another task")
  func t15_events_areTextForReadersOnly() async throws {
    let described = Locked(0)
    struct Telling: Error, CustomStringConvertible {
      let described: Locked<Int>
      var description: String {
        described.increment()
        return "telling"
      }
    }
    let manager = OperationManager(clock: ManualClock())
    let task = Scripted<Int> { _ in failing(Telling(described: described)) }
    let unread = manager.events()
    _ = await settled(manager.add(task))
    await manager.waitUntilIdle()
    #expect(described.current == 0)
    let lines = EventRecorder<String>()
    let events = manager.events()
    let reader = Task {
      for await event in events where event.kind == .attemptEnded {
        lines.record("\(event)")
        if lines.count < 4 { manager.add(Scripted<Int> { _ in failing(TestError.first) }) }
      }
    }
    _ = await settled(manager.add(task))
    await lines.wait(forCount: 4)
    #expect(described.current > 0)
    #expect(lines.events[0].hasSuffix("attempt 1 ended: failure(telling)"))
    await manager.waitUntilIdle()
    reader.cancel()
    withExtendedLifetime(unread) {}
  }

  @Test("T16 One task may be added any number of times, each with a handle of its own")
  func t16_taskAddedTwice_twoHandles() async throws {
    let manager = OperationManager(clock: ManualClock())
    let task = Scripted<Int> { attempt in succeeding(attempt) }
    let handles = [manager.add(task), manager.add(task)]
    let values = try await [handles[0].value, handles[1].value]
    #expect(values.sorted() == [1, 2])
    #expect(handles[0].id != handles[1].id)
  }

  @Test("T17 There are limits, retries with backoff, and progress")
  func t17_limitsRetriesAndProgress() async throws {
    let gauge = ConcurrencyGauge()
    let manager = OperationManager(
      reactors: [.retrying(RetryPolicy(maxAttempts: 2, backoff: .noDelay))], clock: ManualClock())
    manager.maxConcurrentOperationCount = 2
    #expect(manager.maxConcurrentOperationCount == 2)
    let group = manager.add(
      contentsOf: (0..<20).map { number in
        Scripted<Int> { attempt in
          SimpleOperation<Int> { operation in
            gauge.enter()
            DispatchQueue.global().async {
              gauge.leave()
              if attempt == 1 { operation.reject(with: TestError.first) } else { operation.finish(with: number) }
            }
          }
        }
      })
    #expect(try await group.value.map(\.value) == Array(0..<20))
    #expect(gauge.maximum <= 2)
    #expect(gauge.total == 40)

    let work = HeldOperation<Int>()
    let handle = manager.add(AnyManagedTask(makeOperation: { work }))
    await work.started.wait()
    #expect(handle.fractionCompleted == 0)
    let fractions = EventRecorder<Double>()
    handle.addObserver { event in
      if let fraction = event.fractionCompleted { fractions.record(fraction) }
    }
    work.reportProgress(0.5)
    await fractions.wait(for: 0.5)
    #expect(handle.fractionCompleted == 0.5)
    work.finish(with: 1)
    #expect(await settled(handle).value == 1)
    #expect(handle.fractionCompleted == 1)
  }
}
