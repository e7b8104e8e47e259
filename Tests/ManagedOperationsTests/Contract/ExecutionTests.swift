import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

@Suite("6 Execution", .timeLimit(.minutes(30))) struct ExecutionTests {
  @Test func suspended_startsNothing_thenAllInOrder() async {
    let recorder = EventRecorder<Int>()
    let manager = OperationManager(clock: ManualClock())
    manager.maxConcurrentOperationCount = 1
    manager.isSuspended = true
    #expect(manager.isSuspended)
    let handles = (0..<5).map { manager.add(Number($0, recorder: recorder)) }
    #expect(handles.allSatisfy { $0.state == .queued })
    handles[2].cancel()
    #expect(handles[2].outcome?.isCancelled == true)
    manager.isSuspended = false
    await manager.waitUntilIdle()
    #expect(recorder.events == [0, 1, 3, 4])
  }

  @Test func queue_limitsAndSuspendsAttempts() async {
    let queue = OperationQueue(limit: 2, suspended: true)
    let gauge = ConcurrencyGauge()
    let manager = OperationManager(operationQueue: queue, clock: ManualClock())
    let group = manager.add(
      contentsOf: (0..<10).map { number in
        AnyManagedTask<Int> {
          gauge.enter()
          await Task.yield()
          gauge.leave()
          return number
        }
      })
    #expect(gauge.total == 0)
    queue.isSuspended = false
    _ = await settled(group)
    #expect(gauge.total == 10 && gauge.maximum <= 2)
  }

  @Test func queue_cancelAllOperations_cancelsTheAttempts() async {
    let queue = OperationQueue(limit: 1)
    let reactions = EventRecorder<Bool>()
    let manager = OperationManager(
      operationQueue: queue,
      reactors: [
        .reacting(when: { outcome, _ in
          reactions.record(outcome.isCancelled)
          return false
        }) { _ in .deliver }
      ], clock: ManualClock())
    let work = NeverFinishingOperation<Int>()
    let running = manager.add(AnyManagedTask(makeOperation: { work }))
    await work.started.wait()
    let waiting = manager.add(Number(1))
    queue.cancelAllOperations()
    #expect(await settled(running).isCancelled)
    #expect(await settled(waiting).isCancelled)
    #expect(reactions.events == [true, true])
    #expect(await settled(manager.add(Number(2))).value == 2)
  }

  @Test func settledFromOutside_givesUpItsWork() async {
    let manager = OperationManager(
      interceptors: [.intercepting(Number.self) { _, _ in .hold }], clock: ManualClock())
    let work = NeverFinishingOperation<Int>()
    let executing = manager.add(AnyManagedTask(makeOperation: { work }))
    let held = manager.add(Number(1))
    await work.started.wait()
    await until(manager.heldTaskCount != 0)
    #expect(executing.finish(with: 5))
    #expect(held.finish(with: 6))
    #expect(manager.heldTaskCount == 0)
    await work.cancelRequested.wait()
    await manager.waitUntilIdle()
    #expect(executing.outcome?.value == 5)
  }

  @Test func blockingCompletion_holdsUpNoOtherTask() async {
    let manager = OperationManager(clock: ManualClock())
    let release = Gate()
    let blocked = Gate()
    let handle = manager.add(Number(1), startImmediately: false)
    handle.completion = { _ in
      blocked.open()
      release.waitBlocking()
    }
    handle.start()
    await blocked.wait()
    #expect(await settled(manager.add(Number(2))).value == 2)
    release.open()
    await manager.waitUntilIdle()
  }

  @Test func timeout_ofTheTask_isOverriddenByTheOneOfAdd() async {
    let clock = ManualClock()
    let manager = OperationManager(clock: clock)
    let operations = (0..<2).map { _ in NeverFinishingOperation<Int>() }
    let tasks = operations.map { operation in AnyManagedTask(timeout: .seconds(5), makeOperation: { operation }) }
    let own = manager.add(tasks[0])
    let other = manager.add(tasks[1], timeout: .seconds(9))
    for operation in operations { await operation.started.wait() }
    clock.advance(by: .seconds(5))
    #expect(managedError(await settled(own))?.code == .timedOut)
    #expect(other.outcome == nil)
    clock.advance(by: .seconds(4))
    #expect(managedError(await settled(other))?.code == .timedOut)
    await manager.waitUntilIdle()
  }

  @Test func timeout_countsEachAttempt_andNoDelay() async throws {
    let clock = ManualClock()
    let manager = OperationManager(
      reactors: [
        .reacting(when: { outcome, _ in outcome.error != nil }) { _ in .requeue(after: .seconds(8)) }
      ], clock: clock)
    let attempts = (0..<2).map { _ in HeldOperation<Int>() }
    let handle = manager.add(Scripted { attempts[$0 - 1] }, timeout: .seconds(3))
    await attempts[0].started.wait()
    clock.advance(by: .seconds(2))
    attempts[0].reject(with: TestError.first)
    await clock.waitForSleeper(dueIn: .seconds(8))
    #expect(handle.state == .delayed)
    clock.advance(by: .seconds(8))
    await attempts[1].started.wait()
    await clock.waitForSleeper(dueIn: .seconds(3))
    clock.advance(by: .seconds(2))
    attempts[1].finish(with: 1)
    #expect(try await handle.value == 1)
  }

  @Test func events_tellTheWay_inOrder() async {
    let manager = OperationManager(
      interceptors: [.batch(maxCount: 2)],
      reactors: [.reacting(when: { outcome, _ in outcome.error != nil }) { _ in .requeue() }], clock: ManualClock()
    )
    var events = manager.events().makeAsyncIterator()
    let handle = manager.add(Scripted { $0 == 1 ? failing(TestError.first) : succeeding($0) })
    manager.add(AnyManagedTask { 0 })
    await manager.waitUntilIdle()
    var kinds: [String] = []
    while let event = await events.next() {
      guard event.taskID == handle.id else { continue }
      #expect(event.droppedCount == 0)
      kinds.append(event.description.split(separator: ": ", maxSplits: 1).last.map(String.init) ?? "")
      if event.kind == .finished { break }
    }
    #expect(
      kinds == [
        "added", "started", "held by .batch", "released by .batch", "queued", "attempt 1 started",
        "attempt 1 ended: failure(test error first)", ".reacting reacts", "requeued", "queued",
        "attempt 2 started",
        "attempt 2 ended: success(2)", "finished: success(2)",
      ])
  }

  @Test func events_notRead_areTheNewest1024AndCounted() async {
    let events: AsyncStream<ManagedEvent>, all: AsyncStream<ManagedEvent>
    do {
      let manager = OperationManager(clock: ManualClock())
      events = manager.events()
      all = manager.events(bufferingPolicy: .unbounded)
      manager.add(contentsOf: (0..<300).map { number in Scripted { _ in succeeding(number) } })
      await manager.waitUntilIdle()
    }
    var total = 0
    for await event in all where event.droppedCount == 0 { total += 1 }
    var dropped: [Int] = []
    for await event in events { dropped.append(event.droppedCount) }
    #expect(dropped == Array(repeating: total - 1_024, count: 1_024))
  }

  @Test func events_endWithTheManager() async {
    let events: AsyncStream<ManagedEvent>
    do { events = OperationManager(clock: ManualClock()).events() }
    for await _ in events { Issue.record("an event of nothing") }
  }

  @Test("A manager that has worked leaves nothing behind: its streams end, and its inside goes")
  func events_endWithTheManager_afterWork() async {
    let events: AsyncStream<ManagedEvent>
    let isReleased = Gate()
    let batch = BatchInterceptor.batch(maxAge: .seconds(3_600)) { $0 is Number }
    let limit = AnyInterceptor.rateLimit(tokens: 2, per: .seconds(3_600)) { $0 is Scripted<Int> ? "" : nil }
    do {
      let probe = ReleaseProbe(isReleased)
      let manager = OperationManager(
        interceptors: [batch, limit],
        reactors: [
          .retrying(
            RetryPolicy(maxAttempts: 2, backoff: .noDelay),
            where: { _ in
              probe.touch()
              return true
            })
        ], clock: ManualClock())
      events = manager.events()
      manager.add(contentsOf: (0..<5).map { Number($0) })
      let group = manager.add(
        contentsOf: (0..<4).map { _ in Scripted { $0 == 1 ? failing(TestError.first) : succeeding($0) } })
      await until(manager.heldTaskCount >= 7)
      #expect(batch.count == 5)
      group.cancel()
      manager.add(Scripted<Int> { _ in succeeding(1) }, startImmediately: false, after: .seconds(3_600)).start()
    }
    var finished = 0
    for await event in events { if event.kind == .finished { finished += 1 } }
    #expect(finished == 10)
    await isReleased.wait()
    #expect(batch.count == 0 && batch.flush() == 0)
  }
}
