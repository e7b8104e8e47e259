import Foundation

/// An operation, and perhaps a second one made from how the first ended: the engine of `then`, `map` and `recover`.
final class ChainSource: SequentialSource, @unchecked Sendable {  // see the fields
  // Guarded by the striped lock, for drawings read it at any moment.
  private var upstream: Operation?
  // Only whoever is asking touches it.
  private var second: ((Operation) throws -> Step)?
  private let form: OperationKind
  /// Whether the first operation is only a delay before the work.
  private let isDelayed: Bool
  /// The name that the upstream had when this was made, if it is what the owner is called.
  let upstreamName: String?

  /// - Parameters:
  ///   - upstream: the first operation, which this starts unless somebody else does.
  ///   - second: decides what comes after it. Called where the operations run. What it throws settles the owner.
  init(_ upstream: Operation, as form: OperationKind, then second: @escaping (Operation) throws -> Step) {
    self.form = form
    isDelayed = upstream is DelayOperation
    self.upstream = upstream
    upstreamName = form == .then ? nil : (upstream as? SettlingOperation).map(\.nameAtHand) ?? upstream.name
    self.second = second
    super.init(joins: true)
  }

  deinit {
    ReleaseList.release(&upstream)
    ReleaseList.release(&second)
  }

  override func nextStep(after previous: Operation?, count: Int) -> Step {
    guard let previous else { return takeUpstream().map { .run($0) } ?? .settle(.cancelled) }
    guard count == 1, let second = second.take() else { return .settleLike(previous) }
    do {
      return try second(previous)
    } catch {
      return error is CancellationError ? .settle(.cancelled) : .settle(.failure, error: error)
    }
  }

  /// A second operation is expected after `then` and `mapAsync`, so that the first is half of the work, if it is work.
  override var progressShape: ProgressShape {
    (form == .then || form == .mapAsync) && !isDelayed ? .steps(2) : .inner
  }

  override func work(standingFor child: Operation) -> Operation? {
    child is DelayOperation && progressShape == .inner ? nil : child
  }

  private func takeUpstream() -> Operation? {
    StripedLock.withLock(of: self) { upstream.take() }
  }

  override func takeUnasked() -> Operation? { takeUpstream() }

  override func discardSteps() {
    _ = takeUpstream()
    second = nil
  }

  override var kind: OperationKind { form }

  /// What the owner has its name from, as long as it is known. After `then` there is another operation, for other work.
  var wrappedUpstream: Operation? { form == .then ? nil : knownChildren.upstream.first }

  override var knownChildren: KnownChildren {
    if let upstream = StripedLock.withLock(of: self, { upstream }) { return KnownChildren(upstream: [upstream]) }
    let children = super.knownChildren
    return children.earlier == 0
      ? KnownChildren(upstream: children.contents) : KnownChildren(contents: children.contents)
  }
}
