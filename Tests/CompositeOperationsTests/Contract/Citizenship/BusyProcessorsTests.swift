#if os(Linux)
import CompositeOperations
import Foundation
import TestSupport
import Testing

/// Operations that compute, on as many threads as there are. On Linux, where a quality of service
/// has threads, but no priority.
///
/// In a process of its own, so that nothing else needs a thread, and no other test waits for one.
@Suite("Where operations keep all processors busy", .hangLimit)
struct BusyProcessorsTests {
  @Test("… at another quality of service than the default, tasks of Swift get a thread")
  func atUtility_tasksRun() async {
    await #expect(processExitsWith: .success) {
      let end = Gate()
      let work = computing(until: end) {
        Task.detached { end.open() }
      }
      let all = CompositeOperation(operations: work)
      all.qualityOfService = .utility
      all.start()
      _ = await settled(all)
    }
  }

  @Test("… a timeout is on time", arguments: [false, true])
  func timeout_isOnTime(isInQueue: Bool) async {
    await #expect(processExitsWith: .success) { [isInQueue] in
      let queue = isInQueue ? OperationQueue() : nil
      let end = Gate()
      let work = computing(until: end)
      let late = NeverFinishingOperation<Int>()
      let timed = late.timeout(.seconds(1))
      timed.completion = { _ in end.open() }
      let all = CompositeOperation(operations: work, operationQueue: queue)
      timed.start()
      // What computes first may take all threads.
      await late.started.wait()
      all.start()
      _ = await settled(all)
    }
  }

  @Test("… an operation that is tried again settles as soon as an attempt succeeds")
  func retrying_whoseAttemptSucceeds_settles() async {
    await #expect(processExitsWith: .success) {
      let end = Gate()
      let attempt = HeldOperation<Int>()
      let retried = attempt.retrying(RetryPolicy(maxAttempts: 2)) { _ in HeldOperation<Int>() }
      retried.completion = { _ in end.open() }
      retried.start()
      await attempt.started.wait()
      let all = CompositeOperation(operations: computing(until: end) { attempt.finish(with: 1) })
      all.start()
      _ = await settled(all)
    }
  }

  @Test("… an operation that is repeated settles as soon as a round fails")
  func repeating_whoseRoundFails_settles() async {
    await #expect(processExitsWith: .success) {
      let end = Gate()
      let round = HeldOperation<Int>()
      let repeated = repeating(every: .seconds(1)) { _ in round }
      repeated.completion = { _ in end.open() }
      repeated.start()
      await round.started.wait()
      let all = CompositeOperation(operations: computing(until: end) { round.reject(with: TestError.first) })
      all.start()
      _ = await settled(all)
    }
  }
}
#endif
