import CompositeOperations

/// Waits until the event of an attempt's start has been passed on. It takes neither a thread nor a
/// slot.
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

  /// Ends the waiting: the event has been passed on. If the operation has not started yet, it
  /// finishes when it does.
  func tell() {
    let isWaiting = state.withLock { state in
      state.isTold = true
      return state.isWaiting
    }
    if isWaiting { finish() }
  }
}
