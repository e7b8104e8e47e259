import Foundation

extension Operation {
  /// Makes a ``SimpleOperation`` that runs this operation, whatever its type, so that it can be
  /// given policies, and be composed with ``ComposableOperation/then(_:)`` and the like.
  ///
  /// ```swift
  /// let backup = BlockOperation { copyFiles() }
  /// queue.addOperation(backup.asSimpleOperation().timeout(.seconds(60)).exclusive("backup"))
  /// ```
  ///
  /// Returns one operation that owns this operation. It has the outcome of this operation, as
  /// `anyOutcome` tells it, without the value:
  ///
  /// - A plain operation succeeds with `()` when it has finished, or is cancelled if its
  ///   `isCancelled` is true then. It never fails.
  /// - A ``ComposableOperation`` that is typed as `Operation` also fails, with its own error.
  ///
  /// Cancelling the returned operation cancels this operation. A plain asynchronous operation must
  /// finish then; the returned operation waits for it. If this operation is already executing,
  /// queued, composed elsewhere or finished, the returned operation only waits for it, and does not
  /// cancel it.
  ///
  /// The dependencies of this operation stay its own. Give the returned operation those that a
  /// policy around it is to wait for.
  public final func asSimpleOperation() -> SimpleOperation<Void> {
    let composition = ChainForm(self, as: .asSimpleOperation) { operation, refusal in
      if let refusal { throw refusal }
      if case .success = operation.anyOutcome { return .settle(.success(nil)) }
      return .settleLike(operation)
    }
    // Nothing follows, so this settles on the thread that settles the operation.
    composition.lastTag = 1
    return ComposedOperation(composition)
  }
}
