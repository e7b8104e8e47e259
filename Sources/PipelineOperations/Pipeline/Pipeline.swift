public import CompositeOperations

/// Steps that run one after the other, each with the result of the step before it.
///
/// ```swift
/// let forecast = Pipeline(LoadFile())
///   .then(DecodeJSON(Forecast.self))
///   .then { $0.daily }
///
/// let days = try await forecast.run(url)
/// ```
///
/// A pipeline is a value: changing it makes another one. It can run any number of times, also at
/// the same time. Each run is one operation, made by ``operation(for:)``, which programs observe,
/// cancel, compose and add to queues like any other. The compiler checks the types of what flows
/// from step to step.
///
/// A pipeline is a step itself. Given to `then` of another pipeline, it is one step of that: it
/// keeps its name, and its progress counts as that of one step.
public struct Pipeline<Input: Sendable, Output: Sendable>: PipelineStep {
  let steps: StepList
  /// The name of the pipeline; nil if it has none. See ``named(_:)``.
  public let name: String?

  /// The caller ensures that the types fit.
  init(steps: StepList, name: String?) {
    self.steps = steps
    self.name = name
  }

  /// Makes a pipeline of one step. Given a pipeline, makes the same pipeline.
  public init(_ step: some PipelineStep<Input, Output>) {
    if let pipeline = step as? Pipeline<Input, Output> {
      self = pipeline
    } else {
      self.init(steps: StepList(CollectionOfOne(StepBox(step))), name: nil)
    }
  }

  /// Makes a pipeline without steps, to add steps to. Its runs succeed with their input.
  ///
  /// - Parameter type: the type of the input.
  public init(of type: Input.Type = Input.self) where Input == Output {
    self.init(steps: StepList(), name: nil)
  }

  /// The names of the steps, in order.
  public var stepNames: [String] { steps.map(\.label.name) }

  // MARK: - As a step

  /// The name, or `Pipeline`.
  public var stepName: String { name ?? "Pipeline" }

  /// Makes an operation that runs the steps, one after the other.
  ///
  /// It succeeds with the result of the last step. When a step fails, no further step runs, and the
  /// operation fails with a ``PipelineStepError`` that names the step. When the operation of a step
  /// is cancelled, the pipeline's is, too. Cancelling the pipeline's operation cancels the step
  /// under way, and settles when that has settled.
  ///
  /// Steps make and run their operations in slots of the surrounding composite's queue, or of the
  /// queue that this operation was added to, else on workers. A step with a queue of its own runs
  /// there. `start()` returns before the first step begins.
  ///
  /// Its progress is that of the steps, by their weights: see ``PipelineStep/weighted(_:)``. Its
  /// name is that of the pipeline.
  ///
  /// - Parameter input: the input of the first step.
  public func operation(for input: Input) -> SimpleOperation<Output> {
    let steps = steps.map { $0 as any OperationStep }
    let operation = ComposedOperation<Output>(steps, input: input, kind: .pipeline) { [name] error, index, step in
      PipelineStepError(pipelineName: name, stepName: step.name, stepIndex: index, error: error)
    }
    if let name { operation.name = name }
    return operation
  }

  // MARK: - Names

  /// The same pipeline with this name, which its operations get, and which errors mention.
  public func named(_ name: String) -> Pipeline {
    Pipeline(steps: steps, name: name)
  }
}

extension Pipeline where Input == Void {
  /// Makes the operation of a pipeline without input. See ``operation(for:)``.
  public func operation() -> SimpleOperation<Output> {
    operation(for: ())
  }
}

extension Pipeline: CustomStringConvertible {
  /// The name, if there is one, and the names of the steps: `forecast: LoadFile → DecodeJSON →
  /// Transform`.
  public var description: String {
    let steps = stepNames.isEmpty ? "no steps" : stepNames.joined(separator: " → ")
    return name.map { "\($0): \(steps)" } ?? steps
  }
}
