import Foundation

// Conditions for operations of any kind.

extension ComposableOperation {
  /// Runs this operation only if a condition holds, and fails with a ``ConditionError`` if it does
  /// not.
  ///
  /// ```swift
  /// let upload = Upload(file).condition(.reachable() && Condition("signed in") { _ in await session.isActive })
  /// ```
  ///
  /// Returns one operation that owns this one. Once the returned operation has started, it waits
  /// for the dependencies of this operation; runs the prerequisites of the condition, if it has
  /// any; evaluates the condition; then runs this operation, and settles as this one does. If the
  /// condition does not hold, this operation is cancelled and never runs. Waiting and evaluating
  /// take neither a slot of a queue nor a thread.
  ///
  /// If either operation is cancelled before this one runs, the returned one cancels what is under
  /// way, cancels this one without running it, and settles as cancelled when all has ended. An
  /// operation that other code has started, queued or composed is neither held back nor cancelled:
  /// the returned one waits for it if the condition holds.
  ///
  /// With several calls in a chain, the last condition is evaluated first. Several conditions
  /// combine with `&&`, `||` and `!`, and a list of them with `.all(_:)`; those are evaluated
  /// concurrently.
  ///
  /// - Parameter condition: what has to hold. Released when the returned operation has settled.
  public func condition(_ condition: some OperationCondition) -> SimpleOperation<Value> {
    ComposedOperation(ConditionSource(self, Condition(condition), givesVoid: false))
  }

  /// Runs this operation only if a condition holds, and succeeds with another value, without
  /// running it, if it does not.
  ///
  /// ```swift
  /// let thumbnail = MakeThumbnail(of: photo).condition(Condition("large") { _ in photo.isLarge }, otherwise: photo)
  /// ```
  ///
  /// The quiet form of ``condition(_:)``, which see: what is skipped fails nothing around it. The
  /// condition does not hold, too, where its evaluation throws; only a `CancellationError` cancels.
  ///
  /// - Parameters:
  ///   - condition: what has to hold. Released when the returned operation has settled.
  ///   - value: what the returned operation succeeds with if it does not; `()` where there is no
  ///     value.
  public func condition(_ condition: some OperationCondition, otherwise value: Value) -> SimpleOperation<Value> {
    ComposedOperation(ConditionSource(self, Condition(condition), otherwise: value, givesVoid: false))
  }
}

extension Operation {
  /// The same for any other operation, which has no value: see
  /// ``ComposableOperation/condition(_:)``.
  @_disfavoredOverload
  public final func condition(_ condition: some OperationCondition) -> SimpleOperation<Void> {
    ComposedOperation(ConditionSource(self, Condition(condition), givesVoid: true))
  }

  /// The same for any other operation, which has no value: see
  /// ``ComposableOperation/condition(_:otherwise:)``.
  @_disfavoredOverload
  public final func condition(_ condition: some OperationCondition, otherwise value: Void) -> SimpleOperation<Void> {
    ComposedOperation(ConditionSource(self, Condition(condition), otherwise: value, givesVoid: true))
  }
}
