#if os(Linux)
public import CompositeOperations
public import CompositeOperationsTestKit
import Foundation

/// Operations that compute until a gate is open, twice as many as there are threads for them. They
/// give up after a minute, and end the process: use them in one of their own.
///
/// - Parameter whenAllCompute: called by one of them once all threads are taken.
public func computing(
  until end: Gate, whenAllCompute: @escaping @Sendable () -> Void = {}
) -> [SimpleOperation<Void>] {
  let startCount = Locked(0)
  let threadCount = usableProcessorCount
  return (0..<2 * threadCount).map { _ in
    SimpleOperation { operation in
      if startCount.increment() == threadCount { whenAllCompute() }
      let start = ContinuousClock.now
      while !end.isOpen {
        precondition(start.duration(to: .now) < .seconds(60), "nothing ended the work")
        // Dispatch gives others a thread where many wait for the lock of the gate.
        let nextLook = ContinuousClock.now.advanced(by: .milliseconds(5))
        while ContinuousClock.now < nextLook {}
      }
      operation.finish()
    }
  }
}

/// The number of processors that this process may use, of which Dispatch has as many threads.
private var usableProcessorCount: Int {
  // A mask in hexadecimal digits, also of processors that there might be. What Foundation says
  // includes those that `taskset` excludes.
  let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let mask = status?.split(separator: "\n").first { $0.hasPrefix("Cpus_allowed:") }
  let allowed = mask?.dropFirst(13).reduce(0) { $0 + ($1.hexDigitValue ?? 0).nonzeroBitCount } ?? 1
  return min(allowed, ProcessInfo.processInfo.activeProcessorCount)
}
#endif
