import Foundation

/// An operation that ends with an ``Outcome``, which compositions read of their children.
///
/// ``SimpleOperation``, ``AsyncOperation`` and ``CompositeOperation`` conform. An `Operation`
/// subclass of your own may conform as well: publish the outcome no later than `isFinished` becomes
/// true, and do not change it afterwards.
public protocol ComposableOperation<Value>: Operation {
  /// The type of the value of a success.
  associatedtype Value: Sendable

  /// The outcome of the operation; nil until it settles.
  ///
  /// Compositions read it from any thread once `isFinished` is true. A finished operation without
  /// an outcome counts as cancelled if `isCancelled` is true, and else as failed with
  /// ``OperationError/Code/missingOutcome``.
  var outcome: Outcome<Value>? { get }
}

extension ComposableOperation {
  /// The value, if the operation succeeded; nil otherwise, and until it settles.
  public var result: Value? { outcome?.value }

  /// The error, if the operation failed; nil otherwise, and until it settles.
  public var error: (any Error)? { outcome?.error }
}
