import CompositeOperations

/// Waits until the start of an attempt has been told. It takes neither a thread nor a slot.
final class StartNotice: SimpleOperation<Void>, @unchecked Sendable {  // locked
  private let state = LockBox((isTold: false, isWaiting: false))

  override init() {
    super.init()
    occupyNoSlot()
    name = "telling of the start"
  }

  override func main() {
    let isTold = state.withLock { state in
      state.isWaiting = true
      return state.isTold
    }
    if isTold { finish() }
  }

  override func didCancel() {
    finish()
  }

  /// It has been told. Does nothing more if nobody waits yet: what is finished cannot be started.
  func tell() {
    let isWaiting = state.withLock { state in
      state.isTold = true
      return state.isWaiting
    }
    if isWaiting { finish() }
  }
}
