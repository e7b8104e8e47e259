import Foundation

/// Attempts, one after the other, with delays between them: the engine of `retrying`.
final class RetrySource: PolicySource, @unchecked Sendable {  // only whoever is asking touches the fields
  private var make: ((_ attempt: Int) throws -> Operation)?
  /// Nil when it is not needed any more, for the policy has closures.
  private var retry: RetryState?
  /// The last attempt that failed, so that it is known when it is returned again.
  private var failed: Operation?
  /// What the attempts so far failed with.
  private var failures = RetryError.Failures()
  /// The name of the last attempt that had one. Guarded by the striped lock.
  private var attemptName: String?
  private let timekeeper: Timekeeper
  /// The delay that is the current child.
  private var delay: DelayOperation?

  /// - Parameters:
  ///   - first: the first attempt, if it exists already.
  ///   - make: makes a further one.
  init(
    first: Operation?, _ policy: RetryPolicy, _ timekeeper: Timekeeper, givesVoid: Bool,
    _ make: @escaping (_ attempt: Int) throws -> Operation
  ) {
    self.make = make
    self.timekeeper = timekeeper
    retry = RetryState(policy)
    super.init(first, givesVoid: givesVoid, joins: true)
  }

  deinit {
    ReleaseList.release(&failed)
    ReleaseList.release(&make)
  }

  override func nextStep(after previous: Operation?, count: Int) -> Step {
    guard let previous else { return attempt() }
    if let delay = delay.take() { return delay.isCancelled ? .settle(.cancelled) : attempt() }
    guard let error = previous.failure else { return settleLike(previous) }
    failed = previous
    failures.append(error)
    guard let pause = retry?.failed(error) else { return fail() }
    guard pause > .zero else { return attempt() }
    let delay = DelayOperation(pause, timekeeper: timekeeper)
    self.delay = delay
    return .run(delay)
  }

  private func attempt() -> Step {
    guard let number = retry?.begin(), let make else { return .settle(.cancelled) }
    if let first = takeWrapped() { return .run(first) }
    do {
      let made = try make(number)
      guard made !== failed else { return fail(OperationError(.alreadyFinished, operation: made)) }
      failed = nil
      if let name = (made as? SettlingOperation).map(\.nameAtHand) ?? made.name {
        StripedLock.withLock(of: self) { attemptName = name }
      }
      return .run(made)
    } catch is CancellationError {
      return .settle(.cancelled)
    } catch {
      return fail(error)
    }
  }

  private func fail(_ error: (any Error)? = nil) -> Step {
    if let error { failures.append(error) }
    return .settle(.failure, error: RetryError(failures, of: ownerName))
  }

  override var nameAtHand: String? { super.nameAtHand ?? StripedLock.withLock(of: self) { attemptName } }

  override var kind: Timeline.Kind { .retry }

  /// Delays are children as well.
  override func attempt(of tag: Int) -> Int { delay == nil ? retry?.attempts ?? 1 : 1 }

  override func takeUnasked() -> Operation? { takeWrapped() }

  override func discardSteps() {
    _ = takeWrapped()
    make = nil
    retry = nil
    failed = nil
    delay = nil
    failures = RetryError.Failures()
  }
}
