import Foundation

extension ComposableOperation {
  /// Runs this operation only if a condition holds, and fails with a ``ConditionError`` if it does
  /// not.
  ///
  /// ```swift
  /// let isSignedIn = Condition("signed in") { _ in await session.isActive }
  /// let upload = Upload(file).condition(.reachable() && isSignedIn)
  /// ```
  ///
  /// Returns one operation that owns this operation. After its start, the returned operation waits
  /// for the dependencies of this operation, runs the prerequisites of the condition, and evaluates
  /// the condition. Then it runs this operation, and settles with the same outcome. If the
  /// condition does not hold, this operation is cancelled and never runs. Waiting and evaluating
  /// take neither a slot of a queue nor a thread.
  ///
  /// If either operation is cancelled before this operation runs, the returned operation cancels
  /// the prerequisites or the evaluation, and cancels this operation without running it. When these
  /// have ended, the returned operation settles as cancelled. If this operation is running, queued
  /// or composed elsewhere, it is neither held back nor cancelled: the returned operation waits for
  /// it if the condition holds.
  ///
  /// In a chain of calls, the last condition is evaluated first. Conditions combine with `&&`, `||`
  /// and `!`, and lists of conditions with `.all(_:)`. Combined conditions are evaluated
  /// concurrently, except those of `||`.
  ///
  /// - Parameter condition: what has to hold. Released when the returned operation has settled.
  public func condition(_ condition: some OperationCondition) -> SimpleOperation<Value> {
    ComposedOperation(GuardForm(self, ConditionGuard(Condition(condition))))
  }

  /// Runs this operation only if a condition holds. If it does not hold, succeeds with another
  /// value.
  ///
  /// ```swift
  /// let isLarge = Condition("large") { _ in photo.isLarge }
  /// let thumbnail = MakeThumbnail(of: photo).condition(isLarge, otherwise: photo)
  /// ```
  ///
  /// The same as ``condition(_:)``, but skipping this operation does not fail the operations around
  /// it. A condition does not hold if its evaluation throws. A thrown `CancellationError` cancels
  /// the returned operation.
  ///
  /// - Parameters:
  ///   - condition: what has to hold. Released when the returned operation has settled.
  ///   - value: the value of the returned operation if the condition does not hold; `()` where
  ///     there is no value.
  public func condition(_ condition: some OperationCondition, otherwise value: Value) -> SimpleOperation<Value> {
    ComposedOperation(GuardForm(self, ConditionGuard(Condition(condition), otherwise: value)))
  }
}
