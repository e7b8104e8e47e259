import Foundation

// Attempts until one succeeds: `retrying`.

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
/// succeeds. When no attempt is left, or the policy says to stop, it fails with a ``RetryError``,
/// which has the errors of the attempts. A cancelled attempt is not repeated: the returned
/// operation is then cancelled. Cancelling or settling the returned operation cancels the current
/// attempt, or ends the current delay.
///
/// Between attempts the returned operation takes neither a thread nor a slot of a queue.
///
/// - Parameters:
///   - policy: how often to try, and after which delays.
///   - clock: the clock that measures delays and ``RetryAttempt/elapsed``.
///   - makeOperation: makes each attempt. It receives the number of the attempt, and the errors of
///     the attempts before. Called when the attempt is due, where the operations run. Released when
///     no further attempt will be made. An error that it throws ends the attempts, and becomes the
///     last of the errors; a `CancellationError` cancels the returned operation. Returning an
///     attempt that has already failed ends the attempts in the same way.
///   - decide: decides what to do after each failure while an attempt is left, instead of
///     ``RetryPolicy/decide``. Nil lets the policy decide. The closure receives the attempt that
///     has failed; ``RetryAttempt/lastError`` is the error of that attempt. Called in a detached
///     task on the cooperative pool, so it takes no slot of a queue. Cancelling or settling the
///     returned operation cancels the task. A cancelled operation settles when the closure has
///     returned. An error that the closure throws ends the attempts, and becomes the last of the
///     errors; a `CancellationError` cancels the returned operation.
public func retrying<O: ComposableOperation>(
  _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
  _ makeOperation: @escaping @Sendable (_ attempt: RetryAttempt) throws -> O,
  decide: (@Sendable (_ failed: RetryAttempt) async throws -> RetryPolicy.Decision)? = nil
) -> SimpleOperation<O.Value> {
  ComposedOperation(RetryForm(first: nil, policy, .of(clock), decide: decide, makeOperation))
}

extension ComposableOperation {
  /// Tries again with new operations when this operation fails. It is the form of
  /// `retrying(policy) { … }` for an operation that exists already.
  ///
  /// ```swift
  /// let photo = Download(url).retrying(RetryPolicy(maxAttempts: 4)) { _ in Download(url) }
  /// ```
  ///
  /// This operation is the first attempt. The returned operation starts it unless it is running or
  /// queued elsewhere; see ``then(_:)``.
  ///
  /// - Parameters:
  ///   - policy: how often to try, and after which delays.
  ///   - clock: the clock that measures delays and ``RetryAttempt/elapsed``.
  ///   - makeOperation: makes the second and further attempts.
  ///   - decide: decides instead of the policy what to do after each failure; see
  ///     ``retrying(_:clock:_:decide:)``.
  public func retrying<O: ComposableOperation>(
    _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
    _ makeOperation: @escaping @Sendable (_ attempt: RetryAttempt) throws -> O,
    decide: (@Sendable (_ failed: RetryAttempt) async throws -> RetryPolicy.Decision)? = nil
  ) -> SimpleOperation<Value> where O.Value == Value {
    ComposedOperation(RetryForm(first: self, policy, .of(clock), decide: decide, makeOperation))
  }
}
