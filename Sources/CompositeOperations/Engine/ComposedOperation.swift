import Foundation

/// The operation that `then`, `zip`, the policies and their kind return: it settles as the composition behind it decides.
///
/// Settled by others it gives up what it waits for at once, and cancels what it runs, or would have run, for nobody needs
/// that any more.
package final class ComposedOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // immutable
  private let work: WorkSource
  private let operationQueue: OperationQueue?

  /// - Parameter operationQueue: where the children run; nil for where those of the composition around it do.
  init(_ source: WorkSource, operationQueue: OperationQueue? = nil) {
    work = source
    self.operationQueue = operationQueue
    super.init(flags: .needsNoSlot)
  }

  package override var composition: Composition? { work }

  package override class var typeDescription: String { "\(SimpleOperation<Value>.self)" }

  package override var form: OperationKind? { work.form }

  package override var name: String? {
    get { nameAtHand ?? nameOfWrapped }
    set { super.name = newValue }
  }

  override var nameAtHand: String? { super.name ?? work.nameAtHand }

  override var wrapped: Operation? { work.namesake }

  /// A queue reads it when the operation is added.
  package override var isReady: Bool {
    work.takePlace(Place.next)
    return super.isReady
  }

  package override func main() {
    work.begin(for: self, in: operationQueue)
  }

  override func unwind() {
    work.unwind(for: self, in: operationQueue)
  }

  /// Somebody settled it before it was started: what it owns will never run, and is settled too.
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
