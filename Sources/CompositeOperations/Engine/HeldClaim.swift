/// What one operation holds or waits for; the operations inside it inherit the claim.
class HeldClaim: @unchecked Sendable {  // set only once; see the subclasses
  /// The claim of the parent composition.
  private(set) final var around: HeldClaim?

  init(around: HeldClaim?) {
    self.around = around
  }

  deinit {
    ReleaseList.release(&around)
  }
}
