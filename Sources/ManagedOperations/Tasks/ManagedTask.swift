public import CompositeOperations

/// Work that an ``OperationManager`` runs: a value from which operations are made, one for each attempt.
///
/// Since it is a value, an ``Interceptor`` can change it before it runs, and a ``Reactor`` can have it run again.
public protocol ManagedTask<Value>: Sendable {
  /// What the work gives.
  associatedtype Value: Sendable

  /// Makes the operation of one attempt: a new one each time, that nobody has started.
  ///
  /// Called when the attempt may start, where operations run.
  ///
  /// - Throws: what the attempt fails with. `CancellationError` cancels.
  func makeOperation() throws -> SimpleOperation<Value>
}
