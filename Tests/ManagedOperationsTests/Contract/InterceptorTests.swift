import CompositeOperations
import Foundation
import ManagedOperations
import TestSupport
import Testing

@Suite("6 Interceptors", .timeLimit(.minutes(10))) struct InterceptorTests {
  @Test func intercept_changedTask_runsAsChanged() async throws {
    let manager = OperationManager(
      interceptors: [
        TypedInterceptor(Number.self) { task, _ in
          task.number *= 10
          return .execute
        },
        TypedInterceptor(Number.self) { task, _ in
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
        TypedInterceptor(Number.self) { task, count in
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
    let manager = OperationManager(interceptors: [ClosureInterceptor { _, _ in .discard }], clock: ManualClock())
    let error = managedError(await settled(manager.add(Number(1))))
    #expect(error?.code == .discarded)
    #expect(error?.participant == "ClosureInterceptor")
  }

  @Test func intercept_neverAnswers_failsAfterItsTimeoutAndTheOthersGoOn() async throws {
    let clock = ManualClock()
    let asked = Gate()
    let manager = OperationManager(
      interceptors: [
        TypedInterceptor(Number.self, timeout: .seconds(9)) { task, _ in
          guard task.number == 1 else { return .execute }
          asked.open()
          await Gate().wait()
          return .execute
        }
      ], clock: clock)
    let stuck = manager.add(Number(1))
    let next = manager.add(Number(2))
    await asked.wait()
    await clock.waitForSleeper(dueIn: .seconds(9))
    clock.advance(by: .seconds(9))
    #expect(managedError(await settled(stuck))?.code == .interceptionTimedOut)
    #expect(try await next.value == 2)
  }

  @Test func rateLimit_empty_releasesOneByOne() async {
    let clock = ManualClock()
    let recorder = EventRecorder<Int>()
    let manager = OperationManager(
      interceptors: [RateLimitInterceptor(tokens: 2, per: .seconds(4), clock: clock)], clock: clock)
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
    let batch = BatchInterceptor(maxCount: 4, maxAge: .seconds(5), clock: clock)
    let manager = OperationManager(interceptors: [batch], clock: ManualClock())
    manager.maxConcurrentOperationCount = 1
    manager.add(Number(0, recorder: recorder))
    manager.add(Number(1, recorder: recorder))
    await clock.waitForSleeper(dueIn: .seconds(5))
    clock.advance(by: .seconds(5))
    await recorder.wait(forCount: 2)
    await manager.waitUntilIdle()
    for number in 2...5 { manager.add(Number(number, recorder: recorder)) }
    await recorder.wait(forCount: 6)
    #expect(recorder.events == [0, 1, 2, 3, 4, 5])
  }
}
