import Foundation

/// Runs operations one after the other, each made from the value of the one before.
final class StepsForm: Composition, @unchecked Sendable {  // see the fields
  typealias Describe = @Sendable (_ error: any Error, _ index: Int, _ step: StepLabel) -> any Error

  /// The part that drawings and progress read at any moment, inside the striped lock.
  private struct Shown {
    /// Nil when no further step is needed: steps may hold objects that hold the operation.
    var steps: [any OperationStep]?
    /// The step that did not succeed.
    var ended: (index: Int, ending: OperationState.Ending)?
    var shape: ProgressShape?
  }

  @exclusivity(unchecked) private var shown: Shown
  /// The labels of all steps, also when these are gone.
  private let labels: [StepLabel]
  // Only the asking thread touches these.
  @exclusivity(unchecked) private var input: (any Sendable)?
  @exclusivity(unchecked) private var describe: Describe?

  init(_ steps: [any OperationStep], input: any Sendable, kind: OperationKind, describe: @escaping Describe) {
    shown = Shown(steps: steps)
    labels = steps.map(\.label)
    self.input = input
    self.describe = describe
    // The library that makes the operation gives it a name.
    super.init(kind, .steps(), .joins, showsKind: false)
    lastTag = steps.count
  }

  deinit {
    ReleaseList.release(&shown.steps)
  }

  // MARK: - Running

  override func make(_ count: Int, after previous: Operation?, _ refusal: OperationError?) -> Made {
    let value: any Sendable
    if let previous = previous as? SettlingOperation {
      let ending = previous.state.current.ending
      guard ending == .success else { return end(as: ending, error: previous.storedError, at: count - 1) }
      value = previous.storedValue
    } else {
      value = input.take() ?? ()
    }
    guard let step = step(at: count) else { return .settle(.success(value)) }
    do {
      let operation = try step.makeOperation(from: value)
      operation.nameUnlessTaken(step.label.name)
      return .run(operation)
    } catch {
      return end(as: error is CancellationError ? .cancelled : .failure, error: error, at: count)
    }
  }

  private func step(at index: Int) -> (any OperationStep)? {
    // Not locked: only the asking thread changes it.
    guard let steps = shown.steps, index < steps.count else { return nil }
    return steps[index]
  }

  private func end(as ending: OperationState.Ending, error: (any Error)?, at index: Int) -> Made {
    note(ending, at: index)
    guard ending == .failure, let error, let describe, let step = step(at: index) else { return .settle(.cancelled) }
    return .settle(.failure(describe(error, index, step.label)))
  }

  override func isLast(_ child: Operation, tag: Int) -> Bool {
    if let child = child as? SettlingOperation, child.state.current.ending != .success {
      note(child.state.current.ending, at: tag - 1)
    }
    return tag == lastTag
  }

  /// - Parameter count: the index of the step that was to come.
  override func conclude(_ verdict: Verdict, count: Int) {
    if case .cancelled = verdict, settlesOwner { note(.cancelled, at: count) }
    settleOwner(verdict)
  }

  /// Notes the first step that did not succeed.
  private func note(_ ending: OperationState.Ending, at index: Int) {
    StripedLock.withLock(of: self) { shown.ended = shown.ended ?? (index, ending) }
  }

  override func discard() -> Operation? {
    input = nil
    describe = nil
    var released = StripedLock.withLock(of: self) { shown.steps.take() }
    ReleaseList.release(&released)
    return nil
  }

  // MARK: - What is shown

  override var progressShape: ProgressShape {
    StripedLock.withLock(of: self) {
      if let shape = shown.shape { return shape }
      let shape = ProgressShape.weighted(StepWeights(labels.map(\.weight)))
      shown.shape = shape
      return shape
    }
  }

  override var knownChildren: KnownChildren {
    var children = currentChildren
    let ended = StripedLock.withLock(of: self) { shown.ended }
    children.plan = KnownChildren.Plan(
      names: labels.map(\.name), ended: ended.map { ($0.index, hasFailed: $0.ending == .failure) })
    return children
  }
}

extension ComposedOperation {
  /// Runs steps one after the other, each with the value of the step before. For other targets.
  ///
  /// The operation settles with the value of the last step, or with `input` if there is no step. If
  /// a step returns an operation that has been started elsewhere, this operation waits for it, as
  /// `then` does.
  ///
  /// - Parameters:
  ///   - steps: the steps. They are released when the operation has settled.
  ///   - input: the input of the first step. The last value, or this if there is no step, must be a
  ///     `Value`.
  ///   - kind: the label of the operation in drawings if it has no name.
  ///   - operationQueue: where the steps are called and their operations run; nil for where those
  ///     of the parent composition run.
  ///   - describe: converts the error of a step to the error of the operation.
  package convenience init(
    _ steps: [any OperationStep], input: any Sendable, kind: OperationKind, operationQueue: OperationQueue? = nil,
    describe: @escaping @Sendable (_ error: any Error, _ index: Int, _ step: StepLabel) -> any Error
  ) {
    self.init(StepsForm(steps, input: input, kind: kind, describe: describe), operationQueue: operationQueue)
  }
}

/// One step of a ``ComposedOperation``.
package protocol OperationStep: AnyObject, Sendable {
  var label: StepLabel { get }

  /// Makes the operation. Called where operations run, under no lock. A thrown error fails the
  /// step.
  ///
  /// - Parameter input: the value of the operation before.
  func makeOperation(from input: any Sendable) throws -> SettlingOperation
}

/// What drawings and progress show of a step.
package final class StepLabel: Sendable {
  package let name: String
  /// The weight of the step in the progress, relative to the others.
  package let weight: Double

  package init(name: String, weight: Double) {
    self.name = name
    self.weight = weight
  }
}
