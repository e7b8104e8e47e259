public import CompositeOperations

/// Steps that run one after the other, each with what the one before gave.
///
/// ```swift
/// let forecast = Pipeline(LoadFile())
///   .then(DecodeJSON(Forecast.self))
///   .then { $0.daily }
///
/// let days = try await forecast.run(url)
/// ```
///
/// A pipeline is a value: changing it makes another one, and it can be run any number of times, also at the same time. Each
/// run is one operation, made by ``operation(for:)``, which is observed, cancelled, composed and put into queues like any
/// other. What flows from step to step is checked by the compiler.
///
/// A pipeline is a step itself. Given to `then` of another pipeline, it is one step of that: it keeps its name, and its
/// progress counts as that of one step.
public struct Pipeline<Input: Sendable, Output: Sendable>: PipelineStep {
  let steps: StepList
  /// What the pipeline is called; nil if it has no name. See ``named(_:)``.
  public let name: String?

  /// The caller sees to it that the types fit.
  init(steps: StepList, name: String?) {
    self.steps = steps
    self.name = name
  }

  /// Makes a pipeline of one step. Of one that is a pipeline already it makes the same pipeline.
  public init(_ step: some PipelineStep<Input, Output>) {
    if let pipeline = step as? Pipeline<Input, Output> {
      self = pipeline
    } else {
      self.init(steps: StepList(CollectionOfOne(StepBox(step))), name: nil)
    }
  }

  /// Makes a pipeline without a step, to begin with: it succeeds with what it is given.
  ///
  /// - Parameter type: what it is given.
  public init(of type: Input.Type = Input.self) where Input == Output {
    self.init(steps: StepList(), name: nil)
  }

  /// The names of the steps, in order.
  public var stepNames: [String] { steps.array.map(\.label.name) }

  // MARK: - As a step

  /// The name, or `Pipeline`.
  public var stepName: String { name ?? "Pipeline" }

  /// Makes an operation that runs the steps, one after the other.
  ///
  /// It succeeds with what the last step gives. When a step fails no further one runs, and the operation fails with a
  /// ``PipelineStepError`` that tells which; when the operation of a step is cancelled by somebody, so is this one.
  /// Cancelling it cancels the step that is under way; it settles when that has.
  ///
  /// Steps are asked and run where the operation's place is: in slots of the surrounding composite's queue, or of one that it
  /// was added to, else on workers; where one has a queue of its own, there. `start()` returns before the first step begins.
  ///
  /// Its progress is that of the steps, by their weights: see ``PipelineStep/weighted(_:)``. Its name is that of the
  /// pipeline.
  ///
  /// - Parameter input: what the first step gets.
  public func operation(for input: Input) -> SimpleOperation<Output> {
    let operation = ComposedOperation<Output>(steps.array, input: input, kind: .pipeline) { [name] error, index, step in
      PipelineStepError(pipelineName: name, stepName: step.name, stepIndex: index, error: error)
    }
    if let name { operation.name = name }
    return operation
  }

  // MARK: - Other pipelines of it

  /// The same pipeline with this name, which its operations get, and which errors tell.
  public func named(_ name: String) -> Pipeline {
    Pipeline(steps: steps, name: name)
  }
}

extension Pipeline where Input == Void {
  /// Makes the operation of a pipeline that needs nothing. See ``operation(for:)``.
  public func operation() -> SimpleOperation<Output> {
    operation(for: ())
  }
}

extension Pipeline: CustomStringConvertible {
  /// The name, if there is one, and the names of the steps: `forecast: LoadFile → DecodeJSON → Transform`.
  public var description: String {
    let steps = stepNames.isEmpty ? "no steps" : stepNames.joined(separator: " → ")
    return name.map { "\($0): \(steps)" } ?? steps
  }
}
