/// What one operation holds, or waits for; handed down to the operations inside, which hold it too.
class HeldClaim: @unchecked Sendable {  // set only once; see the subclasses
  /// What is held around.
  private(set) final var around: HeldClaim?

  init(around: HeldClaim?) {
    self.around = around
  }

  deinit {
    ReleaseList.release(&around)
  }
}
