import Foundation

/// The operation that `then`, `zip`, the policies and similar methods return.
///
/// Its composition decides how it settles. When other code settles it, it stops waiting at once and
/// cancels the children that run; children that have not started never run.
package final class ComposedOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // immutable
  private let work: Composition
  private let operationQueue: OperationQueue?

  /// - Parameter operationQueue: where the children run; nil for where those of the parent
  ///   composition run.
  init(_ composition: Composition, operationQueue: OperationQueue? = nil) {
    work = composition
    self.operationQueue = operationQueue
    super.init(flags: .needsNoSlot)
  }

  package override var compositionBase: CompositionBase? { work }

  package override class var typeDescription: String { "\(SimpleOperation<Value>.self)" }

  package override var form: OperationKind? { work.form }

  package override var name: String? {
    get { nameAtHand ?? nameOfWrapped }
    set { super.name = newValue }
  }

  override var nameAtHand: String? { super.name ?? work.nameAtHand }

  override var wrapped: Operation? { work.namesake }

  package override var isReady: Bool {
    work.notePlaceInQueue(again: !mayBeInQueue)
    return super.isReady
  }

  package override func main() {
    work.begin(for: self, in: operationQueue)
  }

  override func unwind() {
    work.unwind(for: self, in: operationQueue)
  }

  /// Settles the children without running them, after other code settled the unstarted operation.
  override func discardWork() {
    work.unwind()
  }

  override func propagateCancel() {
    work.cancel()
  }

  override func wasSettledByHand() {
    work.ownerWasSettled()
  }
}
