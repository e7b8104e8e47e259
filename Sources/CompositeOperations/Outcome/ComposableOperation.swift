import Foundation

/// An operation that ends with an ``Outcome``, which is what compositions need to know of their children.
///
/// ``SimpleOperation``, ``AsyncOperation`` and ``CompositeOperation`` conform. An `Operation` subclass of your own may
/// conform as well: publish the outcome no later than `isFinished` becomes true, and do not change it afterwards.
public protocol ComposableOperation<Value>: Operation {
  /// What the operation gives when it succeeds.
  associatedtype Value: Sendable

  /// How the operation ended; nil until it settled.
  ///
  /// Compositions read it from any thread once `isFinished` is true. A finished operation without an outcome counts
  /// as cancelled if `isCancelled` is true, and else as failed with ``OperationError/Code/missingOutcome``.
  var outcome: Outcome<Value>? { get }
}

extension ComposableOperation {
  /// The value, if the operation succeeded; nil otherwise, and until it settled.
  public var result: Value? { outcome?.value }

  /// The error, if the operation failed; nil otherwise, and until it settled.
  public var error: (any Error)? { outcome?.error }
}
