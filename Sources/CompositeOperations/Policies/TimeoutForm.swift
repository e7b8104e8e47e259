import Foundation
import Synchronization

/// Runs one operation with a time limit: the form of `timeout` and `deadline`.
final class TimeoutForm: Composition, @unchecked Sendable {  // see the fields
  /// The limit.
  enum Limit: Sendable {
    /// A time from the moment when the operation may start.
    case duration(Duration)
    /// A time of the timekeeper.
    case deadline(Timekeeper.Time)
  }

  private let limit: Limit
  private let behavior: TimeoutBehavior
  private let timekeeper: Timekeeper
  let time = LockBox(TimeoutState<Timekeeper.Timer>())
  /// The type of the timed operation, for the error.
  private let timedType: Operation.Type
  // Kept until the timer is set; used by the thread that begins, asks or ends.
  @exclusivity(unchecked) private var timed: SettlingOperation?
  /// Whether other code has started the operation, so that it is not cancelled. Set when this
  /// composition takes the operation or finds it taken, and at the latest before the state expires.
  private let isLeftAlone = Atomic(false)

  init(_ upstream: Operation, _ limit: Limit, _ behavior: TimeoutBehavior, _ timekeeper: Timekeeper) {
    self.limit = limit
    self.behavior = behavior
    self.timekeeper = timekeeper
    timedType = type(of: upstream)
    // The time passes while the operation waits.
    super.init(.timeout, .steps(), [.joins, .beginsAtOnce], wrapping: WrappedOperation(upstream))
    lastTag = 1
  }

  override func start(_ owner: SettlingOperation) -> Bool {
    timed = owner
    guard case .deadline(let deadline) = limit else { return true }
    let upstream = wrappedOperation
    // If the operation has already ended, its outcome counts, whatever the time.
    if upstream?.hasEnded == true { return true }
    guard timekeeper.hasPassed(deadline) else {
      setTimer(at: deadline, owner, upstream)
      return true
    }
    let isTheirs = noteWhoseItIs(upstream)
    _ = time.withLock { $0.expire() }
    return isTheirs && behavior == .waitsForWork
  }

  override func make(_ count: Int, after previous: Operation?, _ refusal: OperationError?) -> Made {
    guard let previous else {
      guard let upstream = takeWrapped(), let owner = timed.take() else { return .settle(.cancelled) }
      // Noted here, because later it may be this composition that has adopted it.
      if upstream.isTaken { isLeftAlone.store(true, ordering: .releasing) }
      switch limit {
      case .duration(let duration):
        setTimer(at: timekeeper.now + duration, owner, upstream)
      case .deadline(let deadline):
        // The operation may have waited for a slot, and the timer may not have fired yet.
        if !upstream.hasEnded, timekeeper.hasPassed(deadline) { expire(owner, upstream) }
      }
      return .run(upstream)
    }
    return .settleLike(previous)
  }

  override func conclude(_ verdict: Verdict, count: Int) {
    if case .expired = endTime() { settleOwner(.failure(timeout(of: ownerName))) } else { settleOwner(verdict) }
  }

  override func ownerWasSettled() {
    if case .ended = endTime() { return }
    // The work has not ended.
    cancel()
  }

  /// Cancels the timer. Returns the phase before.
  private func endTime() -> TimeoutState<Timekeeper.Timer>.Phase {
    let last = time.withLock { $0.end() }
    if case .running(let timer?) = last { timekeeper.cancel(timer) }
    return last
  }

  /// - Parameter name: the name of the owner.
  private func timeout(of name: String?) -> OperationTimeout {
    let type = (timedType as? SettlingOperation.Type)?.typeDescription ?? "\(timedType)"
    let duration: Duration? = if case .duration(let duration) = limit { duration } else { nil }
    return OperationTimeout(
      limit: duration, operationDescription: OperationError.describe(nameAtHand ?? name, type, nil),
      isLeftAlone: isLeftAlone.load(ordering: .acquiring))
  }

  private func setTimer(at end: Timekeeper.Time, _ owner: SettlingOperation, _ upstream: Operation?) {
    let timer = timekeeper.at(end, qualityOfService: environment.qualityOfService) { [self] in expire(owner, upstream) }
    if let unneeded = time.withLock({ $0.arm(timer) }) { timekeeper.cancel(unneeded) }
  }

  /// Called when the time is up.
  ///
  /// - Parameter upstream: the operation. The timer knows it, because observers are told of it
  ///   when this composition has taken it and it is not the current child yet.
  private func expire(_ owner: SettlingOperation, _ upstream: Operation?) {
    // The operation may have ended in time, and this composition may not know it yet.
    guard upstream?.hasEnded != true else { return }
    let isTheirs = noteWhoseItIs(upstream)
    let (counts, timer) = time.withLock { $0.expire() }
    if let timer { timekeeper.cancel(timer) }
    guard counts else { return }
    switch behavior {
    case .settlesAtOnce:
      // Before the cancel, which may settle the work at once.
      owner.settle(as: .failure, error: timeout(of: owner.name))
      cancel()
    case .waitsForWork:
      // A cancel would stop waiting for an operation that other code has started.
      if !isTheirs { cancel() }
    }
  }

  /// Notes whether other code has started the operation. Returns that.
  private func noteWhoseItIs(_ upstream: Operation?) -> Bool {
    // Asked before the state, and outside its lock: who has taken the operation by then cannot be
    // this composition if that has not come to start it yet.
    let isTaken = upstream?.isTaken == true
    // If there is a child, it is being started, or has ended, and may be this composition's own.
    let isKnown = table.withLock { $0.step.phase == .joined || isTaken && $0.stepCount == 0 }
    // What is being started was looked at when this composition took it.
    let isTheirs = isKnown || isLeftAlone.load(ordering: .acquiring)
    if isTheirs { isLeftAlone.store(true, ordering: .releasing) }
    return isTheirs
  }

  override func discard() -> Operation? {
    timed = nil
    return takeWrapped()
  }
}

extension Operation {
  fileprivate var hasEnded: Bool {
    (self as? SettlingOperation)?.state.current.isSettled ?? isFinished
  }
}
