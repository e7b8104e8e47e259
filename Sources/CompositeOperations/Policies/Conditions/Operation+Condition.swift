import Foundation

// Conditions for operations of any kind.

extension ComposableOperation {
  /// Runs this operation only if a condition holds, and fails with a ``ConditionError`` if it does not.
  ///
  /// ```swift
  /// let upload = Upload(file).condition(Reachable() && Condition("signed in") { _ in await session.isActive })
  /// ```
  ///
  /// Returns one operation that owns this one. Once that has started: the dependencies of this operation are waited
  /// for; then the prerequisite of the condition runs, if it has one; then the condition is evaluated; then this
  /// operation runs, and the returned one settles as it does. If the condition does not hold this one is cancelled and
  /// never runs. All but the operations themselves takes neither a slot of a queue nor a thread.
  ///
  /// Cancelled at any time before this operation runs, the returned one cancels what is under way, cancels this one
  /// without running it, and settles as cancelled when all has ended; the same if this one is cancelled. An operation
  /// that somebody else has started,
  /// queued or composed is not held back, nor cancelled: it is waited for if the condition holds.
  ///
  /// Of several calls after each other the last is looked at first.
  ///
  /// - Parameter condition: what has to hold. Released when the returned operation has settled.
  public func condition(_ condition: some OperationCondition) -> SimpleOperation<Value> {
    conditions([condition])
  }

  /// Runs this operation only if a condition holds, and succeeds with another value, without running it, if it does not.
  ///
  /// ```swift
  /// let thumbnail = MakeThumbnail(of: photo).condition(Condition("large") { _ in photo.isLarge }, otherwise: photo)
  /// ```
  ///
  /// The quiet form of ``condition(_:)``, which see: what is skipped fails nothing around it. The condition does not hold,
  /// too, where its evaluation throws; only a `CancellationError` cancels.
  ///
  /// - Parameters:
  ///   - condition: what has to hold. Released when the returned operation has settled.
  ///   - value: what the returned operation succeeds with if it does not; `()` where there is no value.
  public func condition(_ condition: some OperationCondition, otherwise value: Value) -> SimpleOperation<Value> {
    ComposedOperation(ConditionSource(self, [Condition(condition)], otherwise: value, givesVoid: false))
  }

  /// Runs this operation only if all conditions hold, and fails with a ``ConditionError`` of all that do not.
  ///
  /// Their prerequisites run in parallel; then all are evaluated, concurrently. Otherwise see ``condition(_:)``.
  ///
  /// - Parameter conditions: what has to hold. If there is nothing, the operation just runs.
  public func conditions(_ conditions: any OperationCondition...) -> SimpleOperation<Value> {
    self.conditions(conditions)
  }

  /// Runs this operation only if all conditions hold: the same for a list.
  public func conditions(_ conditions: [any OperationCondition]) -> SimpleOperation<Value> {
    ComposedOperation(ConditionSource(self, conditions.map { Condition($0) }, givesVoid: false))
  }
}

extension Operation {
  /// The same for any other operation, which has no value: see ``ComposableOperation/condition(_:)``.
  @_disfavoredOverload
  public final func condition(_ condition: some OperationCondition) -> SimpleOperation<Void> {
    conditions([condition])
  }

  /// The same for any other operation, which has no value: see ``ComposableOperation/condition(_:otherwise:)``.
  @_disfavoredOverload
  public final func condition(_ condition: some OperationCondition, otherwise value: Void) -> SimpleOperation<Void> {
    ComposedOperation(ConditionSource(self, [Condition(condition)], otherwise: value, givesVoid: true))
  }

  /// The same for any other operation, which has no value: see ``ComposableOperation/condition(_:)``.
  @_disfavoredOverload
  public final func conditions(_ conditions: any OperationCondition...) -> SimpleOperation<Void> {
    self.conditions(conditions)
  }

  /// The same for any other operation, which has no value: see ``ComposableOperation/condition(_:)``.
  @_disfavoredOverload
  public final func conditions(_ conditions: [any OperationCondition]) -> SimpleOperation<Void> {
    ComposedOperation(ConditionSource(self, conditions.map { Condition($0) }, givesVoid: true))
  }
}
