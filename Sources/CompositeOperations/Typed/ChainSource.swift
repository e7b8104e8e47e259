import Foundation

/// Runs an operation, and perhaps a second one that is made from the outcome of the first: the
/// engine of `then`, `map` and `recover`.
final class ChainSource: WrappingSource, @unchecked Sendable {  // see the fields
  /// Decides what follows the first operation, which may have been refused: a plain one does not
  /// know the error.
  typealias Second = (_ first: Operation, _ refusal: OperationError?) throws -> Step

  // Only the asking thread uses it.
  private var second: Second?
  private let ownKind: OperationKind
  /// Whether the first operation is only a delay before the work.
  private let isDelayed: Bool

  /// - Parameters:
  ///   - upstream: the first operation, which this starts unless other code does.
  ///   - second: decides what follows. Called where the operations run. An error that it throws
  ///     settles the owner.
  init(_ upstream: Operation, as form: OperationKind, then second: @escaping Second) {
    ownKind = form
    isDelayed = upstream is DelayOperation
    self.second = second
    super.init(upstream, joins: true)
  }

  deinit {
    ReleaseList.release(&second)
  }

  override func nextStep(after previous: Operation?, count: Int) -> Step {
    guard let previous else { return takeWrapped().map { .run($0) } ?? .settle(.cancelled) }
    return step(after: previous, nil) ?? .settleLike(previous)
  }

  override func nextStep(afterRefusalOf child: Operation, _ error: OperationError, count: Int) -> Step {
    step(after: child, error) ?? .settle(.failure, error: error)
  }

  /// Returns nil after the second operation.
  private func step(after first: Operation, _ refusal: OperationError?) -> Step? {
    do {
      return try second.take()?(first, refusal)
    } catch {
      return error is CancellationError ? .settle(.cancelled) : .settle(.failure, error: error)
    }
  }

  /// `then` and `mapAsync` expect a second operation, so the first is half of the work, unless it
  /// is a delay.
  override var progressShape: ProgressShape {
    (ownKind == .then || ownKind == .mapAsync) && !isDelayed ? .steps(2) : .inner
  }

  override func work(standingFor child: Operation) -> Operation? {
    child is DelayOperation && progressShape == .inner ? nil : child
  }

  override func discardSteps() {
    _ = takeWrapped()
    second = nil
  }

  override var kind: OperationKind { ownKind }

  // The second operation does other work.

  override var nameAtHand: String? { ownKind == .then ? nil : super.nameAtHand }

  override func noteName(of child: Operation, tag: Int) {
    if ownKind != .then, tag == 1 { super.noteName(of: child, tag: tag) }
  }

  override var namesake: Operation? { ownKind == .then ? nil : knownChildren.upstream.first }

  override var knownChildren: KnownChildren {
    if let wrapped { return KnownChildren(upstream: [wrapped]) }
    let children = super.knownChildren
    return children.earlier == 0
      ? KnownChildren(upstream: children.contents) : KnownChildren(contents: children.contents)
  }
}
