import Foundation

// Attempts until one succeeds: `retrying`. The same as a sequence is `RetrySequence`.

/// Makes attempts until one succeeds.
///
/// ```swift
/// let photo = retrying(RetryPolicy(maxAttempts: 4)) { attempt in Download(url) }
/// ```
///
/// Returns one operation that owns all attempts. It succeeds with the value of the attempt that does. When none is left, or
/// the policy says to stop, it fails with a ``RetryError`` of every attempt's error. A cancelled attempt is not
/// repeated: the returned operation is cancelled. Cancelling that cancels the attempt, or ends the delay, that is under
/// way; so does settling it yourself.
///
/// Between attempts no thread and no slot of a queue is taken.
///
/// - Parameters:
///   - policy: how often, and after how long.
///   - clock: the clock that delays are measured by.
///   - makeOperation: makes each attempt, and gets its number, from 1. Called when the attempt is due, where the operations
///     run; released when none will be made any more. An error that it throws ends the attempts, as the last of the
///     errors; `CancellationError` cancels. Returning an attempt that has failed already ends them in the same way.
public func retrying<O: ComposableOperation>(
  _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
  _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> O
) -> SimpleOperation<O.Value> {
  PolicyOperation(RetrySource(first: nil, policy, .of(clock), givesVoid: false, makeOperation))
}

/// The same for any other operations, which have no value: makes attempts until one succeeds.
///
/// A plain operation never fails, so that only those of this package's, and your own that conform to
/// ``ComposableOperation``, are ever repeated.
@_disfavoredOverload
public func retrying(
  _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
  _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> Operation
) -> SimpleOperation<Void> {
  PolicyOperation(RetrySource(first: nil, policy, .of(clock), givesVoid: true, makeOperation))
}

extension ComposableOperation {
  /// Tries again when this operation fails, with operations made anew: the form of `retrying(policy) { … }` for an
  /// operation that exists already.
  ///
  /// ```swift
  /// let photo = Download(url).retrying(RetryPolicy(maxAttempts: 4)) { _ in Download(url) }
  /// ```
  ///
  /// This operation is the first attempt, and is started unless somebody else does; see ``then(_:)``.
  ///
  /// - Parameters:
  ///   - policy: how often, and after how long.
  ///   - clock: the clock that delays are measured by.
  ///   - makeOperation: makes the second and further attempts, and gets their number.
  public func retrying<O: ComposableOperation>(
    _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
    _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> O
  ) -> SimpleOperation<Value> where O.Value == Value {
    PolicyOperation(RetrySource(first: self, policy, .of(clock), givesVoid: false, makeOperation))
  }
}

extension Operation {
  /// The same for any other operation, which has no value: see ``ComposableOperation/retrying(_:clock:_:)``.
  @_disfavoredOverload
  public final func retrying(
    _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock(),
    _ makeOperation: @escaping @Sendable (_ attempt: Int) throws -> Operation
  ) -> SimpleOperation<Void> {
    PolicyOperation(RetrySource(first: self, policy, .of(clock), givesVoid: true, makeOperation))
  }
}
