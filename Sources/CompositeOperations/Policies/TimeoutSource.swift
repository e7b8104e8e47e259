import Foundation
import Synchronization

/// One operation, and a limit in time: the engine of `timeout` and `deadline`.
final class TimeoutSource: WrappingSource, @unchecked Sendable {  // see the fields
  /// The limit.
  enum Limit: Sendable {
    /// From the moment in which the operation may start.
    case duration(Duration)
    /// At a time of the timekeeper's.
    case deadline(Timekeeper.Time)
  }

  private let limit: Limit
  private let behavior: TimeoutBehavior
  private let timekeeper: Timekeeper
  private let time = LockBox(TimeoutState<Timekeeper.Timer>())
  /// The type of what is timed, for the error.
  private let timedType: Operation.Type
  // Kept until the timer is set; touched by whoever begins, is asking or ends.
  private var timed: SettlingOperation?
  /// Whether the operation was somebody else's when the time was up. Written before the state says that it is.
  private let isLeftAlone = Atomic(false)

  init(
    _ upstream: Operation, _ limit: Limit, _ behavior: TimeoutBehavior, _ timekeeper: Timekeeper, givesVoid: Bool
  ) {
    self.limit = limit
    self.behavior = behavior
    self.timekeeper = timekeeper
    timedType = type(of: upstream)
    super.init(upstream, givesVoid: givesVoid, joins: true)
  }

  override func begin(for owner: SettlingOperation, in queue: OperationQueue?) {
    bind(to: owner, queue: queue)
    timed = owner
    if case .deadline(let deadline) = limit {
      // It matters how the operation ended, if it has ended.
      guard wrapped?.hasEnded != true else { return begin() }
      guard !timekeeper.hasPassed(deadline) else {
        noteWhoseItIs()
        _ = time.withLock { $0.expire() }
        return unwind()
      }
      arm(timekeeper.at(deadline, qualityOfService: environment.qualityOfService) { [self] in expire(owner) })
    }
    begin()
  }

  override func nextStep(after previous: Operation?, count: Int) -> Step {
    guard let previous else {
      guard let upstream = takeWrapped(), let owner = timed.take() else { return .settle(.cancelled) }
      switch limit {
      case .duration(let duration):
        arm(
          timekeeper.after(duration, qualityOfService: environment.qualityOfService) { [self] in expire(owner) })
      case .deadline(let deadline):
        // It may have waited for a slot, and the timer may still be on its way.
        if !upstream.hasEnded, timekeeper.hasPassed(deadline) { expire(owner, upstream) }
      }
      return .run(upstream)
    }
    return settleLike(previous)
  }

  override func conclude(as ending: OperationState.Ending, value: (any Sendable)?, error: (any Error)?) {
    let (isLate, timer) = time.withLock { $0.end() }
    if let timer { timekeeper.cancel(timer) }
    if isLate {
      settleOwner(as: .failure, error: timeout(of: ownerName))
    } else {
      settleOwner(as: ending, value: value, error: error)
    }
  }

  override func ownerWasSettled() {
    let (cancelsWork, timer) = time.withLock { $0.ownerDidSettle() }
    if let timer { timekeeper.cancel(timer) }
    if cancelsWork { cancel() }
  }

  /// - Parameter name: what the owner is called.
  private func timeout(of name: String?) -> OperationTimeout {
    let type = (timedType as? SettlingOperation.Type)?.typeDescription ?? "\(timedType)"
    let duration: Duration? = if case .duration(let duration) = limit { duration } else { nil }
    return OperationTimeout(
      limit: duration, operationDescription: OperationError.describe(nameAtHand ?? name, type, nil),
      isLeftAlone: isLeftAlone.load(ordering: .acquiring))
  }

  private func arm(_ timer: Timekeeper.Timer) {
    if let unneeded = time.withLock({ $0.arm(timer) }) { timekeeper.cancel(unneeded) }
  }

  /// The time is up.
  ///
  /// - Parameter upstream: the operation, if it is on its way from here to where it is run.
  private func expire(_ owner: SettlingOperation, _ upstream: Operation? = nil) {
    noteWhoseItIs(upstream)
    let (counts, timer) = time.withLock { $0.expire() }
    if let timer { timekeeper.cancel(timer) }
    guard counts else { return }
    // Before the cancel, which may settle the work at once.
    if behavior == .settlesAtOnce { owner.settle(as: .failure, error: timeout(of: owner.name)) }
    cancel()
  }

  private func noteWhoseItIs(_ upstream: Operation? = nil) {
    let isTheirs = (upstream ?? wrapped)?.isTaken ?? state.withLock { $0.ownership == .theirs }
    if isTheirs { isLeftAlone.store(true, ordering: .releasing) }
  }

  override var kind: OperationKind { .timeout }

  override func discardSteps() {
    _ = takeWrapped()
    timed = nil
  }
}

extension Operation {
  fileprivate var hasEnded: Bool {
    (self as? SettlingOperation)?.state.current.isSettled ?? isFinished
  }
}
