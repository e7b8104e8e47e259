import Foundation

/// Operations made from an operation and what to do with its value.
///
/// Each returns one operation that owns the others. It starts the operation that it is called on, unless that is
/// executing, queued, composed elsewhere or settled already: then it waits for it, and does not cancel it. Unless it
/// says otherwise it settles with the first failure as it is, not wrapped. Cancelling it cancels what it started, and it then settles as
/// cancelled when that has finished.
///
/// The closures are called where the operations run: in a slot of the surrounding composite's queue (on the main thread
/// for `OperationQueue.main`), else on a worker thread; never from inside somebody's `finish()`. An error that they
/// throw is the failure; `CancellationError` cancels. They are released once called, or not needed any more.
extension ComposableOperation {
  /// Runs another operation with this one's value, and settles as that does.
  ///
  /// ```swift
  /// let photos = FetchUser(id: 7).then { user in FetchPhotos(of: user) }
  /// ```
  ///
  /// - Parameter next: makes the second operation. Not called unless this one succeeds.
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
  /// - Parameter transform: makes the value. Not called unless this operation succeeds.
  public func map<T: Sendable>(_ transform: @escaping @Sendable (Value) throws -> T) -> SimpleOperation<T> {
    requireValue(T.self, of: "map")
    return ComposedOperation(
      ChainSource(self, as: .map) { upstream in
        try (upstream as! Self).step { value in .settle(.success, value: try transform(value)) }
      })
  }

  /// Transforms this operation's value with an async closure, which runs as the work of an ``AsyncOperation``.
  ///
  /// Traps if `T` is an `Operation`, or an optional or an array of them: they would never run.
  /// Use ``then(_:)``.
  ///
  /// - Parameter transform: makes the value, in a task of its own on the cooperative pool. Not called unless this
  ///   operation succeeds. Its task is cancelled when the operation is.
  public func mapAsync<T: Sendable>(
    _ transform: @escaping @Sendable (Value) async throws -> T
  ) -> SimpleOperation<T> {
    requireValue(T.self, of: "mapAsync")
    return ComposedOperation(
      ChainSource(self, as: .mapAsync) { upstream in
        try (upstream as! Self).step { value in .run(AsyncOperation { try await transform(value) }) }
      })
  }

  /// Runs another operation if this one fails, and settles as that does. A cancellation is no failure.
  ///
  /// - Parameter handler: makes the second operation from the error. Not called unless this one fails. Throw the error
  ///   to let it stand.
  public func recover<O: ComposableOperation>(
    _ handler: @escaping @Sendable (any Error) throws -> O
  ) -> SimpleOperation<Value> where O.Value == Value {
    ComposedOperation(
      ChainSource(self, as: .recover) { upstream in
        guard let error = upstream.failure else { return .settleLike(upstream) }
        return .run(try handler(error))
      })
  }

  /// Succeeds with how this operation ends, so that neither its failure nor its cancellation is that of what it is part
  /// of.
  ///
  /// ```swift
  /// let pages = forEach(addresses, maxConcurrent: 4) { FetchPage($0).settled() }  // [Outcome<Page>], 24 of 24
  /// ```
  ///
  /// It never fails. Cancelling it cancels this operation as for ``map(_:)``, and it then settles as cancelled itself.
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
