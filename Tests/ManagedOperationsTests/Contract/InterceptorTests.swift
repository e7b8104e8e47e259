import CompositeOperations
import Foundation
import TestSupport
import Testing

@testable import ManagedOperations

@Suite("6 Interceptors", .timeLimit(.minutes(30))) struct InterceptorTests {
  @Test func intercept_changedTask_runsAsChanged() async throws {
    let manager = OperationManager(
      interceptors: [
        .intercepting(Number.self) { task, _ in
          task.number *= 10
          return .execute
        },
        .intercepting(Number.self) { task, _ in
          task.number += 1
          return .execute
        },
      ], clock: ManualClock())
    #expect(try await manager.run(Number(4)) == 41)
  }

  @Test func hold_thenExecute_releasesInOrderTheTriggerLast() async {
    let recorder = EventRecorder<Int>()
    let manager = OperationManager(
      interceptors: [
        .intercepting(Number.self) { task, count in
          #expect(count == task.number)
          return task.number == 3 ? .execute : .hold
        }
      ], clock: ManualClock())
    manager.maxConcurrentOperationCount = 1
    for number in 0...3 { manager.add(Number(number, recorder: recorder)) }
    await manager.waitUntilIdle()
    #expect(recorder.events == [0, 1, 2, 3])
    #expect(manager.heldTaskCount == 0)
  }

  @Test func discard_failsWithTheInterceptor() async {
    let manager = OperationManager(interceptors: [.intercepting { _, _ in .discard }], clock: ManualClock())
    let error = managedError(await settled(manager.add(Number(1))))
    #expect(error?.code == .discarded)
    #expect(error?.participant == ".intercepting")
  }

  @Test func intercept_answered_leavesNoTimerOnTheClock() async throws {
    let clock = ManualClock()
    let manager = OperationManager(interceptors: [.intercepting(Number.self) { _, _ in .execute }], clock: clock)
    for number in 1...3 {
      #expect(try await manager.run(Number(number)) == number)
      await clock.waitUntilIdle()
    }
    #expect(clock.advanceToNextSleeper() == nil)
  }

  /// Never answers about the number 1, which it may take nine seconds for.
  private func neverAnswering(_ asked: Gate) -> AnyInterceptor {
    .intercepting(Number.self, timeout: .seconds(9)) { task, _ in
      guard task.number == 1 else { return .execute }
      asked.open()
      await Gate().wait()
      return .execute
    }
  }

  @Test func intercept_neverAnswers_failsAfterItsTimeoutAndTheOthersGoOn() async throws {
    let clock = ManualClock()
    let asked = Gate()
    let manager = OperationManager(interceptors: [neverAnswering(asked)], clock: clock)
    let stuck = manager.add(Number(1))
    let next = manager.add(Number(2))
    await asked.wait()
    await clock.waitForSleeper(dueIn: .seconds(9))
    clock.advance(by: .seconds(9))
    #expect(managedError(await settled(stuck))?.code == .interceptionTimedOut)
    #expect(try await next.value == 2)
  }

  @Test func intercept_timedOut_completionWaitsForTheNext_theNextIsIntercepted() async {
    let clock = ManualClock()
    let asked = Gate()
    let manager = OperationManager(interceptors: [neverAnswering(asked)], clock: clock)
    let executed = EventRecorder<Int>()
    let isSeen = EventRecorder<Bool>()
    let stuck = manager.add(Number(1), startImmediately: false)
    stuck.completion = { _ in isSeen.record(Patience.isReached { executed.count == 1 }) }
    stuck.start()
    manager.add(Number(2, recorder: executed))
    await asked.wait()
    await clock.waitForSleeper(dueIn: .seconds(9))
    clock.advance(by: .seconds(9))
    await isSeen.wait(forCount: 1)
    #expect(isSeen.events == [true] && executed.events == [2])
    await manager.waitUntilIdle()
  }

  @Test func rateLimit_empty_releasesOneByOne() async {
    let clock = ManualClock()
    let recorder = EventRecorder<Int>()
    let manager = OperationManager(
      interceptors: [.rateLimit(tokens: 2, per: .seconds(4), clock: clock)], clock: clock)
    manager.maxConcurrentOperationCount = 1
    for number in 0..<5 { manager.add(Number(number, recorder: recorder)) }
    await recorder.wait(forCount: 2)
    for count in 3...5 {
      await clock.waitForSleeper(dueIn: .seconds(2))
      clock.advance(by: .seconds(2))
      await recorder.wait(forCount: count)
    }
    #expect(recorder.events == [0, 1, 2, 3, 4])
    await manager.waitUntilIdle()
  }

  @Test func batch_aged_isReleased() async {
    let clock = ManualClock()
    let recorder = EventRecorder<Int>()
    let batch = BatchInterceptor.batch(maxCount: 4, maxAge: .seconds(5), clock: clock)
    let manager = OperationManager(interceptors: [batch], clock: ManualClock())
    manager.maxConcurrentOperationCount = 1
    manager.add(Number(0, recorder: recorder))
    manager.add(Number(1, recorder: recorder))
    // Both are of the filling that grows old.
    await until(manager.heldTaskCount == 2)
    await clock.waitForSleeper(dueIn: .seconds(5))
    clock.advance(by: .seconds(5))
    await recorder.wait(forCount: 2)
    await manager.waitUntilIdle()
    for number in 2...5 { manager.add(Number(number, recorder: recorder)) }
    await recorder.wait(forCount: 6)
    #expect(recorder.events == [0, 1, 2, 3, 4, 5])
  }

  @Test(
    "A full batch goes with its last task, though a rate limit holds that; whichever comes first",
    arguments: [true, false])
  func batch_lastWaitsForAToken_goesWithIt(batchIsFirst: Bool) async {
    let clock = ManualClock()
    let recorder = EventRecorder<Int>()
    let batch = BatchInterceptor.batch(maxCount: 3)
    let limit = AnyInterceptor.rateLimit(tokens: 2, per: .seconds(4), clock: clock)
    let manager = OperationManager(interceptors: batchIsFirst ? [batch, limit] : [limit, batch], clock: ManualClock())
    manager.maxConcurrentOperationCount = 1
    let handles = (0..<3).map { manager.add(Number($0, recorder: recorder)) }
    await clock.waitForSleeper(dueIn: .seconds(2))
    #expect(batch.count == 2 && manager.heldTaskCount == 3)
    clock.advance(by: .seconds(2))
    _ = await settled(handles[2])
    #expect(recorder.events == [0, 1, 2])
    #expect(manager.heldTaskCount == 0)
  }

  @Test func batch_lastIsCancelledWhileARateLimitHoldsIt_waitsForAnother() async {
    let clock = ManualClock()
    let batch = BatchInterceptor.batch(maxCount: 3)
    let limit = AnyInterceptor.rateLimit(tokens: 2, per: .seconds(4), clock: clock)
    let manager = OperationManager(interceptors: [batch, limit], clock: ManualClock())
    let handles = (0..<3).map { manager.add(Number($0)) }
    await clock.waitForSleeper(dueIn: .seconds(2))
    handles[2].cancel()
    clock.advance(by: .seconds(2))
    #expect(batch.count == 2)
    #expect(await settled(manager.add(Number(3))).value == 3)
    #expect(await settled(handles[0]).value == 0)
    #expect(await settled(handles[1]).value == 1)
  }

  @Test func batch_forSomeOnly_holdsNoOthers_forAnyCaller() async throws {
    let batch = BatchInterceptor.batch(where: { ($0 as? Number)?.number == 1 })
    for (number, command) in [(1, InterceptCommand.hold), (2, .pass)] {
      var task = Number(number)
      let answer = try await batch.intercept(&task, batchCount: 0)
      #expect(answer == command)
    }
  }

  @Test(
    "Another question to the rate limit before the task is held, as after a timeout, leaves no task waiting for ever")
  func rateLimit_askedAboutAnotherMeanwhile_releasesTheTask() async {
    let clock = ManualClock()
    let limit = AnyInterceptor.rateLimit(tokens: 1, per: .seconds(4), clock: clock)
    let manager = OperationManager(
      interceptors: [
        limit,
        .intercepting(Number.self) { _, _ in
          var other = Number(99)
          _ = try await limit.intercept(&other, batchCount: 0)
          return .execute
        },
      ], clock: ManualClock())
    let handles = (1...3).map { manager.add(Number($0)) }
    #expect(await settled(handles[0]).value == 1)
    for handle in handles[1...] {
      await clock.waitForSleeper(dueIn: .seconds(4))
      clock.advance(by: .seconds(4))
      _ = await settled(handle)
    }
    #expect(handles.map(\.outcome?.value) == [1, 2, 3])
  }
}
