import Foundation

// Time limits for operations: `timeout` and `deadline`.

extension ComposableOperation {
  /// Limits the time of this operation, and fails with ``OperationTimeout`` if it has not ended by
  /// then.
  ///
  /// ```swift
  /// let user = FetchUser(id: 7).timeout(.seconds(3))
  /// ```
  ///
  /// Returns one operation that owns this one, and starts it unless other code does; see
  /// ``then(_:)``. If this one ends in time, the returned one has its outcome. When the time is up,
  /// this one is cancelled (unless other code started it), and the returned one fails without being
  /// cancelled itself; a cancel while it waits for the work cancels it. Settling the returned one
  /// yourself cancels this one too. No timer is left once it has settled.
  ///
  /// The time runs from the moment when this operation may start: waiting for a slot of a queue
  /// does not count, waiting for dependencies of this operation does. A composite may start at
  /// once, so the waits of its children count.
  ///
  /// In the queue of a composite around it, the work keeps its slot until it has ended, even if the
  /// returned operation has settled before. If the returned operation is itself added to a queue,
  /// it keeps its slot until it has settled.
  ///
  /// - Parameters:
  ///   - limit: the time. Traps unless it is positive.
  ///   - behavior: whether the returned operation fails at once, the default, or when this one has
  ///     ended.
  ///   - clock: the clock that measures the time.
  public func timeout(
    _ limit: Duration, _ behavior: TimeoutBehavior = .settlesAtOnce, clock: some Clock<Duration> = ContinuousClock()
  ) -> SimpleOperation<Value> {
    timed(self, limit, behavior, clock, givesVoid: false)
  }

  /// Limits the time of this operation to an instant of a clock; see ``timeout(_:_:clock:)``.
  ///
  /// The returned operation must be started to fail: before that, nothing happens at the deadline.
  /// From then on it does not matter whether this operation has started. If it has not, because it
  /// waits for a slot or a dependency, or because the deadline has already passed, it is cancelled
  /// and never runs. If this operation has settled before the returned one is started, that has its
  /// outcome, whatever the time.
  ///
  /// - Parameters:
  ///   - deadline: the instant.
  ///   - clock: the clock of the instant.
  ///   - behavior: whether the returned operation fails at once, the default, or when this one has
  ///     ended.
  public func deadline<C: Clock>(
    _ deadline: C.Instant, clock: C, _ behavior: TimeoutBehavior = .settlesAtOnce
  ) -> SimpleOperation<Value> where C.Duration == Duration {
    timed(self, until: deadline, behavior, clock, givesVoid: false)
  }
}

extension Operation {
  /// Limits the time of an operation of any other type, which has no value: see
  /// ``ComposableOperation/timeout(_:_:clock:)``.
  ///
  /// A plain asynchronous operation must finish when it is cancelled; otherwise it continues after
  /// the timeout.
  @_disfavoredOverload
  public final func timeout(
    _ limit: Duration, _ behavior: TimeoutBehavior = .settlesAtOnce, clock: some Clock<Duration> = ContinuousClock()
  ) -> SimpleOperation<Void> {
    timed(self, limit, behavior, clock, givesVoid: true)
  }

  /// Limits the time of an operation of any other type, which has no value: see
  /// ``ComposableOperation/deadline(_:clock:_:)``.
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
