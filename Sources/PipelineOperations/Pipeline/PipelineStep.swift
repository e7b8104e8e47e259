public import CompositeOperations

/// One step of a ``Pipeline``: it makes an operation from what the step before gave.
///
/// ```swift
/// struct Shorten: PipelineStep {
///   let length: Int
///
///   func operation(for text: String) -> SimpleOperation<String> {
///     SimpleOperation { operation in operation.finish(with: String(text.prefix(length))) }
///   }
/// }
/// ```
///
/// A step is a value that can be used any number of times, also at the same time. Closures can be steps as well: see
/// `then` and ``Transform``. Modifiers such as ``timeout(_:_:clock:)`` make another step of it.
public protocol PipelineStep<Input, Output>: Sendable {
  /// What the step needs.
  associatedtype Input: Sendable
  /// What its operation gives.
  associatedtype Output: Sendable

  /// Makes an operation that nobody has started, for one run of the step.
  ///
  /// Called when the step before has succeeded, where the operations run: in a slot of the surrounding composite's queue,
  /// or that of ``on(_:)``, else on a worker thread; by several threads at once, if the step is used so. An operation that
  /// somebody has started, because several wait for it, is waited for, and not cancelled. One without a name gets that of
  /// the step.
  ///
  /// - Parameter input: what the step before gave.
  /// - Throws: what the step fails with. `CancellationError` cancels.
  func operation(for input: Input) throws -> SimpleOperation<Output>

  /// What the step is called in errors, drawings and timelines, and found by in ``Pipeline/inserting(_:before:)``. The name
  /// of its type unless implemented. Read when the step becomes part of a pipeline.
  var stepName: String { get }

  /// What the step counts in the progress of a pipeline, compared with the others: 1 unless implemented. Read when the step
  /// becomes part of a pipeline; it has to be finite and not negative, else that traps.
  var stepWeight: Double { get }
}

extension PipelineStep {
  /// The name of the type, without what it is generic over.
  public var stepName: String {
    let name = "\(Self.self)"
    return String(name.prefix { $0 != "<" })
  }

  /// 1.
  public var stepWeight: Double { 1 }

  /// Runs the step by itself, and returns what it gives.
  ///
  /// The same as making the operation and calling its `run()`: cancelling the task cancels it.
  ///
  /// - Throws: what the step fails with, `CancellationError` if it was cancelled.
  public func run(_ input: Input) async throws -> Output {
    try await operation(for: input).run()
  }
}

extension PipelineStep where Input == Void {
  /// Runs a step that needs nothing by itself, and returns what it gives. See ``run(_:)``.
  public func run() async throws -> Output {
    try await run(())
  }

  /// Makes the operation of a step that needs nothing. See ``operation(for:)``.
  public func operation() throws -> SimpleOperation<Output> {
    try operation(for: ())
  }
}
