import Foundation

/// Runs rounds with pauses between them: the form of `repeating`.
final class RepeatForm: Composition, @unchecked Sendable {  // only the asking thread uses the fields
  private let interval: Duration
  private let timekeeper: Timekeeper
  private let maxRounds: Int
  @exclusivity(unchecked) private var makeRound: ((_ round: Int) throws -> Operation)?
  @exclusivity(unchecked) private var isDone: ((Operation) throws -> Bool)?
  @exclusivity(unchecked) private var round = 0
  /// When the next round is due.
  @exclusivity(unchecked) private var nextRound: Timekeeper.Time?
  /// The last round, to recognize it if `make` returns it again.
  @exclusivity(unchecked) private var last: Operation?
  /// The pause, while it is the current child.
  @exclusivity(unchecked) private var pause: DelayOperation?

  /// - Parameters:
  ///   - make: makes a round.
  ///   - isDone: returns whether a round that succeeded is the last one.
  init(
    every interval: Duration, _ timekeeper: Timekeeper, maxRounds: Int,
    _ make: @escaping (_ round: Int) throws -> Operation, until isDone: @escaping (Operation) throws -> Bool
  ) {
    self.interval = interval
    self.timekeeper = timekeeper
    self.maxRounds = maxRounds
    makeRound = make
    self.isDone = isDone
    super.init(.repeating, .steps(), .joins, wrapping: WrappedOperation())
  }

  deinit {
    ReleaseList.release(&last)
    ReleaseList.release(&makeRound)
  }

  override func make(_ count: Int, after previous: Operation?, _ refusal: OperationError?) throws -> Made {
    guard let previous else { return try begin() }
    if let pause = pause.take() { return pause.isCancelled ? .settle(.cancelled) : try begin() }
    guard case .success = previous.anyOutcome, let isDone else { return .settleLike(previous) }
    if try isDone(previous) || round >= maxRounds { return .settleLike(previous) }
    last = previous
    guard let next = nextRound, !timekeeper.hasPassed(next) else { return try begin() }
    let pause = DelayOperation(until: next, on: timekeeper)
    self.pause = pause
    return .run(pause)
  }

  /// A round that succeeded may be the last one, too, but `isDone` is called in a slot.
  override func isLast(_ child: Operation, tag: Int) -> Bool {
    guard work(standingFor: child) != nil else { return false }
    if case .success = child.anyOutcome { return false }
    return true
  }

  private func begin() throws -> Made {
    guard let makeRound else { return .settle(.cancelled) }
    round += 1
    nextRound = timekeeper.now + interval
    let made = try makeRound(round)
    guard made !== last else { throw OperationError(.alreadyFinished, operation: made) }
    last = nil
    noteNameAtHand(of: made)
    return .run(made)
  }

  /// Unknown: a round that succeeds need not be the last one.
  override var progressShape: ProgressShape { .steps(nil) }

  /// The number of the round; 1 for a pause, which is a child as well.
  override func attempt(of tag: Int) -> Int { pause == nil ? max(round, 1) : 1 }

  override func discard() -> Operation? {
    (makeRound, isDone, last, pause) = (nil, nil, nil, nil)
    return nil
  }
}
