public import CompositeOperations
public import Foundation

/// What makes another step of a step.
///
/// Modifiers hold in the order in which they are written: `load.timeout(.seconds(3)).retrying()` gives each attempt three
/// seconds, `load.retrying().timeout(.seconds(3))` all of them together. The name and the weight of the step stay. On a
/// pipeline they hold for all of it, and make one step of it.
extension PipelineStep {
  /// The same step with this name, which its operations get, and which errors tell.
  public func named(_ name: String) -> some PipelineStep<Input, Output> {
    NamedStep(base: self, stepName: name)
  }

  /// The same step, which counts this much in the progress of the pipeline. A step counts 1 unless told otherwise.
  ///
  /// - Parameter weight: what it counts, compared with the other steps. Traps unless it is finite and not negative.
  public func weighted(_ weight: Double) -> some PipelineStep<Input, Output> {
    require(
      weight.isFinite && weight >= 0,
      "The pipeline step “\(stepName)” was given a weight of \(weight). Use a finite number that is not negative.")
    return WeightedStep(base: self, stepWeight: weight)
  }

  /// Tries again when the step fails, with operations made anew from the same input.
  ///
  /// It fails with a `RetryError` of all attempts. An error that ``operation(for:)`` throws is the failure of an attempt,
  /// too. Between attempts no thread and no slot is taken; a cancellation is not repeated.
  ///
  /// - Parameters:
  ///   - policy: how often, and after how long.
  ///   - clock: the clock that delays are measured by.
  public func retrying(
    _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock()
  ) -> some PipelineStep<Input, Output> {
    ModifiedStep(base: self) { base, input in
      CompositeOperations.retrying(policy, clock: clock) { _ in base.operationOrFailure(for: input) }
    }
  }

  /// Gives the step a limited time, and fails with `OperationTimeout` if it has not ended by then. Its operation is
  /// cancelled then.
  ///
  /// - Parameters:
  ///   - limit: how long, from the moment in which the operation may start. Traps unless it is positive.
  ///   - behavior: whether the step fails at once, which is the default, or when its operation has ended.
  ///   - clock: the clock that measures the time.
  public func timeout(
    _ limit: Duration, _ behavior: TimeoutBehavior = .settlesAtOnce, clock: some Clock<Duration> = ContinuousClock()
  ) -> some PipelineStep<Input, Output> {
    require(
      limit > .zero,
      "The pipeline step “\(stepName)” was given a timeout of \(limit), so it could never end in time. Use a positive one."
    )
    return ModifiedStep(base: self) { base, input in
      try base.namedOperation(for: input).timeout(limit, behavior, clock: clock)
    }
  }

  /// Runs the step in a queue: it is asked for its operation, and that runs, in a slot of the queue; on the main thread for
  /// `OperationQueue.main`. The steps before and after are not concerned.
  ///
  /// - Parameter operationQueue: the queue. Its limit, its suspension and `cancelAllOperations()` hold for the step.
  public func on(_ operationQueue: OperationQueue) -> some PipelineStep<Input, Output> {
    QueuedStep(base: self, operationQueue: operationQueue)
  }
}

private struct NamedStep<Base: PipelineStep>: PipelineStep {
  let base: Base
  let stepName: String

  var stepWeight: Double { base.stepWeight }

  func operation(for input: Base.Input) throws -> SimpleOperation<Base.Output> {
    let operation = try base.operation(for: input)
    operation.nameUnlessTaken(stepName, replaces: true)
    return operation
  }
}

private struct WeightedStep<Base: PipelineStep>: PipelineStep {
  let base: Base
  let stepWeight: Double

  var stepName: String { base.stepName }

  func operation(for input: Base.Input) throws -> SimpleOperation<Base.Output> {
    try base.operation(for: input)
  }
}

/// A step that does something else with the operation of another one.
private struct ModifiedStep<Base: PipelineStep>: PipelineStep {
  let base: Base
  let make: @Sendable (Base, Base.Input) throws -> SimpleOperation<Base.Output>

  var stepName: String { base.stepName }
  var stepWeight: Double { base.stepWeight }

  func operation(for input: Base.Input) throws -> SimpleOperation<Base.Output> {
    try make(base, input)
  }
}

private struct QueuedStep<Base: PipelineStep>: PipelineStep {
  private let box: StepBox<Base>
  private let operationQueue: OperationQueue

  init(base: Base, operationQueue: OperationQueue) {
    box = StepBox(base)
    self.operationQueue = operationQueue
  }

  var stepName: String { box.label.name }
  var stepWeight: Double { box.label.weight }

  func operation(for input: Base.Input) -> SimpleOperation<Base.Output> {
    ComposedOperation([box], input: input, kind: .queue, operationQueue: operationQueue) { error, _, _ in error }
  }
}

extension OperationKind {
  /// A step in a queue of its own.
  fileprivate static let queue = OperationKind(rawValue: "queue")
}

extension PipelineStep {
  /// The operation under the name of the step, for what tells of it by its name.
  fileprivate func namedOperation(for input: Input) throws -> SimpleOperation<Output> {
    let operation = try operation(for: input)
    operation.nameUnlessTaken(stepName)
    return operation
  }

  /// An operation in any case, so that it can be repeated.
  fileprivate func operationOrFailure(for input: Input) -> SimpleOperation<Output> {
    do {
      return try namedOperation(for: input)
    } catch {
      return SimpleOperation { $0.reject(with: error) }
    }
  }
}
