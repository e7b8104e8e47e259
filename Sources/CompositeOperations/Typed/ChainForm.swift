import Foundation

/// Runs an operation, and perhaps a second one that is made from the outcome of the first: the
/// engine of `then`, `map` and `recover`.
final class ChainForm: Composition, @unchecked Sendable {  // see the field
  /// Decides what follows the first operation, which may have been refused: a plain one does not
  /// know the error.
  typealias Second = (_ first: Operation, _ refusal: OperationError?) throws -> Made

  // Only the asking thread uses it.
  @exclusivity(unchecked) private var second: Second?
  /// Whether the first operation is only a delay before the work.
  private let isDelayed: Bool

  /// - Parameters:
  ///   - upstream: the first operation, which this starts unless other code does.
  ///   - second: decides what follows. Called where the operations run. An error that it throws
  ///     settles the owner.
  init(_ upstream: Operation, as kind: OperationKind, then second: @escaping Second) {
    isDelayed = upstream is DelayOperation
    self.second = second
    // The second operation of `then` does other work.
    super.init(
      kind, .steps(), [.joins, .seesRefusals], wrapping: WrappedOperation(upstream, lastNamed: kind == .then ? 0 : 1))
  }

  deinit {
    ReleaseList.release(&second)
  }

  override func make(_ tag: Int, after previous: Operation?, _ refusal: OperationError?) throws -> Made {
    guard let previous else { return takeWrapped().map { .run($0) } ?? .settle(.cancelled) }
    if let second = second.take() { return try second(previous, refusal) }
    return refusal.map { .settle(.failure($0)) } ?? .settleLike(previous)
  }

  /// `then` and `mapAsync` expect a second operation, so the first is half of the work, unless it
  /// is a delay.
  override var progressShape: ProgressShape {
    (kind == .then || kind == .mapAsync) && !isDelayed ? .steps(2) : .inner
  }

  override func work(standingFor child: Operation) -> Operation? {
    child is DelayOperation && progressShape == .inner ? nil : child
  }

  override func discard() -> Operation? {
    second = nil
    return takeWrapped()
  }

  override var knownChildren: KnownChildren {
    if let wrapped = wrappedOperation { return KnownChildren(upstream: [wrapped]) }
    let children = currentChildren
    return children.earlier == 0
      ? KnownChildren(upstream: children.contents) : KnownChildren(contents: children.contents)
  }
}
