import Foundation

/// Methods that make one operation from another and a closure for its value.
///
/// Each returns one operation that owns the others. It starts the operation that the method is
/// called on, unless that is executing, queued, composed elsewhere or settled: then it waits for
/// it, and does not cancel it. Unless documented otherwise, it fails with the first error,
/// unwrapped. Cancelling it cancels what it started; when that has finished, it settles as
/// cancelled.
///
/// The closures are called where the operations run: in a slot of the parent composite's queue (on
/// the main thread for `OperationQueue.main`), else on a worker thread; never inside a `finish()`
/// of other code. The operation fails with an error that they throw; `CancellationError` cancels
/// it. They are released once called or no longer needed.
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
      ChainSource(self, as: .then) { upstream in
        try (upstream as! Self).step { value in .run(try next(value)) }
      })
  }

  /// Transforms this operation's value.
  ///
  /// Traps if `T` is an `Operation`, or an optional or an array of them: they would never run.
  /// Use ``then(_:)``.
  ///
  /// - Parameter transform: makes the value. Called only if this operation succeeds.
  public func map<T: Sendable>(_ transform: @escaping @Sendable (Value) throws -> T) -> SimpleOperation<T> {
    requireValue(T.self, of: "map")
    return ComposedOperation(
      ChainSource(self, as: .map) { upstream in
        try (upstream as! Self).step { value in .settle(.success, value: try transform(value)) }
      })
  }

  /// Transforms this operation's value with an async closure, which an ``AsyncOperation`` runs.
  ///
  /// Traps if `T` is an `Operation`, or an optional or an array of them: they would never run.
  /// Use ``then(_:)``.
  ///
  /// - Parameter transform: makes the value, in a task of its own on the cooperative pool. Called
  ///   only if this operation succeeds. Its task is cancelled when the operation is.
  public func mapAsync<T: Sendable>(
    _ transform: @escaping @Sendable (Value) async throws -> T
  ) -> SimpleOperation<T> {
    requireValue(T.self, of: "mapAsync")
    return ComposedOperation(
      ChainSource(self, as: .mapAsync) { upstream in
        try (upstream as! Self).step { value in .run(AsyncOperation { try await transform(value) }) }
      })
  }

  /// Runs a second operation if this one fails, and settles with its outcome. A cancellation is no
  /// failure.
  ///
  /// - Parameter handler: makes the second operation from the error. Called only if this one fails.
  ///   Throw the error to keep it.
  public func recover<O: ComposableOperation>(
    _ handler: @escaping @Sendable (any Error) throws -> O
  ) -> SimpleOperation<Value> where O.Value == Value {
    ComposedOperation(
      ChainSource(self, as: .recover) { upstream in
        guard let error = upstream.failure else { return .settleLike(upstream) }
        return .run(try handler(error))
      })
  }

  /// Succeeds with the outcome of this operation, so that its failure or cancellation does not end
  /// its parent.
  ///
  /// ```swift
  /// let pages = forEach(addresses, maxConcurrent: 4) { FetchPage($0).settled() }  // [Outcome<Page>], 24 of 24
  /// ```
  ///
  /// It never fails. Cancelling it cancels this operation as for ``map(_:)``, and it then settles
  /// as cancelled itself.
  public func settled() -> SimpleOperation<Outcome<Value>> {
    ComposedOperation(
      ChainSource(self, as: .settled) { upstream in
        .settle(.success, value: (upstream as! Self).settledOutcome)
      })
  }

  private func step(
    _ next: (Value) throws -> SequentialSource.Step
  ) throws -> SequentialSource.Step {
    guard let value = outcome?.value else { return .settleLike(self) }
    return try next(value)
  }
}
