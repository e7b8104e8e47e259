import CompositeOperations

/// A step whose types are erased.
class ErasedStep: OperationStep, @unchecked Sendable {  // all fields are immutable
  final let label: StepLabel

  init(_ label: StepLabel) {
    self.label = label
  }

  /// The type that the step takes.
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
    // The input has this type: the compiler, or `inserting`, checked it when the pipeline was made.
    try step.operation(for: input as! Step.Input)
  }
}

/// The steps of a pipeline. Adding a step takes constant time, and leaves other lists as they are.
struct StepList: Sendable {
  private var last: Link?
  private(set) var count = 0

  /// A step, and the steps before it, which several lists may share.
  private final class Link: @unchecked Sendable {  // changed only when it is released
    let step: ErasedStep
    private(set) var previous: Link?

    init(_ step: ErasedStep, after previous: Link?) {
      self.step = step
      self.previous = previous
    }

    deinit {
      // In a loop: recursion could need more stack than there is.
      var next = previous.take()
      while isKnownUniquelyReferenced(&next), let link = next { next = link.previous.take() }
    }
  }

  init() {}

  init(_ steps: some Sequence<ErasedStep>) {
    for step in steps { append(step) }
  }

  mutating func append(_ step: ErasedStep) {
    last = Link(step, after: last)
    count += 1
  }

  /// What `transform` makes of each step, in the order of the steps.
  func map<Element>(_ transform: (ErasedStep) -> Element) -> [Element] {
    var elements: [Element] = []
    elements.reserveCapacity(count)
    var link = last
    while let current = link {
      elements.append(transform(current.step))
      link = current.previous
    }
    elements.reverse()
    return elements
  }
}
