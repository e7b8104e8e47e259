import CompositeOperations

/// An operation that does nothing for a while. It blocks no thread, and cancelling it ends it at once.
func pause(_ duration: Duration) -> SimpleOperation<Void> {
  SimpleOperation { operation in
    let countdown = Countdown(duration) { operation.finish() }
    // The hook keeps the countdown alive, and is dropped when the operation settles.
    operation.onCancel = {
      countdown.cancel()
      operation.settle(with: .cancelled)
    }
  }
}
