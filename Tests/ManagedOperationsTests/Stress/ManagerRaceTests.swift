import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import ManagedOperations

/// Cancels at the moment in which something else happens to the task.
@Suite("6 Races of managers", .serialized, .timeLimit(.minutes(30)))
struct ManagerRaceTests {
  static let rounds = Scale.count(2_000, least: 50)

  /// Runs the bodies at the same moment, on threads of Dispatch.
  private func race(_ bodies: @Sendable () -> Void...) async {
    let begin = Gate()
    await withTaskGroup(of: Void.self) { group in
      for body in bodies {
        group.addTask {
          await begin.wait()
          await onWorker(body)
        }
      }
      begin.open()
    }
  }

  private func check(
    _ manager: OperationManager, _ handles: [OperationHandle<Int>], _ spies: [CompletionSpy<Int>]
  ) async {
    for handle in handles { _ = await settled(handle) }
    await manager.waitUntilIdle()
    #expect(spies.allSatisfy { $0.count == 1 })
    #expect(manager.heldTaskCount == 0)
    // Another thread may be about to give up a task that it settled before its start, or a reaction
    // that it ended. What is forgotten stays for ever.
    await until(manager.core.withLock { $0.state.jobs.isEmpty && $0.reactions.isEmpty })
  }

  private func add(
    _ count: Int, to manager: OperationManager, timeout: Duration? = nil,
    _ task: (Int) -> some ManagedTask<Int>
  ) -> ([OperationHandle<Int>], [CompletionSpy<Int>]) {
    let handles = (0..<count).map { manager.add(task($0), startImmediately: false, timeout: timeout) }
    let spies = handles.map { handle in
      let spy = CompletionSpy<Int>()
      handle.completion = spy.completion
      return spy
    }
    return (handles, spies)
  }

  @Test("Cancels, starts, and a batch that is released") func cancel_whileHeld_settlesOnce() async {
    for round in 0..<Self.rounds {
      let batch = BatchInterceptor.batch(maxCount: 3)
      let manager = OperationManager(interceptors: [batch], clock: ManualClock())
      let (handles, spies) = add(4, to: manager) { Number($0) }
      if round % 2 == 0 { for handle in handles { handle.start() } }
      await race(
        { for handle in handles { handle.start() } },
        { handles[round % 4].cancel() },
        { batch.flush() })
      for handle in handles { _ = handle.state }
      // The rest waits to be flushed.
      while handles.contains(where: { $0.outcome == nil }) {
        batch.flush()
        await Task.yield()
      }
      await check(manager, handles, spies)
    }
  }

  @Test("Cancels, and a reaction that ends") func cancel_whileReacting_settlesOnce() async {
    for round in 0..<Self.rounds {
      let answer = Gate()
      let manager = OperationManager(
        reactors: [
          .reacting(
            configuration: ReactorConfiguration(suspendsQueue: round % 2 == 0), key: { _ in round % 3 == 0 ? nil : "" },
            when: { outcome, _ in outcome.error != nil }
          ) { _ in
            await answer.wait()
            return .requeue()
          }
        ], clock: ManualClock())
      let (handles, spies) = add(3, to: manager) { number in
        Scripted { $0 == 1 ? failing(TestError.first) : succeeding(number) }
      }
      await race(
        {
          for handle in handles { handle.start() }
          answer.open()
        },
        { handles[0].cancel() },
        { handles[1].cancel() })
      await check(manager, handles, spies)
      #expect(handles[2].outcome?.value == 2)
    }
  }

  @Test("Cancels, a timeout, and the work that ends") func cancel_atTheTimeout_settlesOnce() async {
    for round in 0..<Self.rounds {
      let clock = ManualClock()
      let manager = OperationManager(clock: clock)
      let work = HeldOperation<Int>(settlesWhenCancelled: true)
      let (handles, spies) = add(1, to: manager, timeout: .seconds(1)) { _ in AnyManagedTask(makeOperation: { work }) }
      handles[0].start()
      if round % 2 == 0 { await work.started.wait() }
      await race(
        { clock.advance(by: .seconds(1)) },
        { if round % 3 != 0 { handles[0].cancel() } },
        { work.finish(with: 1) })
      await check(manager, handles, spies)
    }
  }

  @Test("Tasks that are added, and tokens that come for one that waits")
  func add_asATokenComes_doesNotOvertake() async {
    for _ in 0..<Self.rounds / 2 {
      let clock = ManualClock()
      let executed = EventRecorder<Int>()
      let manager = OperationManager(
        interceptors: [.rateLimit(tokens: 10, per: .seconds(10), clock: clock)], clock: ManualClock())
      manager.maxConcurrentOperationCount = 1
      for number in 0..<11 { manager.add(Number(number, recorder: executed)) }
      await clock.waitForSleeper(dueIn: .seconds(1))
      // Tokens for five.
      await race(
        { clock.advance(by: .seconds(5)) },
        { for number in 11..<15 { manager.add(Number(number, recorder: executed)) } })
      await executed.wait(forCount: 15)
      #expect(executed.events == Array(0..<15))
      await manager.waitUntilIdle()
    }
  }

  @Test("A stop, and tasks everywhere on their way") func stop_whileWorking_everythingSettles() async {
    for round in 0..<Self.rounds / 2 {
      let batch = BatchInterceptor.batch(maxCount: 3, maxAge: .microseconds(50))
      let manager = OperationManager(
        interceptors: [batch],
        reactors: [
          .reacting(when: { outcome, _ in outcome.error != nil }) { _ in .requeue(after: .microseconds(20)) }
        ], clock: ManualClock())
      let (handles, spies) = add(6, to: manager, timeout: .seconds(60)) { number in
        Scripted { $0 == 1 && number % 2 == 0 ? failing(TestError.first) : succeeding(number) }
      }
      let late = Locked<[OperationHandle<Int>]>([])
      await race(
        { for handle in handles { handle.start() } },
        { handles[round % 6].cancel() },
        { Task { await manager.stop() } },
        { late.withLock { $0.append(manager.add(Number(1))) } })
      await manager.stop()
      await check(manager, handles + late.current, spies)
    }
  }

  @Test("A manager that is released, and tasks everywhere on their way")
  func release_whileWorking_everythingSettles() async {
    for round in 0..<Self.rounds / 2 {
      let box = Locked<OperationManager?>(
        OperationManager(
          interceptors: [.batch(maxCount: 2)],
          reactors: [
            .reacting(when: { outcome, _ in outcome.error != nil }) { _ in .requeue(after: .microseconds(20)) }
          ], clock: ManualClock()))
      let (handles, spies) = add(5, to: box.current!) { number in
        Scripted { $0 == 1 && number % 2 == 0 ? failing(TestError.first) : succeeding(number) }
      }
      await race(
        { for handle in handles { handle.start() } },
        { handles[round % 5].cancel() },
        { box.withLock { $0 = nil } })
      for handle in handles { _ = await settled(handle) }
      #expect(spies.allSatisfy { $0.count == 1 })
    }
  }

  @Test("Many tasks of many threads, with all that there is") func manyThreads_everything_allSettle() async throws {
    let batch = BatchInterceptor.batch(maxCount: 7, maxAge: .milliseconds(1)) { $0 is Number }
    let refreshes = Locked(0)
    let manager = OperationManager(
      interceptors: [batch, .rateLimit(tokens: 1_000, per: .milliseconds(10))],
      reactors: [
        .reacting(
          configuration: ReactorConfiguration(suspendsQueue: true, reinterceptsOnRequeue: true),
          when: { outcome, _ in outcome.error != nil }
        ) { _ in
          refreshes.increment()
          return .requeue()
        }
      ], clock: ManualClock())
    let settledCount = Locked(0)
    let count = Self.rounds
    await withTaskGroup(of: Void.self) { group in
      for worker in 0..<4 {
        group.addTask {
          for number in 0..<count {
            let handle =
              number % 3 == 0
              ? manager.add(
                Scripted { $0 == 1 && number % 6 == 0 ? failing(TestError.first) : succeeding(number) },
                startImmediately: false)
              : manager.add(Number(number), startImmediately: false)
            handle.completion = { _ in settledCount.increment() }
            handle.start()
            if number % 5 == worker { handle.cancel() }
          }
        }
      }
    }
    await manager.waitUntilIdle()
    #expect(settledCount.current == 4 * count)
    // One that fails at first, such as number 24, is not cancelled.
    #expect(refreshes.current > 0)
    await until(manager.core.withLock { $0.state.jobs.isEmpty })
  }

  @Test("Starts, cancels, and members that go their own way, of a group")
  func group_cancelledWhileItStarts_settlesOnceAndTellsAll() async {
    for round in 0..<Self.rounds {
      let manager = OperationManager(clock: ManualClock())
      let group = manager.add(contentsOf: (0..<5).map { Number($0) }, inOrder: round % 2 == 0, startImmediately: false)
      let spy = CompletionSpy<[Outcome<Int>]>()
      group.completion = spy.completion
      let stream = group.outcomesAsTheyCome
      await race(
        { group.start() },
        { if round % 3 != 0 { group.cancel() } },
        { group.handles[round % 5].start() },
        { if round % 7 < 3 { group.handles[3].cancel() } })
      let outcome = await settled(group)
      if let outcomes = outcome.value { #expect(outcomes.count == 5) }
      await manager.waitUntilIdle()
      var told: [Int] = []
      for await (index, _) in stream { told.append(index) }
      #expect(told.sorted() == Array(0..<5))
      #expect(spy.count == 1)
      #expect(group.handles.allSatisfy { $0.outcome != nil })
      await until(manager.core.withLock { $0.state.jobs.isEmpty })
    }
  }
}
