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
  /// Returns one operation that owns this one. After its start it waits for the dependencies of
  /// this operation, runs the prerequisites of the condition, and evaluates the condition. Then it
  /// runs this operation, and settles as this one does. If the condition does not hold, this
  /// operation is cancelled and never runs. Waiting and evaluating take neither a slot of a queue
  /// nor a thread.
  ///
  /// If either operation is cancelled before this one runs, the returned one cancels the
  /// prerequisites or the evaluation, cancels this one without running it, and settles as cancelled
  /// when these have ended. An operation that is running, queued or composed elsewhere is neither
  /// held back nor cancelled: the returned one waits for it if the condition holds.
  ///
  /// In a chain of calls, the last condition is evaluated first. Conditions combine with `&&`, `||`
  /// and `!`, and a list of them with `.all(_:)`; combined conditions are evaluated concurrently,
  /// except those of `||`.
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
  /// The same as ``condition(_:)``, but an operation that is skipped fails no operation around it.
  /// A condition whose evaluation throws does not hold; a thrown `CancellationError` cancels.
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
