import Foundation

/// An operation that runs while it holds categories: the engine of `exclusive`.
final class ExclusionSource: GuardSource, @unchecked Sendable {  // only whoever is asking or ends touches the fields
  private let categories: [ExclusionCategory]
  private let registry: ExclusionRegistry
  private var claim: ExclusionClaim?

  init(_ guarded: Operation, _ categories: [ExclusionCategory], in registry: ExclusionRegistry, givesVoid: Bool) {
    self.categories = categories
    self.registry = registry
    super.init(guarded, givesVoid: givesVoid)
  }

  override func nextGuard(for guarded: Operation, after previous: Operation?) -> Step? {
    if let claim {
      if previous?.failure != nil || previous?.isCancelled == true { return previous.map { .settleLike($0) } }
      environment.held = claim
      return nil
    }
    guard !categories.isEmpty else { return nil }
    let claim = ExclusionClaim(in: registry, for: guarded, around: environment.held)
    self.claim = claim
    switch registry.request(categories, for: claim) {
    case .granted(let holdsMore):
      if holdsMore { environment.held = claim }
      return nil
    case .waiting:
      return .run(ExclusionGate(claim, for: isOurs ? guarded : nil))
    case .refused(let error):
      return .settle(.failure, error: error)
    }
  }

  override func guardIsOver() {
    if let claim = claim.take() { registry.release(claim) }
  }
}
