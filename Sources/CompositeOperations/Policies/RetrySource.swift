import Foundation

/// Attempts, one after the other, with delays between them: the engine of `retrying`.
final class RetrySource: SequentialSource, @unchecked Sendable {  // only whoever is asking touches the fields
  private var first: Operation?
  private var make: ((_ attempt: Int) throws -> Operation)?
  private var retry: RetryState
  /// What the attempts so far failed with.
  private var errors: [any Error] = []
  private let timekeeper: Timekeeper
  /// The delay that is the current child.
  private var delay: DelayOperation?

  /// - Parameters:
  ///   - first: the first attempt, if it exists already.
  ///   - make: makes a further one.
  init(
    first: Operation?, _ policy: RetryPolicy, _ timekeeper: Timekeeper,
    _ make: @escaping (_ attempt: Int) throws -> Operation
  ) {
    self.first = first
    self.make = make
    self.timekeeper = timekeeper
    retry = RetryState(policy)
    super.init(joins: true)
  }

  deinit {
    ReleaseList.release(&first)
    ReleaseList.release(&make)
  }

  override func nextStep(after previous: Operation?, count: Int) -> Step {
    guard let previous else { return attempt() }
    if let delay = delay.take() { return delay.isCancelled ? .settle(.cancelled) : attempt() }
    guard let error = previous.failure else { return .settleLike(previous) }
    errors.append(error)
    guard let pause = retry.failed(error) else { return .settle(.failure, error: RetryError(errors: errors)) }
    guard pause > .zero else { return attempt() }
    let delay = DelayOperation(pause, timekeeper: timekeeper)
    self.delay = delay
    return .run(delay)
  }

  private func attempt() -> Step {
    let number = retry.begin()
    if let first = first.take() { return .run(first) }
    guard let make else { return .settle(.cancelled) }
    do {
      return .run(try make(number))
    } catch is CancellationError {
      return .settle(.cancelled)
    } catch {
      return .settle(.failure, error: RetryError(errors: errors + [error]))
    }
  }

  override func takeUnasked() -> Operation? { first.take() }

  override func discardSteps() {
    first = nil
    make = nil
    delay = nil
  }
}
