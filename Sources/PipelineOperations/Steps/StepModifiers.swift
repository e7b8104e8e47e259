public import CompositeOperations
public import Foundation

/// Modifiers, which make another step of a step.
///
/// They apply in the order in which they are written: `load.timeout(.seconds(3)).retrying()` gives
/// each attempt three seconds, `load.retrying().timeout(.seconds(3))` all of them together. The
/// name and the weight of the step stay. A modifier of a pipeline applies to the whole of it, and
/// makes it one step.
extension PipelineStep {
  /// The same step with this name, which its operations get, and which errors mention.
  public func named(_ name: String) -> some PipelineStep<Input, Output> {
    NamedStep(base: self, stepName: name)
  }

  /// The same step with this weight in the progress of the pipeline. The default is 1.
  ///
  /// - Parameter weight: the share of the step, compared with the other steps. Traps unless it is
  ///   finite and not negative.
  public func weighted(_ weight: Double) -> some PipelineStep<Input, Output> {
    require(
      weight.isFinite && weight >= 0,
      "The pipeline step “\(stepName)” was given a weight of \(weight). Use a finite number that is not negative.")
    return WeightedStep(base: self, stepWeight: weight)
  }

  /// Runs the step again when it fails, with a new operation for the same input.
  ///
  /// If no attempt succeeds, the step fails with a `RetryError` of all attempts. An error that
  /// ``operation(for:)`` throws is a failed attempt, too. Waiting between attempts takes no thread
  /// and no slot. A cancelled attempt is not repeated.
  ///
  /// - Parameters:
  ///   - policy: how often, and after which delay.
  ///   - clock: the clock that measures the delays.
  public func retrying(
    _ policy: RetryPolicy = RetryPolicy(), clock: some Clock<Duration> = ContinuousClock()
  ) -> some PipelineStep<Input, Output> {
    ModifiedStep(base: self) { base, input in
      CompositeOperations.retrying(policy, clock: clock) { _ in base.operationOrFailure(for: input) }
    }
  }

  /// Limits the time of the step. If it has not ended by then, its operation is cancelled, and the
  /// step fails with `OperationTimeout`.
  ///
  /// - Parameters:
  ///   - limit: the time, from the moment in which the operation may start. Traps unless it is
  ///     positive.
  ///   - behavior: whether the step fails at once, which is the default, or when its operation has
  ///     ended.
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

  /// Runs the step in a queue. The step makes and runs its operation in a slot of the queue; on the
  /// main thread for `OperationQueue.main`. Other steps are not affected.
  ///
  /// - Parameter operationQueue: the queue. Its limit, its suspension and `cancelAllOperations()`
  ///   apply to the step.
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

/// A step that changes how the operation of another step is made.
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
  private let box: StepBox<WeightedStep<Base>>
  private let operationQueue: OperationQueue
  let stepWeight: Double

  init(base: Base, operationQueue: OperationQueue) {
    // Whatever it weighs in a pipeline, it is all that its operation does.
    box = StepBox(WeightedStep(base: base, stepWeight: 1))
    self.operationQueue = operationQueue
    stepWeight = base.stepWeight
  }

  var stepName: String { box.label.name }

  func operation(for input: Base.Input) -> SimpleOperation<Base.Output> {
    ComposedOperation([box], input: input, kind: .queue, operationQueue: operationQueue) { error, _, _ in error }
  }
}

extension PipelineStep {
  /// The operation with the name of the step, which errors of policies mention.
  fileprivate func namedOperation(for input: Input) throws -> SimpleOperation<Output> {
    let operation = try operation(for: input)
    operation.nameUnlessTaken(stepName)
    return operation
  }

  /// An operation also if making one throws, so that it can be repeated.
  fileprivate func operationOrFailure(for input: Input) -> SimpleOperation<Output> {
    do {
      return try namedOperation(for: input)
    } catch {
      return SimpleOperation { $0.reject(with: error) }
    }
  }
}
