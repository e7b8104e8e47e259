import Foundation

/// The engine of an operation that wraps another one, and has to know when somebody else settles it.
class PolicySource: SequentialSource, @unchecked Sendable {  // see the field; subclasses say what guards theirs
  // Changed by whoever is asking or ends, inside the striped lock, because drawings read it at any moment.
  @exclusivity(unchecked) final var operation: Operation?

  /// Whether the value is `()`, whatever the operation's is.
  private let givesVoid: Bool

  /// The name that the wrapped operation had when it was wrapped.
  private let firstName: String?

  /// - Parameters:
  ///   - wrapped: the operation that is there from the beginning, if there is one.
  ///   - givesVoid: whether the value is `()`, whatever the operation's is.
  init(_ wrapped: Operation?, givesVoid: Bool, joins: Bool) {
    operation = wrapped
    firstName = wrapped.flatMap { ($0 as? SettlingOperation).map(\.nameAtHand) ?? $0.name }
    self.givesVoid = givesVoid
    super.init(joins: joins)
  }

  deinit {
    ReleaseList.release(&operation)
  }

  /// What was wrapped, until it is taken.
  final var wrapped: Operation? { StripedLock.withLock(of: self) { operation } }

  final func takeWrapped() -> Operation? { StripedLock.withLock(of: self) { operation.take() } }

  override final var knownChildren: KnownChildren {
    var known = super.knownChildren
    // What comes before the work is no earlier work.
    if self is GuardSource { known.earlier = min(known.earlier, 1) }
    guard let wrapped else { return known }
    known.earlier = 0
    if known.contents.first !== wrapped { known.contents.append(wrapped) }
    return known
  }

  override func work(standingFor child: Operation) -> Operation? { child is DelayOperation ? nil : child }

  /// The name of what is wrapped, as far as it is known without asking for it.
  var nameAtHand: String? { firstName }

  /// What runs, or else is to run.
  final var current: Operation? { wrapped ?? super.knownChildren.contents.first }

  /// Settles the owner as the wrapped operation has ended.
  final func settleLike(_ operation: Operation) -> Step {
    if givesVoid, case .success = operation.anyOutcome { return .settle(.success) }
    return .settleLike(operation)
  }

  /// The owner has started.
  func begin(for owner: SettlingOperation, cancelled: Bool) {
    bind(to: owner, queue: nil)
    begin(cancelled: cancelled)
  }

  /// The owner has settled: as this source decided, or because somebody settled it.
  ///
  /// - Returns: whether what is still under way has to be cancelled.
  func ownerDidSettle() -> Bool { true }
}

/// The operation that a policy returns.
///
/// Settled from outside it gives up what it waits for at once, and cancels what it runs, for nobody needs that any more.
final class PolicyOperation<Value: Sendable>: SimpleOperation<Value>, @unchecked Sendable {  // immutable
  private let policy: PolicySource

  init(_ source: PolicySource) {
    policy = source
    super.init(flags: [.needsNoSlot, .isToldWhenSettled])  // there is always something to do when it has settled
  }

  package override var composition: Composition? { policy }

  /// A queue reads it when the operation is added.
  override var isReady: Bool {
    policy.takePlace(Place.next)
    return super.isReady
  }

  override class var typeDescription: String { "\(SimpleOperation<Value>.self)" }

  package override var form: OperationKind? { policy.kind }

  override var name: String? {
    get { nameAtHand ?? nameOfWrapped }
    set { super.name = newValue }
  }

  override var nameAtHand: String? { super.name ?? policy.nameAtHand }

  override var wrapped: Operation? { policy.current }

  override func main() {
    policy.begin(for: self, cancelled: false)
  }

  override func settleUnrun() {
    policy.begin(for: self, cancelled: true)
  }

  override func propagateCancel() {
    policy.cancel()
  }

  /// Somebody settled it before it was started: what it owns will never run, and is settled too.
  override func discardWork() {
    // Not bound to a place to run: a composition may be handing one down at this moment, and nothing will run.
    policy.begin(cancelled: true)
  }

  override func deliverCompletion() {
    let cancels = policy.ownerDidSettle()
    super.deliverCompletion()
    if cancels { policy.cancel() }
  }
}
