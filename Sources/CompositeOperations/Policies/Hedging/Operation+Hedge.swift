import Foundation

extension ComposableOperation {
  /// Runs a second attempt beside this operation if this operation takes long or fails, and
  /// succeeds with the value of the attempt that succeeds first.
  ///
  /// ```swift
  /// let page = Download(mirror).hedged(after: .milliseconds(200)) { Download(otherMirror) }
  /// ```
  ///
  /// Returns one operation that owns both attempts. This operation is the first attempt. The second
  /// attempt starts when the delay has passed, or when the first attempt fails. The first success
  /// settles the returned operation at once. The other attempt is cancelled then, and is not waited
  /// for. If both attempts fail, the returned operation fails with the error that came last. If
  /// other code cancels an attempt, the returned operation is cancelled when both attempts have
  /// ended.
  ///
  /// Cancelling the returned operation cancels the attempts that run. The returned operation
  /// settles as cancelled when they have ended. If this operation is already executing, queued,
  /// composed elsewhere or settled, the returned operation only waits for it, and does not cancel
  /// it.
  ///
  /// Use this for operations that can safely run twice. To limit how many second attempts a program
  /// makes, use ``hedged(by:_:)``.
  ///
  /// - Parameters:
  ///   - delay: how long the first attempt runs alone, from the moment when it may start. Traps if
  ///     it is negative.
  ///   - clock: the clock that measures the delay.
  ///   - makeAttempt: makes the second attempt. Called at most once, where the operations run. An
  ///     error that it throws counts as the failure of the second attempt.
  public func hedged<O: ComposableOperation>(
    after delay: Duration, clock: some Clock<Duration> = ContinuousClock(),
    _ makeAttempt: @escaping @Sendable () throws -> O
  ) -> SimpleOperation<Value> where O.Value == Value {
    hedged(by: Hedging(after: .fixed(delay), maxExtraShare: 1, clock: clock), makeAttempt)
  }

  /// Runs a second attempt beside this operation when a hedging that operations share allows it;
  /// see ``hedged(after:clock:_:)``.
  ///
  /// ```swift
  /// let search = Hedging("search", after: .percentile(0.95, atLeast: 20), maxExtraShare: 0.1)
  /// let hits = Search(term).hedged(by: search) { Search(term) }
  /// ```
  ///
  /// - Parameters:
  ///   - hedging: decides after which delay the second attempt starts, and whether it may.
  ///   - makeAttempt: makes the second attempt.
  public func hedged<O: ComposableOperation>(
    by hedging: Hedging, _ makeAttempt: @escaping @Sendable () throws -> O
  ) -> SimpleOperation<Value> where O.Value == Value {
    ComposedOperation(HedgeForm(self, by: hedging, makeAttempt))
  }
}
