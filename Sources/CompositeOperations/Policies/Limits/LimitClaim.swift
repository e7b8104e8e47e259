import Foundation

/// The place of one operation among those that a limit is shared by.
final class LimitClaim: HeldClaim, @unchecked Sendable {  // guarded by the limit's lock, but for what is set only once
  enum Standing {
    case waiting, granted
    /// It is heavier than the limit.
    case refused(greatestWeight: Int)
  }

  let limit: SharedLimit
  let weight: Int
  /// Its number in the limit's state. Set once, before another thread knows the claim.
  var id = 0
  var standing = Standing.waiting
  /// What is told when the claim waits no more.
  var gate: LimitGate?

  init(in limit: SharedLimit, weight: Int, around: HeldClaim?) {
    self.limit = limit
    self.weight = weight
    super.init(around: around)
  }

  /// The number of the innermost claim around it that belongs to the same limit.
  var holderAround: Int? {
    var next = around
    while let claim = next {
      if let claim = claim as? LimitClaim, claim.limit === limit { return claim.id }
      next = claim.around
    }
    return nil
  }
}

/// Waits until a claim is granted, or refused.
final class LimitGate: GateOperation, @unchecked Sendable {  // immutable
  private let claim: LimitClaim
  private let guarded: Operation?

  /// - Parameters:
  ///   - guarded: an operation of the composition's that the claim is for. If that is cancelled, the claim leaves the line
  ///     at once.
  ///   - environment: of the composition.
  init(_ claim: LimitClaim, for guarded: Operation?, in environment: ExecutionEnvironment) {
    self.claim = claim
    self.guarded = guarded
    super.init(in: environment)
  }

  override var purpose: String { "waits for \(claim.limit.name.map { GateOperation.list([$0]) } ?? "a shared limit")" }

  override func main() {
    if let guarded { pass(whenDecided: guarded) { [weak self] in self?.giveUp() } }
    beginWait()
    guard case .waiting = claim.limit.attach(self, to: claim) else { return pass() }
    if isCancelled { giveUp() }
  }

  override func didCancel() {
    giveUp()
  }

  private func giveUp() {
    claim.limit.withdraw(claim)
    endWait { [self] in finish() }
  }

  /// The claim does not wait any more.
  func pass() {
    endWait { [self] in finish() }
  }
}
