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
  /// Returns one operation that owns this operation, and starts it unless other code does; see
  /// ``then(_:)``. If this operation ends in time, the returned operation has its outcome. When the
  /// time is up, this operation is cancelled, unless other code started it. The returned operation
  /// fails, and is not cancelled itself. If it is cancelled while it waits for the work, it settles
  /// as cancelled. Settling the returned operation yourself also cancels this operation. No timer
  /// is left once the returned operation has settled.
  ///
  /// The time runs from the moment when this operation may start for the first time. Waiting for a
  /// slot of a queue before that does not count. All waits after it do: for dependencies of this
  /// operation, and for the slot that it needs when these have finished. A composition, such as a
  /// composite or what `map` and the policies return, may start at once, so the waits inside it
  /// count, those for slots too. The wait of the returned operation after this operation has ended
  /// does not count.
  ///
  /// In the queue of a composite around it, this operation keeps its slot until it has ended, even
  /// if the returned operation has settled before. If the returned operation is itself added to a
  /// queue, it keeps its slot until it has settled.
  ///
  /// - Parameters:
  ///   - limit: the time. Traps unless it is positive.
  ///   - behavior: whether the returned operation fails at once, the default, or when this one has
  ///     ended.
  ///   - clock: the clock that measures the time.
  public func timeout(
    _ limit: Duration, _ behavior: TimeoutBehavior = .settlesAtOnce, clock: some Clock<Duration> = ContinuousClock()
  ) -> SimpleOperation<Value> {
    require(
      limit > .zero,
      "\(OperationError.describe(self)) was given a timeout of \(limit), so it could never end in time. Use a "
        + "positive duration.")
    return ComposedOperation(TimeoutForm(self, .duration(limit), behavior, .of(clock)))
  }

  /// Limits the time of this operation to an instant of a clock; see ``timeout(_:_:clock:)``.
  ///
  /// The deadline has an effect only after the returned operation was started. From then on it does
  /// not matter whether this operation has started. This operation may not have started at the
  /// deadline, because it waits for a slot or a dependency, or because the deadline had already
  /// passed. Then it is cancelled and never runs. If this operation has settled before the returned
  /// operation is started, the returned operation has the same outcome, whatever the time.
  ///
  /// - Parameters:
  ///   - deadline: the instant.
  ///   - clock: the clock of the instant.
  ///   - behavior: whether the returned operation fails at once, the default, or when this one has
  ///     ended.
  public func deadline<C: Clock>(
    _ deadline: C.Instant, clock: C, _ behavior: TimeoutBehavior = .settlesAtOnce
  ) -> SimpleOperation<Value> where C.Duration == Duration {
    let timekeeper = Timekeeper.of(clock)
    return ComposedOperation(TimeoutForm(self, .deadline(timekeeper.time(of: deadline)), behavior, timekeeper))
  }
}
