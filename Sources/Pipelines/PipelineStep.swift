public import CompositeOperations

/// One step of a ``Pipeline``: it makes an operation from what the step before gave.
///
/// A step is a value that can be used any number of times, also at the same time.
public protocol PipelineStep<Input, Output>: Sendable {
  /// What the step needs.
  associatedtype Input: Sendable
  /// What its operation gives.
  associatedtype Output: Sendable

  /// Makes an operation that nobody has started, for one run of the step.
  ///
  /// Called when the step before has succeeded, where the operations run.
  ///
  /// - Parameter input: what the step before gave.
  /// - Throws: what the step fails with. `CancellationError` cancels.
  func operation(for input: Input) throws -> SimpleOperation<Output>
}
