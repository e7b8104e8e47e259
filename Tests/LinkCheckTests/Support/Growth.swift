import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// How the work of reading a text grows with the length of the text.
///
/// Readers have nothing to count, so this measures time, but in a way that a busy machine does not
/// decide the result:
///
/// - It is the processor time of this thread, which does not pass while other threads and processes
///   have the processor.
/// - Two times are compared that are taken right after each other and are about equally long: that
///   of a long text, and that of a short one, which is read as often as the long one is longer.
///   What slows the processor down slows down both. Each lasts some milliseconds, whatever the
///   build.
/// - Of five tries the least time counts. A disturbance only ever adds to a time.
/// - A result that is too high is measured anew, twice at most. A reader whose work grows too fast
///   has that result each time.
enum Growth {
  /// How many times as long it takes to read a byte of `long` as to read a byte of `short`. Linear
  /// work gives about 1; quadratic work gives as many times more as `long` is longer.
  ///
  /// - Parameter limit: what is low enough. The first result below it is returned, else the last
  ///   one.
  static func ofTimePerByte(
    from short: String, to long: String, below limit: Double, _ read: (String) -> Void
  ) -> Double {
    // The first time includes what is done once, such as making tables.
    read(short)
    let reads = Int(min(max(1, 5_000_000 / nanoseconds { read(long) }), 1_000))
    let shortReads = reads * Int((Double(long.utf8.count) / Double(short.utf8.count)).rounded())
    func perByte(of text: String, _ reads: Int) -> Double {
      nanoseconds { for _ in 0..<reads { read(text) } } / Double(reads * text.utf8.count)
    }
    var growth = Double.infinity
    for _ in 0..<3 {
      var base = Double.infinity
      for _ in 0..<5 { base = min(base, perByte(of: short, shortReads)) }
      growth = .infinity
      for _ in 0..<5 {
        growth = min(growth, perByte(of: long, reads) / base)
        // More tries would make it less only.
        if growth < limit { return growth }
      }
    }
    return growth
  }

  /// The processor time of this thread that `body` takes, never zero.
  private static func nanoseconds(_ body: () -> Void) -> Double {
    let start = now()
    body()
    return max(1, now() - start)
  }

  private static func now() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}
