import Foundation

/// The claim of one operation to a limit.
final class LimitClaim: HeldClaim, @unchecked Sendable {  // guarded by the limit's lock, but for what is set only once
  enum Standing {
    case waiting, granted
    /// The claim is heavier than the limit.
    case refused(greatestWeight: Int)
  }

  let limit: SharedLimit
  let weight: Int
  /// Its number in the limit's state. Set once, before another thread knows the claim.
  var id = 0
  var standing = Standing.waiting
  /// The gate to pass when the claim no longer waits.
  var gate: LimitGate?

  init(in limit: SharedLimit, weight: Int, around: HeldClaim?) {
    self.limit = limit
    self.weight = weight
    super.init(around: around)
  }

  /// The number of the innermost claim around this one in the same limit.
  var holderAround: Int? {
    var next = around
    while let claim = next {
      if let claim = claim as? LimitClaim, claim.limit === limit { return claim.id }
      next = claim.around
    }
    return nil
  }
}

/// A gate that waits until a limit has room for a claim, or refuses it.
final class LimitGate: ClaimGate, @unchecked Sendable {  // immutable
  private let claim: LimitClaim

  init(_ claim: LimitClaim, for guarded: Operation?, in environment: ExecutionEnvironment) {
    self.claim = claim
    super.init(for: guarded, in: environment)
  }

  override var purpose: String { "waits for \(claim.limit.name.map { GateOperation.list([$0]) } ?? "a shared limit")" }

  override func attach() -> Bool {
    if case .waiting = claim.limit.attach(self, to: claim) { true } else { false }
  }

  override func giveBack(isGranted: Bool) {
    if isGranted { claim.limit.release(claim) } else { claim.limit.withdraw(claim) }
  }
}
