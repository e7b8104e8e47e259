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
  /// the returned one fails, without being cancelled itself; if somebody cancels it while it waits for the work, it is
  /// cancelled. Settle it yourself, and this one is cancelled too. Once it has settled, no timer is left.
  ///
  /// The time runs from the moment in which this operation may start: waiting for a slot of a queue does not count, waiting
  /// for dependencies of this operation does. A composite may start at once, so that what its children wait for counts.
  ///
  /// In a queue that was given to a composite around it, the work takes its slot until it has ended, also if the returned
  /// operation has settled before. Added to a queue by itself, the returned operation takes a slot until it has settled.
  ///
  /// - Parameters:
  ///   - limit: how long. Traps unless it is positive.
  ///   - behavior: whether the returned operation fails at once, which is the default, or when this one has ended.
  ///   - clock: the clock that measures the time.
  public func timeout(
    _ limit: Duration, _ behavior: TimeoutBehavior = .settlesAtOnce, clock: some Clock<Duration> = ContinuousClock()
  ) -> SimpleOperation<Value> {
    timed(self, limit, behavior, clock, givesVoid: false)
  }

  /// Gives this operation time until an instant of a clock; see ``timeout(_:_:clock:)``.
  ///
  /// The returned operation has to be started to fail: before that, nothing happens at the deadline. From then on it
  /// does not matter whether this operation has started. If it has not, because it waits for a slot or a dependency, or
  /// because the deadline had passed before, it is cancelled and never runs. If this operation has settled before the
  /// returned one is started, that settles as this one did, whatever the time.
  ///
  /// - Parameters:
  ///   - deadline: the instant.
  ///   - clock: the clock that the instant is one of.
  ///   - behavior: whether the returned operation fails at once, which is the default, or when this one has ended.
  public func deadline<C: Clock>(
    _ deadline: C.Instant, clock: C, _ behavior: TimeoutBehavior = .settlesAtOnce
  ) -> SimpleOperation<Value> where C.Duration == Duration {
    timed(self, until: deadline, behavior, clock, givesVoid: false)
  }
}

extension Operation {
  /// The same for any other operation, which has no value: see ``ComposableOperation/timeout(_:_:clock:)``.
  ///
  /// A plain asynchronous operation has to finish when it is cancelled, or it goes on after the timeout.
  @_disfavoredOverload
  public final func timeout(
    _ limit: Duration, _ behavior: TimeoutBehavior = .settlesAtOnce, clock: some Clock<Duration> = ContinuousClock()
  ) -> SimpleOperation<Void> {
    timed(self, limit, behavior, clock, givesVoid: true)
  }

  /// The same for any other operation, which has no value: see ``ComposableOperation/deadline(_:clock:_:)``.
  @_disfavoredOverload
  public final func deadline<C: Clock>(
    _ deadline: C.Instant, clock: C, _ behavior: TimeoutBehavior = .settlesAtOnce
  ) -> SimpleOperation<Void> where C.Duration == Duration {
    timed(self, until: deadline, behavior, clock, givesVoid: true)
  }
}

private func timed<Value>(
  _ operation: Operation, _ limit: Duration, _ behavior: TimeoutBehavior, _ clock: some Clock<Duration>, givesVoid: Bool
) -> SimpleOperation<Value> {
  require(
    limit > .zero,
    "\(OperationError.describe(operation)) was given a timeout of \(limit), so it could never end in time. Use a "
      + "positive one.")
  return ComposedOperation(TimeoutSource(operation, .duration(limit), behavior, .of(clock), givesVoid: givesVoid))
}

private func timed<Value, C: Clock>(
  _ operation: Operation, until deadline: C.Instant, _ behavior: TimeoutBehavior, _ clock: C, givesVoid: Bool
) -> SimpleOperation<Value> where C.Duration == Duration {
  let timekeeper = Timekeeper.of(clock)
  let limit = TimeoutSource.Limit.deadline(timekeeper.time(of: deadline))
  return ComposedOperation(TimeoutSource(operation, limit, behavior, timekeeper, givesVoid: givesVoid))
}
