import Foundation

/// The engine for other targets that run one operation after the other, each made from the value of the one before.
///
/// It is given the steps and what the first one gets, and settles with the value of the last one; without a step, with
/// what it was given. It runs them as a sequence runs its operations, nests as a sequence does, and may have a queue of its
/// own. Settled by others it cancels the step that runs. An operation that a step makes and somebody else has started is waited for, as by `then`.
package final class SteppedOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // immutable
  private let steps: SteppedSource
  private let operationQueue: OperationQueue?

  /// - Parameters:
  ///   - steps: the steps. They are released when the operation has settled.
  ///   - input: what the first step gets. The last value, or this if there is no step, has to be a `Value`.
  ///   - kind: what the operation is called where it is shown and has no name.
  ///   - operationQueue: where the steps are asked and their operations run; nil for where the surrounding composition's do.
  ///   - describe: makes the error that the operation fails with, of that of a step.
  package init(
    _ steps: [any OperationStep], input: any Sendable, kind: OperationKind, operationQueue: OperationQueue? = nil,
    describe: @escaping @Sendable (_ error: any Error, _ index: Int, _ step: StepLabel) -> any Error
  ) {
    self.steps = SteppedSource(steps, input: input, kind: kind, describe: describe)
    self.operationQueue = operationQueue
    super.init(flags: .needsNoSlot)
  }

  package override class var typeDescription: String { "\(SimpleOperation<Value>.self)" }

  package override var composition: Composition? { steps }

  package override func main() {
    begin(cancelled: false)
  }

  override func settleUnrun() {
    begin(cancelled: true)
  }

  private func begin(cancelled: Bool) {
    steps.bind(to: self, queue: operationQueue)
    steps.begin(cancelled: cancelled)
  }

  override func propagateCancel() {
    steps.cancel()
  }

  /// Somebody settled it before it ran.
  override func discardWork() {
    steps.discardSteps()
  }

  override func wasSettledByHand() {
    steps.cancel()
  }
}

/// One step of a ``SteppedOperation``.
package protocol OperationStep: AnyObject, Sendable {
  var label: StepLabel { get }

  /// Makes the operation. Called where operations run, under no lock. What it throws is a failure of the step.
  ///
  /// - Parameter input: the value of the operation before.
  func makeOperation(from input: any Sendable) throws -> SettlingOperation
}

/// What is shown of a step.
package final class StepLabel: Sendable {
  package let name: String
  /// What the step counts in the progress, compared with the others.
  package let weight: Double

  package init(name: String, weight: Double) {
    self.name = name
    self.weight = weight
  }
}
