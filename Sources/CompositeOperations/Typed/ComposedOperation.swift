import Foundation

/// The operation that `then`, `zip` and their kind return: it settles as the composition behind it decides.
///
/// Settled by others it cancels what it runs, or would have run, for nobody needs that any more.
final class ComposedOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // immutable
  private enum Engine {
    case parallel(ParallelSource)
    case sequential(SequentialSource)
  }

  private let engine: Engine

  init(_ source: ParallelSource) {
    engine = .parallel(source)
    super.init(flags: .needsNoSlot)
  }

  init(_ source: SequentialSource) {
    engine = .sequential(source)
    super.init(flags: .needsNoSlot)
  }

  package override var composition: Composition? {
    switch engine {
    case .parallel(let source): source
    case .sequential(let source): source
    }
  }

  override class var typeDescription: String { "\(SimpleOperation<Value>.self)" }

  package override var form: OperationKind? { source?.kind }

  override var name: String? {
    get { nameAtHand ?? nameOfWrapped }
    set { super.name = newValue }
  }

  override var nameAtHand: String? { super.name ?? chain?.upstreamName }

  override var wrapped: Operation? { chain?.wrappedUpstream }

  private var chain: ChainSource? {
    if case .sequential(let source) = engine { source as? ChainSource } else { nil }
  }

  override func main() {
    source?.bind(to: self, queue: nil)
    begin(cancelled: false)
  }

  override func settleUnrun() {
    source?.bind(to: self, queue: nil)
    begin(cancelled: true)
  }

  override func discardWork() {
    // Not bound to a place to run: a composition may be handing one down at this moment, and nothing will run.
    begin(cancelled: true)
  }

  private func begin(cancelled: Bool) {
    switch engine {
    case .parallel(let source): source.begin(cancelled: cancelled)
    case .sequential(let source): source.begin(cancelled: cancelled)
    }
  }

  override func propagateCancel() {
    switch engine {
    case .parallel(let source): source.cancel()
    case .sequential(let source): source.cancel()
    }
  }

  override func wasSettledByHand() {
    propagateCancel()
  }
}
