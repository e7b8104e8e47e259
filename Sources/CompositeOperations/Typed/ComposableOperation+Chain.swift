import Foundation

/// Methods that make one operation from another operation and a closure for its value.
///
/// Each method returns one operation that owns the others. The returned operation starts the
/// operation that the method is called on. If that operation is already executing, queued, composed
/// elsewhere or settled, the returned operation only waits for it, and does not cancel it. Unless
/// documented otherwise, the returned operation fails with the first error, unwrapped. Cancelling
/// the returned operation cancels the operations that it started. When they have finished, it
/// settles as cancelled. An operation of a class of your own that is no ``SimpleOperation`` shows
/// only that it executes, is queued (on Linux) or has finished: give it to one composition.
///
/// The closures are called where the operations run: in a slot of the parent composite's queue, or
/// on a worker thread if there is no queue. In `OperationQueue.main` that is the main thread. No
/// closure is called inside a `finish()` of other code. If a closure throws an error, the returned
/// operation fails with that error; a `CancellationError` cancels the returned operation. A closure
/// is released when it was called, or when it is no longer needed.
extension ComposableOperation {
  /// Runs a second operation, made from this one's value, and settles with its outcome.
  ///
  /// ```swift
  /// let photos = FetchUser(id: 7).then { user in FetchPhotos(of: user) }
  /// ```
  ///
  /// - Parameter next: makes the second operation. Called only if this one succeeds.
  public func then<O: ComposableOperation>(
    _ next: @escaping @Sendable (Value) throws -> O
  ) -> SimpleOperation<O.Value> {
    ComposedOperation(
      ChainForm(self, as: .then) { upstream, refusal in
        try (upstream as! Self).step(refusal) { value in .run(try next(value)) }
      })
  }

  /// Transforms this operation's value.
  ///
  /// Traps if `T` is an `Operation`, or an optional or an array of operations, because they would
  /// never run. Use ``then(_:)``.
  ///
  /// - Parameter transform: makes the value. Called only if this operation succeeds.
  public func map<T: Sendable>(_ transform: @escaping @Sendable (Value) throws -> T) -> SimpleOperation<T> {
    requireValue(T.self, of: "map")
    return ComposedOperation(
      ChainForm(self, as: .map) { upstream, refusal in
        try (upstream as! Self).step(refusal) { value in .settle(.success(try transform(value))) }
      })
  }

  /// Transforms this operation's value with an async closure, which an ``AsyncOperation`` runs.
  ///
  /// Traps if `T` is an `Operation`, or an optional or an array of operations, because they would
  /// never run. Use ``then(_:)``.
  ///
  /// - Parameter transform: makes the value, in a task of its own on the cooperative pool. Called
  ///   only if this operation succeeds. The task is cancelled when the returned operation is
  ///   cancelled.
  public func mapAsync<T: Sendable>(
    _ transform: @escaping @Sendable (Value) async throws -> T
  ) -> SimpleOperation<T> {
    requireValue(T.self, of: "mapAsync")
    return ComposedOperation(
      ChainForm(self, as: .mapAsync) { upstream, refusal in
        try (upstream as! Self).step(refusal) { value in .run(AsyncOperation { try await transform(value) }) }
      })
  }

  /// Runs a second operation if this one fails, and settles with its outcome. A cancellation is not
  /// a failure.
  ///
  /// - Parameter handler: makes the second operation from the error. Called only if this one fails.
  ///   Throw the error to keep it.
  public func recover<O: ComposableOperation>(
    _ handler: @escaping @Sendable (any Error) throws -> O
  ) -> SimpleOperation<Value> where O.Value == Value {
    ComposedOperation(
      ChainForm(self, as: .recover) { upstream, refusal in
        guard let error = refusal ?? upstream.failure else { return .settleLike(upstream) }
        return .run(try handler(error))
      })
  }

  /// Succeeds with the outcome of this operation, so that a failure or cancellation of this
  /// operation does not end its parent.
  ///
  /// ```swift
  /// // The value is an array of `Outcome<Page>`, one for each address.
  /// let pages = forEach(addresses, maxConcurrent: 4) { FetchPage($0).settled() }
  /// ```
  ///
  /// The returned operation never fails. Cancelling it cancels this operation, as with ``map(_:)``.
  /// Then the returned operation itself settles as cancelled.
  public func settled() -> SimpleOperation<Outcome<Value>> {
    ComposedOperation(
      ChainForm(self, as: .settled) { upstream, refusal in
        .settle(.success((upstream as! Self).settledOutcome(refusal)))
      })
  }

  private func step(
    _ refusal: OperationError?, _ next: (Value) throws -> Composition.Made
  ) throws -> Composition.Made {
    if let refusal { throw refusal }
    guard let value = outcome?.value else { return .settleLike(self) }
    return try next(value)
  }
}
