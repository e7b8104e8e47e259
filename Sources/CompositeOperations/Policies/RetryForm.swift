import Foundation

/// Runs attempts with delays between them: the form of `retrying`.
final class RetryForm: Composition, @unchecked Sendable {  // only the asking thread uses the fields
  @exclusivity(unchecked) private var makeAttempt: ((RetryAttempt) throws -> Operation)?
  /// Decides whether to try again, instead of the policy.
  @exclusivity(unchecked) private var decide: RetryAttempt.Decide?
  /// Set to nil when it is no longer needed, which releases the policy's closures.
  @exclusivity(unchecked) private var retry: RetryState?
  /// The errors of the attempts so far.
  @exclusivity(unchecked) private var failures = RetryError.Failures()
  private let timekeeper: Timekeeper
  /// When the first attempt began.
  @exclusivity(unchecked) private var begun: Timekeeper.Time?
  /// The delay, while it is the current child.
  @exclusivity(unchecked) private var delay: DelayOperation?
  /// The decision, while it is the current child.
  @exclusivity(unchecked) private var decision: RetryDecision?

  /// - Parameters:
  ///   - first: the first attempt, if it exists already.
  ///   - decide: decides whether to try again; nil if the policy does.
  ///   - make: makes a further attempt.
  init(
    first: Operation?, _ policy: RetryPolicy, _ timekeeper: Timekeeper, decide: RetryAttempt.Decide?,
    _ make: @escaping (RetryAttempt) throws -> Operation
  ) {
    makeAttempt = make
    self.decide = decide
    self.timekeeper = timekeeper
    retry = RetryState(policy)
    super.init(.retry, .steps(), .joins, wrapping: WrappedOperation(first))
  }

  deinit {
    ReleaseList.release(&makeAttempt)
    ReleaseList.release(&decide)
  }

  override func make(_ count: Int, after previous: Operation?, _ refusal: OperationError?) throws -> Made {
    guard let previous else { return try attempt() }
    if let delay = delay.take() { return delay.isCancelled ? .settle(.cancelled) : try attempt() }
    if let decision = decision.take() { return try goOn(as: decision) }
    guard let error = previous.failure else { return .settleLike(previous) }
    failures.append(error)
    guard let decide, let retry, retry.hasAttemptLeft else { return try goOn(after: self.retry?.failed(error)) }
    let asked = RetryDecision(
      decide, after: described(retry.attempts), priority: TaskPriority(environment.qualityOfService))
    decision = asked
    return .run(asked)
  }

  override func isLast(_ child: Operation, tag: Int) -> Bool {
    work(standingFor: child) != nil && child.failure == nil
  }

  private func goOn(as asked: RetryDecision) throws -> Made {
    if let error = asked.failure { return fail(error) }
    guard case .success = asked.anyOutcome, let decision = asked.decision, let error = failures.errors.last else {
      return .settle(.cancelled)
    }
    return try goOn(after: retry?.decided(decision, after: error))
  }

  /// - Parameter pause: the delay before the next attempt; nil if no attempt follows.
  private func goOn(after pause: Duration?) throws -> Made {
    guard let pause else { return fail() }
    guard pause > .zero else { return try attempt() }
    let delay = DelayOperation(pause, timekeeper: timekeeper)
    self.delay = delay
    return .run(delay)
  }

  private func attempt() throws -> Made {
    guard let number = retry?.begin(), let makeAttempt else { return .settle(.cancelled) }
    if number == 1 { begun = timekeeper.now }
    if let first = takeWrapped() { return .run(first) }
    do {
      let made = try makeAttempt(described(number))
      guard made.failure == nil else { return fail(OperationError(.alreadyFinished, operation: made)) }
      noteNameAtHand(of: made)
      return .run(made)
    } catch let error where !(error is CancellationError) {
      return fail(error)
    }
  }

  /// Describes an attempt for closures.
  private func described(_ number: Int) -> RetryAttempt {
    RetryAttempt(number: number, elapsed: begun.map { $0.duration(to: timekeeper.now) } ?? .zero, failures: failures)
  }

  private func fail(_ error: (any Error)? = nil) -> Made {
    if let error { failures.append(error) }
    return .settle(.failure(RetryError(failures, of: ownerName)))
  }

  /// The number of the attempt; 1 for delays and decisions, which are children as well.
  override func attempt(of tag: Int) -> Int {
    // The first one may be cancelled before it begins.
    delay == nil && decision == nil ? max(retry?.attempts ?? 1, 1) : 1
  }

  override func work(standingFor child: Operation) -> Operation? {
    child is RetryDecision ? nil : super.work(standingFor: child)
  }

  override func discard() -> Operation? {
    makeAttempt = nil
    decide = nil
    retry = nil
    delay = nil
    decision = nil
    failures = RetryError.Failures()
    return takeWrapped()
  }
}
