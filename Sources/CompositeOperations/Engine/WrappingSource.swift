import Foundation

/// Runs a wrapped operation: the engine of policies, `then`, `map` and `recover`.
class WrappingSource: SequentialSource, @unchecked Sendable {  // see the field; subclasses say what guards theirs
  // Guarded by the striped lock, because drawings read it at any moment.
  @exclusivity(unchecked) final var operation: Operation?

  /// The name that the wrapped operation had when it was wrapped. If it had none, the name of the
  /// last child that had one; the striped lock guards it then.
  @exclusivity(unchecked) private final var lastName: String?
  /// Whether the wrapped operation had a name when it was wrapped.
  private let hadName: Bool

  /// - Parameters:
  ///   - wrapped: the operation that exists from the beginning, if there is one.
  ///   - joins: whether a child that other code starts is awaited.
  init(_ wrapped: Operation?, joins: Bool) {
    operation = wrapped
    let name = wrapped.flatMap { ($0 as? SettlingOperation).map(\.nameAtHand) ?? $0.name }
    lastName = name
    hadName = name != nil
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

  override var nameAtHand: String? { hadName ? lastName : StripedLock.withLock(of: self) { lastName } }

  override func noteName(of child: Operation, tag: Int) {
    if !hadName, let name = child.name { note(name) }
  }

  /// Notes the name of a child that is about to start, as far as it is known at once.
  final func noteNameAtHand(of child: Operation) {
    if !hadName, let name = (child as? SettlingOperation).map(\.nameAtHand) ?? child.name { note(name) }
  }

  private func note(_ name: String) { StripedLock.withLock(of: self) { lastName = name } }

  /// The operation that runs or is to run.
  override var namesake: Operation? { wrapped ?? super.knownChildren.contents.first }
}
