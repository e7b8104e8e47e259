import Foundation

extension ComposableOperation {
  /// Tries again when this operation fails, with operations made anew.
  ///
  /// ```swift
  /// let photo = Download(url).retrying(RetryPolicy(maxAttempts: 4)) { _ in Download(url) }
  /// ```
  ///
  /// Returns one operation that owns all attempts; this one is the first, and is started unless somebody else does. It
  /// succeeds with the value of the attempt that does. When none is left, or the policy says to stop, it fails with
  /// a ``RetryError`` of every attempt's error. A cancelled attempt is not repeated: the returned operation is cancelled.
  /// Cancelling that cancels the attempt, or ends the delay, that is under way.
  ///
  /// Between attempts no thread and no slot of a queue is taken.
  ///
  /// - Parameters:
  ///   - policy: how often, and after how long.
  ///   - clock: the clock that delays are measured by.
  ///   - makeOperation: makes the second and further attempts, and gets their number. Called when the attempt is due,
  ///     where the operations run. An error that it throws ends the attempts, as the last of the errors;
  ///     `CancellationError` cancels.
  public func retrying<O: ComposableOperation>(
    _ policy: RetryPolicy, clock: some Clock<Duration> = ContinuousClock(),
    _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> O
  ) -> SimpleOperation<Value> where O.Value == Value {
    ComposedOperation(RetrySource(first: self, policy, .of(clock), makeOperation))
  }
}

/// Makes attempts until one succeeds: the form in which also the first is made when it is due.
///
/// ```swift
/// let photo = retrying(RetryPolicy(maxAttempts: 4)) { attempt in Download(url) }
/// ```
///
/// See ``ComposableOperation/retrying(_:clock:_:)``.
///
/// - Parameters:
///   - policy: how often, and after how long.
///   - clock: the clock that delays are measured by.
///   - makeOperation: makes each attempt, and gets its number, from 1.
public func retrying<O: ComposableOperation>(
  _ policy: RetryPolicy, clock: some Clock<Duration> = ContinuousClock(),
  _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> O
) -> SimpleOperation<O.Value> {
  ComposedOperation(RetrySource(first: nil, policy, .of(clock), makeOperation))
}
