import Foundation

// Attempts until one succeeds: `retrying`. The same as a sequence is `RetrySequence`.

/// Makes attempts until one succeeds.
///
/// ```swift
/// let photo = retrying(RetryPolicy(maxAttempts: 4)) { attempt in
///   Download(attempt.lastError is OperationTimeout ? mirror : url)
/// } decide: { failed in
///   await network.isExpensive && failed.elapsed > .seconds(10) ? .stop : .retry
/// }
/// ```
///
/// Returns one operation that owns all attempts. It succeeds with the value of the attempt that
/// does. When no attempt is left, or the policy says to stop, it fails with a ``RetryError`` of
/// every attempt's error. A cancelled attempt is not repeated: the returned operation is cancelled.
/// Cancelling the returned operation, or settling it, cancels the attempt, or ends the delay, that
/// is under way.
///
/// Between attempts no thread and no slot of a queue is taken.
///
/// - Parameters:
///   - policy: how often, and after how long.
///   - clock: the clock that delays and ``RetryAttempt/elapsed`` are measured by.
///   - makeOperation: makes each attempt, and gets its number and the errors of the attempts
///     before. Called when the attempt is due, where the operations run; released when no attempt
///     will be made any longer. An error that it throws ends the attempts, as the last of the
///     errors; `CancellationError` cancels. Returning an attempt that has failed already ends them
///     in the same way.
///   - decide: decides, instead of ``RetryPolicy/decide``, what to do after each failure while an
///     attempt is left, and gets the attempt that has failed, whose error is the last one. Called
///     in a detached task, on the cooperative pool, so it takes no slot of a queue. Cancelling or
///     settling the returned operation cancels the task; a cancelled operation is settled when the
///     closure has returned. An error that it throws ends the attempts, as the last of the errors;
///     `CancellationError` cancels. Nil lets the policy decide.
public func retrying<O: ComposableOperation>(
  _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
  _ makeOperation: @escaping @Sendable (_ attempt: RetryAttempt) throws -> O, decide: RetryAttempt.Decide? = nil
) -> SimpleOperation<O.Value> {
  ComposedOperation(RetrySource(first: nil, policy, .of(clock), givesVoid: false, decide: decide, makeOperation))
}

extension ComposableOperation {
  /// Tries again when this operation fails, with operations made anew: the form of
  /// `retrying(policy) { … }` for an operation that exists already.
  ///
  /// ```swift
  /// let photo = Download(url).retrying(RetryPolicy(maxAttempts: 4)) { _ in Download(url) }
  /// ```
  ///
  /// This operation is the first attempt, and is started unless it is running or queued elsewhere;
  /// see ``then(_:)``.
  ///
  /// - Parameters:
  ///   - policy: how often, and after how long.
  ///   - clock: the clock that delays and ``RetryAttempt/elapsed`` are measured by.
  ///   - makeOperation: makes the second and further attempts.
  ///   - decide: decides instead of the policy what to do after each failure; see
  ///     ``retrying(_:clock:_:decide:)``.
  public func retrying<O: ComposableOperation>(
    _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
    _ makeOperation: @escaping @Sendable (_ attempt: RetryAttempt) throws -> O, decide: RetryAttempt.Decide? = nil
  ) -> SimpleOperation<Value> where O.Value == Value {
    ComposedOperation(RetrySource(first: self, policy, .of(clock), givesVoid: false, decide: decide, makeOperation))
  }
}

extension Operation {
  /// The same for any other operation, which has no value: see
  /// ``ComposableOperation/retrying(_:clock:_:decide:)``.
  ///
  /// A plain operation never fails, so that only those of this package, and your own that conform
  /// to ``ComposableOperation``, are ever repeated.
  @_disfavoredOverload
  public final func retrying(
    _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
    _ makeOperation: @escaping @Sendable (_ attempt: RetryAttempt) throws -> Operation,
    decide: RetryAttempt.Decide? = nil
  ) -> SimpleOperation<Void> {
    ComposedOperation(RetrySource(first: self, policy, .of(clock), givesVoid: true, decide: decide, makeOperation))
  }
}
