import Foundation

/// A sequence that makes attempts until one succeeds.
///
/// The composite succeeds with the value of the attempt that succeeds. If the last attempt fails,
/// too, the composite fails with the errors of all attempts. A cancelled attempt is not repeated:
/// the composite is then cancelled.
///
/// ```swift
/// CompositeOperation(sequence: RetrySequence(maxAttempts: 3) { attempt in Download(url) })
///
/// let policy = RetryPolicy(backoff: .fibonacci(.seconds(1)))
/// CompositeOperation(sequence: RetrySequence(policy) { attempt in Download(url) })
/// ```
public struct RetrySequence: CompositeOperation.Sequence, Sendable {
  private let makeOperation: @Sendable (_ attempt: Int) throws -> Operation
  private let timekeeper: Timekeeper?
  private var retry: RetryState
  /// The current attempt, if it has a delay.
  private var delayed: DelayedAttempt?

  /// Makes a sequence of attempts that follow each other without delays.
  ///
  /// - Parameters:
  ///   - maxAttempts: the maximum number of attempts, the first included. Traps unless it is
  ///     positive.
  ///   - makeOperation: makes a new operation for each attempt, numbered from 1. Called under the
  ///     same conditions as `nextOperation(after:)` of ``CompositeOperation/Sequence``. An error
  ///     that it throws ends the sequence and fails the composite.
  public init(maxAttempts: Int, _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> Operation) {
    require(
      maxAttempts >= 1,
      "RetrySequence was made with \(maxAttempts) attempts, so it could never run. Use at least 1.")
    self.makeOperation = makeOperation
    timekeeper = nil
    retry = RetryState(RetryPolicy(maxAttempts: maxAttempts, backoff: .noDelay, jitter: .none))
  }

  /// Makes a sequence of attempts by a policy.
  ///
  /// An attempt that has to wait forms one operation with its delay. This operation is the
  /// composite's child, and has the outcome of the attempt. The delay takes no slot of the
  /// composite's queue.
  ///
  /// - Parameters:
  ///   - policy: how often to try, and after which delays.
  ///   - clock: the clock that measures the delays.
  ///   - makeOperation: makes a new operation for each attempt, numbered from 1, when the attempt
  ///     is due. Called where the operations run. An error that it throws ends the sequence and
  ///     fails the composite, also after a delay.
  public init(
    _ policy: RetryPolicy, clock: some Clock<Duration> = ContinuousClock(),
    _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> Operation
  ) {
    self.makeOperation = makeOperation
    timekeeper = .of(clock)
    retry = RetryState(policy)
  }

  /// Returns the first attempt, or another attempt after a failure if the policy allows one.
  /// Returns nil otherwise.
  public mutating func nextOperation(after previous: Operation?) throws -> Operation? {
    guard let previous else { return try makeOperation(retry.begin()) }
    guard let error = previous.failure, delayed?.wasNotMade != true, let pause = retry.failed(error) else { return nil }
    delayed = nil
    let attempt = retry.begin()
    guard pause > .zero, let timekeeper else { return try makeOperation(attempt) }
    let delayed = DelayedAttempt()
    self.delayed = delayed
    return delayed.operation(after: DelayOperation(pause, timekeeper: timekeeper)) { [makeOperation] in
      try makeOperation(attempt)
    }
  }
}

extension RetrySequence: SequenceOfAttempts {}

/// A delay and an attempt as one operation, which takes its name and its outcome from the attempt.
private final class DelayedAttempt: Sendable {
  private struct State {
    weak var operation: Operation?
    var wasNotMade = false
  }

  private let state = LockBox(State())

  /// Whether the attempt was due and could not be made.
  var wasNotMade: Bool { state.withLock { $0.wasNotMade } }

  func operation(after delay: DelayOperation, _ make: @escaping @Sendable () throws -> Operation) -> Operation {
    let operation = ComposedOperation<any Sendable>(
      ChainSource(delay, as: .then) { [self] delay, _ in
        guard !delay.isCancelled else { return .settle(.cancelled) }
        do {
          let attempt = try make()
          // The composite refuses one that comes without a delay, but the chain would join it.
          if let refusal = attempt.refusalIfTaken { throw refusal }
          let operation = state.withLock { $0.operation }
          operation?.name = attempt.name
          return .run(attempt)
        } catch {
          state.withLock { $0.wasNotMade = true }
          throw error
        }
      })
    state.withLock { $0.operation = operation }
    return operation
  }
}
