import Foundation

/// The claim of one operation to categories. The operations inside it get the claim, too, and use
/// what it holds.
final class ExclusionClaim: HeldClaim, @unchecked Sendable {  // guarded by the registry's lock, or set only once
  enum Standing {
    case waiting, granted
    case refused([Wait])
  }

  /// One step of a circle. Made while the operations exist, so that an error can name them.
  struct Wait {
    let waiting: Operation?
    let category: ExclusionCategory
    let holding: Operation?

    init(_ wait: ExclusionState<ExclusionClaim>.Wait) {
      (waiting, category, holding) = (wait.waiting.operation, wait.category, wait.holding.operation)
    }
  }

  let registry: ExclusionRegistry
  /// Its number in the registry's state. Set once, before another thread knows the claim.
  var id = 0
  /// The operation, for errors that name it; nil after the release.
  var operation: Operation?
  var standing = Standing.waiting
  /// The gate to pass when the claim no longer waits.
  var gate: ExclusionGate?

  init(in registry: ExclusionRegistry, for operation: Operation, around: HeldClaim?) {
    self.registry = registry
    self.operation = operation
    super.init(around: around)
  }

  /// The numbers of the claims around this one in the same registry, the innermost first.
  var numbersAround: [Int] {
    var numbers: [Int] = []
    var next = around
    while let claim = next {
      if let claim = claim as? ExclusionClaim, claim.registry === registry { numbers.append(claim.id) }
      next = claim.around
    }
    return numbers
  }
}

/// A gate that waits until a registry grants a claim, or refuses it.
final class ExclusionGate: ClaimGate, @unchecked Sendable {  // immutable
  private let claim: ExclusionClaim
  private let categories: [ExclusionCategory]

  /// - Parameter categories: the categories that the claim asks for.
  init(
    _ claim: ExclusionClaim, to categories: [ExclusionCategory], for guarded: Operation?,
    in environment: ExecutionEnvironment
  ) {
    self.claim = claim
    self.categories = categories
    super.init(for: guarded, in: environment)
  }

  override var purpose: String { "waits for \(GateOperation.list(categories.map(\.name)))" }

  override func attach() -> Bool {
    if case .waiting = claim.registry.attach(self, to: claim) { true } else { false }
  }

  override func giveBack(isGranted: Bool) {
    if isGranted { claim.registry.release(claim) } else { claim.registry.withdraw(claim) }
  }

  override func conclude() {
    if case .refused(let circle) = claim.standing { reject(with: ExclusionError(circle)) } else { finish() }
  }
}
