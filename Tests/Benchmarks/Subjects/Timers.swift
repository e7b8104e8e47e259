import CompositeOperations
import CompositeOperationsTestKit
import Foundation

/// The package's side of the rows about timers.
enum Timers {
  /// Sets `count` timers, as timeouts do, of a few different lengths, and cancels them when all are
  /// pending.
  static func onContinuousClock(_ count: Int) {
    setAndCancel(count, on: ContinuousClock())
  }

  /// The same on a clock that stands still.
  static func onOwnClock(_ count: Int) {
    setAndCancel(count, on: ManualClock())
  }

  private static func setAndCancel(_ count: Int, on clock: some Clock<Duration>) {
    let keeper = Timekeeper.of(clock)
    let timers = (0..<count).map { index in keeper.after(.seconds(60 + index % 7)) { preconditionFailure("too slow") } }
    precondition(keeper.pendingCount == count)
    for timer in timers { keeper.cancel(timer) }
    precondition(keeper.pendingCount == 0)
  }

  /// Runs `count` simple operations in one composite, each with a timeout.
  static func runTimed(_ count: Int) {
    finish(CompositeOperation(operations: (0..<count).map { _ in emptyOperation().timeout(.seconds(60)) }))
  }

  /// The same with a retry policy, and no failures.
  static func runRetried(_ count: Int) {
    let policy = RetryPolicy()
    finish(
      CompositeOperation(operations: (0..<count).map { _ in retrying(policy) { _ in emptyOperation() } }))
  }

  /// The same in a composition without a timer, for comparison.
  static func runMapped(_ count: Int) {
    finish(CompositeOperation(operations: (0..<count).map { _ in emptyOperation().map {} }))
  }
}
