import Foundation
import Synchronization

/// Prints the seeds of the trees that run when the process traps, since a trap ends the run before
/// it can say which.
///
/// The backtrace is lost by that; a run with `TREE_SEED` shows it.
enum CrashReporter {
  /// The seeds of the running trees, 0 for none. Two trees run at a time.
  private static let first = Atomic<UInt64>(0)
  private static let second = Atomic<UInt64>(0)

  private static let isInstalled: Bool = {
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT, SIGBUS] {
      signal(number) { number in
        CrashReporter.report()
        // On return the instruction traps again, and the process ends as it would have.
        signal(number, SIG_DFL)
      }
    }
    return true
  }()

  static func began(_ seed: UInt64) {
    precondition(isInstalled)
    if !first.compareExchange(expected: 0, desired: seed, ordering: .relaxed).exchanged {
      second.store(seed, ordering: .relaxed)
    }
  }

  static func ended(_ seed: UInt64) {
    if !first.compareExchange(expected: seed, desired: 0, ordering: .relaxed).exchanged {
      _ = second.compareExchange(expected: seed, desired: 0, ordering: .relaxed)
    }
  }

  /// Runs in a signal handler: it may neither lock nor allocate.
  private static func report() {
    write(first.load(ordering: .relaxed))
    write(second.load(ordering: .relaxed))
  }

  private static func write(_ seed: UInt64) {
    guard seed != 0 else { return }
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 64) { buffer in
      var count = 0
      func append(_ text: StaticString) {
        text.withUTF8Buffer { for byte in $0 { buffer[count] = byte; count += 1 } }
      }
      append("a tree of this run trapped: TREE_SEED=")
      var divisor: UInt64 = 1
      while seed / divisor >= 10 { divisor *= 10 }
      while divisor > 0 {
        buffer[count] = UInt8(48 + seed / divisor % 10)
        count += 1
        divisor /= 10
      }
      append("\n")
      _ = Foundation.write(2, buffer.baseAddress, count)
    }
  }
}
