import Foundation

// A limit in time for an operation: `timeout` and `deadline`.

extension ComposableOperation {
  /// Gives this operation a limited time, and fails with ``OperationTimeout`` if it has not ended by then.
  ///
  /// ```swift
  /// let user = FetchUser(id: 7).timeout(.seconds(3))
  /// ```
  ///
  /// Returns one operation that owns this one, and starts it unless somebody else does; see ``then(_:)``. It settles as
  /// this one does, if that is in time. When the time is up this one is cancelled (not if somebody else started it), and
  /// the returned one fails, without being cancelled itself.
  ///
  /// The time runs from the moment in which this operation may start: waiting for a slot of a queue does not count, waiting
  /// for dependencies of this operation does.
  ///
  /// - Parameters:
  ///   - limit: how long. Traps unless it is positive.
  ///   - behavior: whether the returned operation fails at once, which is the default, or when this one has ended.
  ///   - clock: the clock that measures the time.
  public func timeout(
    _ limit: Duration, _ behavior: TimeoutBehavior = .settlesAtOnce, clock: some Clock<Duration> = ContinuousClock()
  ) -> SimpleOperation<Value> {
    requirePositive(limit, of: self)
    return TimedOperation(TimeoutSource(self, .duration(limit), behavior, .of(clock), givesVoid: false))
  }

  /// Gives this operation time until an instant of a clock; see ``timeout(_:_:clock:)``.
  ///
  /// Whether it has started does not matter: when the deadline has passed it is not started any more.
  ///
  /// - Parameters:
  ///   - deadline: the instant. One that has passed is none too early: the operation fails as soon as it is started.
  ///   - clock: the clock that the instant is one of.
  ///   - behavior: whether the returned operation fails at once, which is the default, or when this one has ended.
  public func deadline<C: Clock>(
    _ deadline: C.Instant, clock: C, _ behavior: TimeoutBehavior = .settlesAtOnce
  ) -> SimpleOperation<Value> where C.Duration == Duration {
    TimedOperation(TimeoutSource(self, .at(deadline, C.self), behavior, .of(clock), givesVoid: false))
  }
}

extension Operation {
  /// The same for any other operation, which has no value: see ``ComposableOperation/timeout(_:_:clock:)``.
  @_disfavoredOverload
  public final func timeout(
    _ limit: Duration, _ behavior: TimeoutBehavior = .settlesAtOnce, clock: some Clock<Duration> = ContinuousClock()
  ) -> SimpleOperation<Void> {
    requirePositive(limit, of: self)
    return TimedOperation(TimeoutSource(self, .duration(limit), behavior, .of(clock), givesVoid: true))
  }

  /// The same for any other operation, which has no value: see ``ComposableOperation/deadline(_:clock:_:)``.
  @_disfavoredOverload
  public final func deadline<C: Clock>(
    _ deadline: C.Instant, clock: C, _ behavior: TimeoutBehavior = .settlesAtOnce
  ) -> SimpleOperation<Void> where C.Duration == Duration {
    TimedOperation(TimeoutSource(self, .at(deadline, C.self), behavior, .of(clock), givesVoid: true))
  }
}

extension TimeoutSource.Limit {
  fileprivate static func at<C: Clock>(_ deadline: C.Instant, _: C.Type) -> Self where C.Duration == Duration {
    .deadline { timekeeper, action in timekeeper.at(deadline, action) }
  }
}

private func requirePositive(_ limit: Duration, of operation: Operation) {
  require(
    limit > .zero,
    "\(OperationError.describe(operation)) was given a timeout of \(limit), so it could never end in time. Use a "
      + "positive one.")
}
