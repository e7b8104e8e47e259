import Dispatch
import Foundation

/// One side of a comparison: the measured code.
///
/// Everything a side allocates it also releases before it returns, so that both are inside the
/// measured time.
enum Side: Sendable {
  /// Called on the main thread and may block it, as a plain program does.
  case blocking(@Sendable () -> Void)
  /// Called from async code.
  case async(@Sendable () async -> Void)
  /// Called on the main thread. Measured is the processor time of all threads of this process.
  case processor(@Sendable () -> Void)
}

/// Measures how long a side takes.
enum Stopwatch {
  /// The nanoseconds that one of `repetitions` runs of a side takes on average.
  static func nanoseconds(_ side: Side, repetitions: Int = 1) -> Double {
    let elapsed =
      switch side {
      case .blocking(let body): time(body, repetitions: repetitions)
      case .async(let body): time(body, repetitions: repetitions)
      case .processor(let body): processorTime(body, repetitions: repetitions)
      }
    return elapsed.nanoseconds / Double(repetitions)
  }

  private static func time(_ body: @Sendable () -> Void, repetitions: Int) -> Duration {
    ContinuousClock().measure {
      for _ in 0..<repetitions { body() }
    }
  }

  private static func processorTime(_ body: @Sendable () -> Void, repetitions: Int) -> Duration {
    let start = processorTime()
    for _ in 0..<repetitions { body() }
    return processorTime() - start
  }

  private static func processorTime() -> Duration {
    var time = timespec()
    precondition(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) == 0)
    return .seconds(Int64(time.tv_sec)) + .nanoseconds(Int64(time.tv_nsec))
  }

  /// The clock runs inside the task: neither its start nor the end of the wait for it is measured.
  private static func time(_ body: @escaping @Sendable () async -> Void, repetitions: Int) -> Duration {
    result(of: {
      let clock = ContinuousClock()
      let start = clock.now
      for _ in 0..<repetitions { await body() }
      return clock.now - start
    })
  }

  /// Returns the result of a task, for a thread that may block.
  static func result<R: Sendable>(of body: @escaping @Sendable () async -> R) -> R {
    let handover = Handover<R>()
    Task.detached {
      handover.result = await body()
      handover.isKnown.signal()
    }
    handover.isKnown.wait()
    return handover.result!
  }
}

/// The result that a task passes to the thread that waits for it.
private final class Handover<R>: @unchecked Sendable {  // The semaphore orders the one write before the one read.
  let isKnown = DispatchSemaphore(value: 0)
  var result: R?
}

extension Duration {
  /// The duration in nanoseconds.
  var nanoseconds: Double {
    Double(components.seconds) * 1e9 + Double(components.attoseconds) / 1e9
  }
}
