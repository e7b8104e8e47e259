import Foundation

/// An operation that does nothing, for a while, and then succeeds.
///
/// ```swift
/// DelayOperation(.seconds(2)).then { Ping(host) }
/// ```
///
/// The time runs from `start()`. Waiting blocks no thread, and inside a composite it takes no slot of a queue. Cancelled,
/// it settles at once. The clock keeps the operation alive as long as it waits.
public final class DelayOperation: SimpleOperation<Void>, @unchecked Sendable {  // the timer is guarded by the lock
  private enum Timer {
    case unset
    case pending(Timekeeper.Timer)
    /// It was called, or is not needed any more.
    case gone
  }

  private let timekeeper: Timekeeper
  private let setTimer: @Sendable (Timekeeper, @escaping Timekeeper.Action) -> Timekeeper.Timer?
  private let timer = LockBox(Timer.unset)

  /// Makes an operation that waits for a time.
  ///
  /// - Parameters:
  ///   - duration: how long. Zero is no wait; traps if it is negative.
  ///   - clock: the clock that it waits on.
  public convenience init(_ duration: Duration, clock: some Clock<Duration> = ContinuousClock()) {
    require(
      duration >= .zero,
      "DelayOperation was made with a delay of \(duration), which is in the past. Use zero or more.")
    self.init(duration, timekeeper: .of(clock))
  }

  /// Makes an operation that waits until an instant of a clock. One that has passed is no wait.
  public init<C: Clock>(until deadline: C.Instant, clock: C) where C.Duration == Duration {
    timekeeper = .of(clock)
    setTimer = { timekeeper, action in clock.now < deadline ? timekeeper.at(deadline, action) : nil }
    super.init(flags: .composes)
  }

  init(_ duration: Duration, timekeeper: Timekeeper) {
    self.timekeeper = timekeeper
    setTimer = { timekeeper, action in duration > .zero ? timekeeper.after(duration, action) : nil }
    super.init(flags: .composes)  // so that it needs no slot
  }

  /// Sets the timer.
  public override func main() {
    guard let pending = setTimer(timekeeper, { [self] in elapse() }) else { return elapse() }
    let isUnneeded = timer.withLock { timer in
      guard case .unset = timer else { return true }
      timer = .pending(pending)
      return false
    }
    if isUnneeded { timekeeper.cancel(pending) }
  }

  private func elapse() {
    discardTimer()
    finish()
  }

  /// Forgets the timer, and settles.
  public override func didCancel() {
    discardTimer()
    settle(with: .cancelled)
  }

  override func discardWork() {
    discardTimer()
  }

  private func discardTimer() {
    let pending: Timekeeper.Timer? = timer.withLock { timer in
      defer { timer = .gone }
      guard case .pending(let pending) = timer else { return nil }
      return pending
    }
    if let pending { timekeeper.cancel(pending) }
  }
}
