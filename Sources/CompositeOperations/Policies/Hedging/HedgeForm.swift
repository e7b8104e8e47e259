import Foundation

/// Runs a second attempt beside the first one: the form of `hedged`.
///
/// The attempts are a list of two with a width of one. A failure of the first attempt makes room
/// for the second, and so does the timer, which widens the list.
final class HedgeForm: Composition, @unchecked Sendable {  // see the fields
  private let hedging: Hedging
  // One thread at a time makes an attempt.
  @exclusivity(unchecked) private var makeAttempt: (@Sendable () throws -> Operation)?
  private let timer = LockBox<Timekeeper.Timer?>(nil)
  private let admission = LockBox<Bool?>(nil)
  /// When the first attempt began. The thread that makes the attempt sets it.
  @exclusivity(unchecked) private var begun: Timekeeper.Time?

  init(_ first: Operation, by hedging: Hedging, _ makeAttempt: @escaping @Sendable () throws -> Operation) {
    self.hedging = hedging
    self.makeAttempt = makeAttempt
    super.init(
      .hedged, .list(2, .hedge, makesChildren: true), [.joins, .settlesAtOnce],
      wrapping: WrappedOperation(first))
    width = 1
  }

  deinit {
    ReleaseList.release(&makeAttempt)
  }

  override func make(_ index: Int, after previous: Operation?, _ refusal: OperationError?) throws -> Made {
    if index == 0 {
      guard let first = takeWrapped() else { return .nothing }
      begun = hedging.timekeeper.now
      setTimer()
      return .run(first)
    }
    guard isAdmitted, let makeAttempt = makeAttempt.take() else { return .nothing }
    return .run(try makeAttempt())
  }

  private func setTimer() {
    guard let delay = hedging.begin() else { return }
    let set = hedging.timekeeper.at(hedging.timekeeper.now + delay, qualityOfService: environment.qualityOfService) {
      [self] in if isAdmitted { width = 2 }
    }
    timer.withLock { $0 = set }
  }

  /// Whether there may be a second attempt. The timer and a failure may ask at the same time.
  private var isAdmitted: Bool {
    admission.withLock { admission in
      let answer = admission ?? hedging.admit()
      admission = answer
      return answer
    }
  }

  private func cancelTimer() {
    if let timer = timer.withLock({ $0.take() }) { hedging.timekeeper.cancel(timer) }
  }

  override func conclude(_ verdict: Verdict, count: Int) {
    cancelTimer()
    // The second call comes when the other attempt has ended as well.
    guard settlesOwner else { return }
    switch verdict {
    case .winner(let index):
      if index == 0, let begun { hedging.record(begun.duration(to: hedging.timekeeper.now)) }
      settleOwner(.success(existing(index).flatMap(Self.succeededValue)))
    case .failures(let failures): settleOwner(.failure(failures[failures.count - 1].error))
    default: settleOwner(.cancelled)
    }
  }

  override func discard() -> Operation? {
    makeAttempt = nil
    return takeWrapped()
  }

  override var progressShape: ProgressShape { .inner }

  override var knownChildren: KnownChildren {
    var known = currentChildren
    if let wrapped = wrappedOperation { known.contents.insert(wrapped, at: 0) }
    return known
  }

  override func attempt(of index: Int) -> Int { index + 1 }
}
