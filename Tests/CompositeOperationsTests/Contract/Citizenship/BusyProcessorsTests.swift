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
}
#endif
