import Foundation

/// Runs a wrapped operation: the engine of policies, `then`, `map` and `recover`.
class WrappingSource: SequentialSource, @unchecked Sendable {  // see the field; subclasses say what guards theirs
  // Guarded by the striped lock, because drawings read it at any moment.
  @exclusivity(unchecked) final var operation: Operation?

  /// Whether the value is `()` instead of the operation's.
  private let givesVoid: Bool

  /// The name that the wrapped operation had when it was wrapped.
  private let firstName: String?

  /// - Parameters:
  ///   - wrapped: the operation that exists from the beginning, if there is one.
  ///   - givesVoid: whether the value is `()` instead of the operation's.
  init(_ wrapped: Operation?, givesVoid: Bool, joins: Bool) {
    operation = wrapped
    firstName = wrapped.flatMap { ($0 as? SettlingOperation).map(\.nameAtHand) ?? $0.name }
    self.givesVoid = givesVoid
    super.init(joins: joins)
  }

  deinit {
    ReleaseList.release(&operation)
  }

  /// The wrapped operation, until it is taken. Unless a subclass takes it, it is settled with the
  /// owner.
  final var wrapped: Operation? { StripedLock.withLock(of: self) { operation } }

  final func takeWrapped() -> Operation? { StripedLock.withLock(of: self) { operation.take() } }

  override var knownChildren: KnownChildren {
    var known = super.knownChildren
    guard let wrapped else { return known }
    known.earlier = 0
    if known.contents.first !== wrapped { known.contents.append(wrapped) }
    return known
  }

  override func takeUnasked() -> Operation? { takeWrapped() }

  override func work(standingFor child: Operation) -> Operation? { child is DelayOperation ? nil : child }

  override var nameAtHand: String? { firstName }

  /// The operation that runs or is to run.
  override var namesake: Operation? { wrapped ?? super.knownChildren.contents.first }

  /// Settles the owner as the wrapped operation has ended.
  final func settleLike(_ operation: Operation) -> Step {
    if givesVoid, case .success = operation.anyOutcome { return .settle(.success) }
    return .settleLike(operation)
  }
}
