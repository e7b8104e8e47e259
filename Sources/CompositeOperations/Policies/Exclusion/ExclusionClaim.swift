import Foundation

/// What one operation holds, or waits for; handed down to the operations inside, which hold it too.
final class ExclusionClaim: HeldClaim, @unchecked Sendable {  // guarded by the registry's lock, or set only once
  enum Standing {
    case waiting, granted
    case refused([Wait])
  }

  /// One step of a circle, while the operations are there to be named.
  struct Wait {
    let waiting: Operation?
    let category: ExclusionCategory
    let holding: Operation?

    init(_ wait: ExclusionState<ExclusionClaim>.Wait) {
      (waiting, category, holding) = (wait.waiting.operation, wait.category, wait.holding.operation)
    }
  }

  let registry: ExclusionRegistry
  /// Its number in the registry's state. Set once, before anybody else knows the claim.
  var id = 0
  /// For naming it; given up when the claim is released.
  var operation: Operation?
  var standing = Standing.waiting
  /// The gate to open when the claim is granted, if the operation waits for it.
  var gate: ExclusionGate?

  init(in registry: ExclusionRegistry, for operation: Operation, around: HeldClaim?) {
    self.registry = registry
    self.operation = operation
    super.init(around: around)
  }

  /// The numbers of what is held around in the same registry, the innermost first.
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

/// Waits until an exclusion claim is granted, or refused.
final class ExclusionGate: ClaimGate, @unchecked Sendable {  // immutable
  private let claim: ExclusionClaim
  private let categories: [ExclusionCategory]

  /// - Parameter categories: what is claimed.
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
