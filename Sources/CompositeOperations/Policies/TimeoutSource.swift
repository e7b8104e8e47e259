import Foundation

/// One operation, and a limit in time: the engine of `timeout` and `deadline`.
final class TimeoutSource: SequentialSource, @unchecked Sendable {  // see the fields
  /// The limit.
  enum Limit: Sendable {
    /// From the moment in which the operation may start.
    case duration(Duration)
    /// An instant, known to this closure, which sets a timer for it.
    case deadline(@Sendable (Timekeeper, @escaping Timekeeper.Action) -> Timekeeper.Timer)
  }

  // Only whoever is asking touches it.
  private var upstream: Operation?
  /// Whether the value is `()`, whatever the operation's is.
  private let givesVoid: Bool
  private let limit: Limit
  private let behavior: TimeoutBehavior
  private let timekeeper: Timekeeper
  private let time = LockBox(TimeoutState<Timekeeper.Timer>())
  private let timeout: OperationTimeout
  // Kept until the timer is set; touched by whoever begins, is asking or ends.
  private var timed: SettlingOperation?

  init(
    _ upstream: Operation, _ limit: Limit, _ behavior: TimeoutBehavior, _ timekeeper: Timekeeper, givesVoid: Bool
  ) {
    self.upstream = upstream
    self.limit = limit
    self.behavior = behavior
    self.timekeeper = timekeeper
    self.givesVoid = givesVoid
    let duration: Duration? = if case .duration(let duration) = limit { duration } else { nil }
    timeout = OperationTimeout(limit: duration, operation: upstream)
    super.init(joins: true)
  }

  deinit {
    ReleaseList.release(&upstream)
  }

  /// The owner has started.
  func begin(for owner: SettlingOperation, cancelled: Bool) {
    bind(to: owner, queue: nil)
    switch limit {
    case .duration:
      timed = owner
    case .deadline(let setTimer):
      if !cancelled { arm(setTimer(timekeeper) { [self] in expire(owner) }) }
    }
    begin(cancelled: cancelled)
  }

  override func nextStep(after previous: Operation?, count: Int) -> Step {
    guard let previous else {
      guard let upstream = upstream.take() else { return .settle(.cancelled) }
      if case .duration(let duration) = limit, let owner = timed.take() {
        arm(timekeeper.after(duration) { [self] in expire(owner) })
      }
      return .run(upstream)
    }
    if givesVoid, case .success = previous.anyOutcome { return .settle(.success) }
    return .settleLike(previous)
  }

  override func conclude(as ending: OperationState.Ending, value: (any Sendable)?, error: (any Error)?) {
    let (isLate, timer) = time.withLock { $0.end() }
    if let timer { timekeeper.cancel(timer) }
    if isLate {
      settleOwner(as: .failure, error: timeout)
    } else {
      settleOwner(as: ending, value: value, error: error)
    }
  }

  private func arm(_ timer: Timekeeper.Timer) {
    if let unneeded = time.withLock({ $0.arm(timer) }) { timekeeper.cancel(unneeded) }
  }

  /// The time is up.
  private func expire(_ owner: SettlingOperation) {
    guard time.withLock({ $0.expire() }) else { return }
    // Before the cancel, which may settle the work at once.
    if behavior == .settlesAtOnce { owner.settle(as: .failure, error: timeout) }
    cancel()
  }

  override func takeUnasked() -> Operation? { upstream.take() }

  override func discardSteps() {
    upstream = nil
    timed = nil
  }
}

/// The operation that `timeout` and `deadline` return.
final class TimedOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // immutable
  private let timed: TimeoutSource

  init(_ source: TimeoutSource) {
    timed = source
    super.init(flags: .composes)
  }

  override var source: WorkSource? { timed }

  override func main() {
    timed.begin(for: self, cancelled: false)
  }

  override func settleUnrun() {
    timed.begin(for: self, cancelled: true)
  }

  override func propagateCancel() {
    timed.cancel()
  }
}
