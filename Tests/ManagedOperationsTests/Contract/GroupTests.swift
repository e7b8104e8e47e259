import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

@Suite("6 Groups of tasks", .timeLimit(.minutes(30))) struct GroupTests {
  @Test func inOrder_oneAfterTheOther_whateverTheOutcome() async throws {
    let manager = OperationManager(clock: ManualClock())
    let gauge = ConcurrencyGauge()
    let recorder = EventRecorder<Int>()
    let group = manager.add(
      contentsOf: (0..<10).map { number in
        AnyManagedTask<Int> {
          gauge.enter()
          recorder.record(number)
          await Task.yield()
          gauge.leave()
          if number == 3 { throw TestError.first }
          return number
        }
      }, inOrder: true)
    let outcomes = try await group.value
    #expect(outcomes.map(\.value) == [0, 1, 2, nil, 4, 5, 6, 7, 8, 9])
    #expect(outcomes[3].error as? TestError == .first)
    #expect(gauge.maximum == 1)
    #expect(recorder.events == Array(0..<10))
  }

  @Test func empty_succeeds() async throws {
    let manager = OperationManager(clock: ManualClock())
    for inOrder in [true, false] {
      #expect(try await manager.run(contentsOf: [Number](), inOrder: inOrder).isEmpty)
    }
    for await _ in manager.add(contentsOf: [Number]()).outcomesAsTheyCome { Issue.record("an outcome of no task") }
    let cancelled = manager.add(contentsOf: [Number](), startImmediately: false)
    cancelled.cancel()
    #expect(cancelled.outcome?.isCancelled == true)
  }

  @Test(arguments: [false, true])
  func run_callerCancelledBefore_startsNothing(inOrder: Bool) async {
    let manager = OperationManager(clock: ManualClock())
    let events = manager.events()
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return try await manager.run(contentsOf: [Number(1), Number(2)], inOrder: inOrder)
    }
    await #expect(throws: CancellationError.self) { try await task.value }
    var kinds: [ManagedEvent.Kind] = []
    for await event in events {
      kinds.append(event.kind)
      if kinds.count(where: { $0 == .finished }) == 2 { break }
    }
    #expect(kinds == [.added, .added, .finished, .finished])
  }

  @Test func asTheyCome_givesEachOnce_alsoToLateReaders() async {
    let manager = OperationManager(clock: ManualClock())
    let operations = (0..<4).map { _ in HeldOperation<Int>() }
    let group = manager.add(contentsOf: operations.map { operation in AnyManagedTask(makeOperation: { operation }) })
    for operation in operations { await operation.started.wait() }
    var early = group.outcomesAsTheyCome.makeAsyncIterator()
    for index in [2, 0, 3] {
      operations[index].finish(with: index)
      let next = await early.next()
      #expect(next?.index == index && next?.outcome.value == index)
    }
    operations[1].reject(with: TestError.first)
    #expect(await early.next()?.index == 1)
    #expect(await early.next() == nil)
    var late: [Int] = []
    for await (index, _) in group.outcomesAsTheyCome { late.append(index) }
    #expect(late == [2, 0, 3, 1])
  }

  @Test func cancel_pending_cancelsAllAtOnce() async {
    let manager = OperationManager(clock: ManualClock())
    let group = manager.add(contentsOf: (0..<3).map { Number($0) }, startImmediately: false)
    group.cancel()
    #expect(group.outcome?.isCancelled == true)
    #expect(group.handles.allSatisfy { $0.outcome?.isCancelled == true })
    group.start()
    await manager.waitUntilIdle()
  }

  @Test func cancel_inOrder_startsNoMore() async {
    let manager = OperationManager(clock: ManualClock())
    let recorder = EventRecorder<Int>()
    let first = NeverFinishingOperation<Int>()
    let group = manager.add(
      contentsOf: (0..<3).map { number in
        AnyManagedTask(makeOperation: {
          recorder.record(number)
          return number == 0 ? first : succeeding(number)
        })
      }, inOrder: true)
    await first.started.wait()
    group.cancel()
    #expect(await settled(group).isCancelled)
    await manager.waitUntilIdle()
    #expect(recorder.events == [0])
  }

  @Test func cancel_inOrder_whileHeld_startsNoMore() async {
    for _ in 0..<50 {
      let asked = EventRecorder<Int>()
      let manager = OperationManager(
        interceptors: [
          .intercepting(Number.self) { task, _ in
            asked.record(task.number)
            return .hold
          }
        ], clock: ManualClock())
      let group = manager.add(contentsOf: (0..<20).map { Number($0) }, inOrder: true)
      await asked.wait(forCount: 1)
      group.cancel()
      #expect(await settled(group).isCancelled)
      await manager.waitUntilIdle()
      #expect(asked.events == [0])
    }
  }

  @Test func cancel_whenAllMembersHaveSettledByThemselves_settlesTheGroup() async {
    let manager = OperationManager(clock: ManualClock())
    let group = manager.add(contentsOf: (0..<3).map { Number($0) }, startImmediately: false)
    for handle in group.handles {
      handle.start()
      _ = await settled(handle)
    }
    group.cancel()
    #expect(group.outcome?.isCancelled == true)
  }

  @Test func waitUntilIdle_inOrder_waitsForTheWholeGroupAndItsCompletion() async {
    for _ in 0..<50 {
      let manager = OperationManager(clock: ManualClock())
      let completed = Locked(false)
      let group = manager.add(contentsOf: (0..<5).map { Number($0) }, inOrder: true, startImmediately: false)
      group.completion = { _ in completed.withLock { $0 = true } }
      group.start()
      await manager.waitUntilIdle()
      #expect(completed.current)
      #expect(group.outcome?.value?.count == 5)
    }
  }

  @Test func member_cancelledByItself_isAnOutcome() async throws {
    let manager = OperationManager(clock: ManualClock())
    let group = manager.add(contentsOf: (0..<3).map { Number($0) }, inOrder: true, startImmediately: false)
    group.handles[1].cancel()
    let outcomes = try await group.run()
    #expect(outcomes.map(\.value) == [0, nil, 2])
    #expect(outcomes[1].isCancelled)
  }

  @Test func inOrder_handlesWithPriorities_keepTheOrderOfTheTasks() async throws {
    let manager = OperationManager(clock: ManualClock())
    let recorder = EventRecorder<Int>()
    let group = manager.add(
      contentsOf: (0..<6).map { number in
        AnyManagedTask<Int> {
          recorder.record(number)
          return number
        }
      }, inOrder: true, startImmediately: false)
    for (index, handle) in group.handles.enumerated() { handle.queuePriority = index < 3 ? .veryLow : .veryHigh }
    _ = try await group.run()
    #expect(recorder.events == Array(0..<6))
  }

  @Test(arguments: [true, false])
  func settledFromOutside_cancelsItsTasks(inOrder: Bool) async {
    let manager = OperationManager(clock: ManualClock())
    let work = NeverFinishingOperation<Int>()
    let group = manager.add(
      contentsOf: [AnyManagedTask(makeOperation: { work }), AnyManagedTask(makeOperation: { succeeding(1) })],
      inOrder: inOrder)
    await work.started.wait()
    #expect(group.finish(with: []))
    await work.cancelRequested.wait()
    await manager.waitUntilIdle()
    #expect(group.result?.isEmpty == true && group.handles.allSatisfy(\.isFinished))
  }

  @Test func inOrder_memberStartedByItself_isAwaitedInItsTurn() async throws {
    let manager = OperationManager(clock: ManualClock())
    let operations = (0..<3).map { _ in HeldOperation<Int>() }
    let group = manager.add(
      contentsOf: operations.map { operation in AnyManagedTask(makeOperation: { operation }) }, inOrder: true,
      startImmediately: false)
    group.handles[1].start()
    await operations[1].started.wait()
    group.start()
    await operations[0].started.wait()
    operations[0].finish(with: 0)
    #expect(try await group.handles[0].value == 0)
    #expect(group.handles[2].state == .pending)
    operations[1].finish(with: 1)
    await operations[2].started.wait()
    operations[2].finish(with: 2)
    #expect(try await group.value.map(\.value) == [0, 1, 2])
  }

  @Test(arguments: [true, false])
  func member_withADependency_startsWhenThatHasFinished(inOrder: Bool) async throws {
    let manager = OperationManager(clock: ManualClock())
    let dependency = HeldOperation<Int>()
    let group = manager.add(contentsOf: (0..<3).map { Number($0) }, inOrder: inOrder, startImmediately: false)
    group.handles[0].addDependency(dependency)
    group.start()
    if !inOrder { for handle in group.handles[1...] { _ = await settled(handle) } }
    #expect(group.handles[0].state == .pending && group.outcome == nil)
    dependency.start()
    dependency.finish(with: 7)
    #expect(try await group.value.map(\.value) == [0, 1, 2])
  }

  @Test func member_thatDependsOnAnother_startsAfterIt() async throws {
    let manager = OperationManager(clock: ManualClock())
    let recorder = EventRecorder<Int>()
    let group = manager.add(contentsOf: (0..<3).map { Number($0, recorder: recorder) }, startImmediately: false)
    group.handles[0].addDependency(group.handles[2])
    #expect(try await group.run().map(\.value) == [0, 1, 2])
    let order = recorder.events
    #expect(try #require(order.firstIndex(of: 2)) < #require(order.firstIndex(of: 0)))
  }

  @Test(arguments: [true, false])
  func cancel_unstarted_whileAMemberExecutes_settlesWhenThatHas(inOrder: Bool) async {
    let manager = OperationManager(clock: ManualClock())
    let operation = HeldOperation<Int>()
    let group = manager.add(
      contentsOf: (0..<3).map { number in
        AnyManagedTask(makeOperation: { number == 1 ? operation : succeeding(number) })
      }, inOrder: inOrder, startImmediately: false)
    group.handles[1].start()
    await operation.started.wait()
    group.cancel()
    #expect(group.handles[0].outcome?.isCancelled == true && group.handles[2].outcome?.isCancelled == true)
    #expect(group.outcome == nil)
    group.start()
    #expect(group.outcome == nil)
    operation.finish(with: 1)
    #expect(await settled(group).isCancelled)
    #expect(group.handles[1].outcome?.isCancelled == true)
    await manager.waitUntilIdle()
  }

  @Test(arguments: [true, false])
  func parent_cancelledBeforeItsStart_whileAMemberExecutes_settlesWhenThatHas(inOrder: Bool) async {
    let manager = OperationManager(clock: ManualClock())
    let operation = HeldOperation<Int>()
    let group = manager.add(
      contentsOf: (0..<3).map { number in
        AnyManagedTask(makeOperation: { number == 1 ? operation : succeeding(number) })
      }, inOrder: inOrder, startImmediately: false)
    group.handles[1].start()
    await operation.started.wait()
    let parent = group.map(\.count)
    parent.cancel()
    parent.start()
    await until(group.isExecuting || group.outcome != nil)
    #expect(group.outcome == nil && parent.outcome == nil)
    operation.finish(with: 1)
    #expect(await settled(parent).isCancelled)
    #expect(group.outcome?.isCancelled == true)
    #expect(group.handles.allSatisfy { $0.outcome?.isCancelled == true })
  }

  @Test(arguments: [true, false])
  func queue_cancelAllOperations_whileAMemberExecutes_settlesTheGroupWhenThatHas(inOrder: Bool) async {
    let manager = OperationManager(clock: ManualClock())
    let operation = HeldOperation<Int>()
    let group = manager.add(
      contentsOf: (0..<3).map { number in
        AnyManagedTask(makeOperation: { number == 1 ? operation : succeeding(number) })
      }, inOrder: inOrder, startImmediately: false)
    group.handles[1].start()
    await operation.started.wait()
    let queue = OperationQueue(limit: 1, suspended: true)
    queue.addOperation(group)
    queue.cancelAllOperations()
    queue.isSuspended = false
    await until(group.isExecuting || group.outcome != nil)
    #expect(group.outcome == nil)
    operation.finish(with: 1)
    #expect(await settled(group).isCancelled)
    #expect(group.handles.allSatisfy { $0.outcome?.isCancelled == true })
    await finished(group)
  }

  @Test func group_ofAStoppedManager_hasOutcomesAllTheSame() async throws {
    let manager = OperationManager(clock: ManualClock())
    await manager.stop()
    let outcomes = try await manager.run(contentsOf: (0..<3).map { Number($0) }, inOrder: true)
    #expect(outcomes.allSatisfy { managedError($0)?.code == .stopped })
  }

  @Test func started_andDropped_goesOn() async {
    let manager = OperationManager(clock: ManualClock())
    let done = Gate()
    let release = Gate()
    do {
      let group = manager.add(
        contentsOf: (0..<2).map { number in
          AnyManagedTask<Int> {
            await release.wait()
            return number
          }
        })
      group.completion = { _ in done.open() }
    }
    release.open()
    await done.wait()
  }

  @Test func unstarted_andDropped_isReleased() async {
    let manager = OperationManager(clock: ManualClock())
    let reference: WeakReference<HandleGroup<Int>>
    do { reference = WeakReference(manager.add(contentsOf: [Number(1)], startImmediately: false)) }
    await untilReleased(reference)
    await manager.waitUntilIdle()
  }

  @Test func group_releasedUnstarted_endsItsStreams() async {
    let manager = OperationManager(clock: ManualClock())
    var outcomes: [Int] = []
    let stream: AsyncStream<(index: Int, outcome: Outcome<Int>)>
    do {
      let group = manager.add(contentsOf: (0..<3).map { Number($0) }, startImmediately: false)
      stream = group.outcomesAsTheyCome
      group.handles[1].cancel()
    }
    for await (index, _) in stream { outcomes.append(index) }
    #expect(outcomes == [1])
  }

  @Test func group_inAComposite_isStartedByIt() async throws {
    let manager = OperationManager(clock: ManualClock())
    let group = manager.add(contentsOf: (0..<3).map { Number($0) }, startImmediately: false)
    #expect(try await group.map { $0.compactMap(\.value).reduce(0, +) }.run() == 3)
  }
}
