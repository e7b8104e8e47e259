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
      let work = Self.computing(until: end) { count in
        if count == Self.processorCount { Task.detached { end.open() } }
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
      let work = Self.computing(until: end)
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

  /// The number of processors that this process may use, of which Dispatch has as many threads.
  private static var processorCount: Int {
    // A mask in hexadecimal digits, also of processors that there might be. What Foundation says
    // includes those that `taskset` excludes.
    let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
    let mask = status?.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }
    let allowed = mask?.dropFirst(13).reduce(0) { $0 + ($1.hexDigitValue ?? 0).nonzeroBitCount } ?? 1
    return min(allowed, ProcessInfo.processInfo.activeProcessorCount)
  }

  /// Twice as many as there are processors. They give up after a minute, which fails.
  private static func computing(
    until end: Gate, whenStarted: @escaping @Sendable (_ count: Int) -> Void = { _ in }
  ) -> [SimpleOperation<Void>] {
    let startCount = Locked(0)
    return (0..<2 * processorCount).map { _ in
      SimpleOperation { operation in
        whenStarted(startCount.increment())
        let start = ContinuousClock.now
        while !end.isOpen {
          precondition(start.duration(to: .now) < .seconds(60), "nothing ended the work")
        }
        operation.finish()
      }
    }
  }
}
#endif
