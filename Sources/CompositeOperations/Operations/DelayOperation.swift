import Foundation

/// An operation that waits for a time and then succeeds.
///
/// ```swift
/// DelayOperation(.seconds(2)).then { Ping(host) }
/// ```
///
/// The time runs from `start()`. Waiting blocks no thread, and takes no slot of a queue inside a
/// composite. When the time has passed the operation settles on a worker thread; without a wait it
/// settles in `start()`. When it is cancelled, or other code settles it, it settles at once and
/// cancels its timer. While it waits, the clock keeps it alive.
public final class DelayOperation: SimpleOperation<Void>, @unchecked Sendable {  // the timer is guarded by the lock
  private enum Wait {
    case duration(Duration)
    case until(Timekeeper.Time)
  }

  private let timekeeper: Timekeeper
  private let wait: Wait
  private let timer = LockBox<Timekeeper.Timer?>(nil)

  private init(_ wait: Wait, on timekeeper: Timekeeper) {
    self.wait = wait
    self.timekeeper = timekeeper
    // It needs no slot, and `deliverCompletion()` is called when it has settled.
    super.init(flags: [.needsNoSlot, .isToldWhenSettled])
  }

  /// Makes an operation that waits for a time.
  ///
  /// - Parameters:
  ///   - duration: how long to wait. Zero is no wait; traps if it is negative.
  ///   - clock: the clock that it waits on.
  public convenience init(_ duration: Duration, clock: some Clock<Duration> = ContinuousClock()) {
    require(
      duration >= .zero,
      "DelayOperation was made with a delay of \(duration), which is in the past. Use zero or more.")
    self.init(duration, timekeeper: .of(clock))
  }

  /// Makes an operation that waits until an instant of a clock. An instant in the past is no wait.
  ///
  /// - Parameters:
  ///   - deadline: the instant.
  ///   - clock: the clock of the instant, which it waits on.
  public convenience init<C: Clock>(until deadline: C.Instant, clock: C) where C.Duration == Duration {
    let timekeeper = Timekeeper.of(clock)
    self.init(.until(timekeeper.time(of: deadline)), on: timekeeper)
  }

  convenience init(_ duration: Duration, timekeeper: Timekeeper) {
    self.init(.duration(duration), on: timekeeper)
  }

  convenience init(until time: Timekeeper.Time, on timekeeper: Timekeeper) {
    self.init(.until(time), on: timekeeper)
  }

  package override var form: OperationKind? { .wait }

  /// Sets the timer.
  public override func main() {
    let pending: Timekeeper.Timer
    switch wait {
    case .duration(let duration):
      guard duration > .zero else { return elapse() }
      pending = timekeeper.after(duration, qualityOfService: qualityOfService) { [self] in elapse() }
    case .until(let time):
      guard !timekeeper.hasPassed(time) else { return elapse() }
      pending = timekeeper.at(time, qualityOfService: qualityOfService) { [self] in elapse() }
    }
    // The thread that settles the operation after this check finds the timer.
    let isUnneeded = timer.withLock { timer in
      if !state.current.isSettled { timer = pending }
      return timer == nil
    }
    if isUnneeded { timekeeper.cancel(pending) }
  }

  private func elapse() {
    finish()
  }

  /// Settles at once: there is nothing to wind down.
  public override func didCancel() {
    settle(with: .cancelled)
  }

  override func deliverCompletion() {
    if let pending = timer.withLock({ $0.take() }) { timekeeper.cancel(pending) }
    super.deliverCompletion()
  }
}
