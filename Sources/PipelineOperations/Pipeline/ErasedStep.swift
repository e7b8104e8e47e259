import CompositeOperations

/// A step whose types only it knows.
class ErasedStep: OperationStep, @unchecked Sendable {  // all fields are immutable
  final let label: StepLabel

  init(_ label: StepLabel) {
    self.label = label
  }

  /// What the step needs.
  var input: any Sendable.Type { preconditionFailure("abstract") }

  func makeOperation(from input: any Sendable) throws -> SettlingOperation {
    preconditionFailure("abstract")
  }
}

final class StepBox<Step: PipelineStep>: ErasedStep, @unchecked Sendable {  // all fields are immutable
  private let step: Step

  init(_ step: Step) {
    let (name, weight) = (step.stepName, step.stepWeight)
    require(
      weight.isFinite && weight >= 0,
      "The pipeline step “\(name)” has a weight of \(weight). Use a finite number that is not negative.")
    self.step = step
    super.init(StepLabel(name: name, weight: weight))
  }

  override var input: any Sendable.Type { Step.Input.self }

  override func makeOperation(from input: any Sendable) throws -> SettlingOperation {
    // The steps of a pipeline were put together so that it is one.
    try step.operation(for: input as! Step.Input)
  }
}
