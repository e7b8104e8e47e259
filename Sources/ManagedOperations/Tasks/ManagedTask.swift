public import CompositeOperations

/// Work that an ``OperationManager`` runs: a value from which operations are made, one for each attempt.
///
/// ```swift
/// struct Search: ManagedTask {
///   var query: String
///   func makeOperation() -> SimpleOperation<[City]> { AsyncOperation { try await find(query) } }
/// }
/// let handle = manager.add(Search(query: "Paris"))
/// let cities = try await handle.value
/// ```
///
/// Since it is a value, an ``Interceptor`` can change it before it runs, and a ``Reactor`` can have it run again.
public protocol ManagedTask<Value>: Sendable {
  /// What the work gives.
  associatedtype Value: Sendable

  /// Makes the operation of one attempt: a new one each time, that nobody has started.
  ///
  /// Called when the attempt may start, where operations run, under no lock; once for each attempt.
  ///
  /// - Throws: what the attempt fails with. `CancellationError` cancels.
  func makeOperation() throws -> SimpleOperation<Value>

  /// How long an attempt may execute, unless another time is given when the task is added. Nil, the default, for as long
  /// as it takes. Read once, when the task is added.
  var timeout: Duration? { get }
}

extension ManagedTask {
  /// No limit.
  public var timeout: Duration? { nil }
}
