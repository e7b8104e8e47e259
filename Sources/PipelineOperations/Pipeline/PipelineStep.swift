public import CompositeOperations

/// One step of a ``Pipeline``: makes an operation from the result of the step before it.
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
/// A step is a value that can be used any number of times, also at the same time. Closures can be
/// steps as well: see `then` and ``Transform``. Modifiers such as ``timeout(_:_:clock:)`` make
/// another step of a step.
public protocol PipelineStep<Input, Output>: Sendable {
  /// What the step takes.
  associatedtype Input: Sendable
  /// What its operation succeeds with.
  associatedtype Output: Sendable

  /// Makes an operation that has not been started, for one run of the step.
  ///
  /// The pipeline calls this when the step before has succeeded, where the operations run: in a
  /// slot of the surrounding composite's queue, or of the queue of ``on(_:)``, else on a worker
  /// thread. Several threads call it at once if the step is used at once. The pipeline waits for an
  /// operation that has been started already, and does not cancel it. An operation without a name
  /// gets that of the step.
  ///
  /// - Parameter input: the result of the step before.
  /// - Throws: the failure of the step. `CancellationError` cancels.
  func operation(for input: Input) throws -> SimpleOperation<Output>

  /// The name of the step in errors, drawings and timelines, by which
  /// ``Pipeline/inserting(_:before:)`` finds it.
  ///
  /// The default is the name of the type. Read when the step becomes part of a pipeline.
  var stepName: String { get }

  /// The share of the step in the progress of a pipeline, compared with the other steps. The
  /// default is 1.
  ///
  /// Read when the step becomes part of a pipeline, which traps unless the weight is finite and not
  /// negative.
  var stepWeight: Double { get }
}

extension PipelineStep {
  /// The name of the type, without its generic arguments.
  public var stepName: String {
    let name = "\(Self.self)"
    return String(name.prefix { $0 != "<" })
  }

  /// 1.
  public var stepWeight: Double { 1 }

  /// Runs the step by itself, and returns its result.
  ///
  /// The same as making the operation and calling its `run()`: cancelling the task cancels the
  /// operation.
  ///
  /// - Throws: the failure of the step; `CancellationError` if it was cancelled.
  public func run(_ input: Input) async throws -> Output {
    try await operation(for: input).run()
  }
}

extension PipelineStep where Input == Void {
  /// Runs a step without input by itself, and returns its result. See ``run(_:)``.
  public func run() async throws -> Output {
    try await run(())
  }

  /// Makes the operation of a step without input. See ``operation(for:)``.
  public func operation() throws -> SimpleOperation<Output> {
    try operation(for: ())
  }
}
