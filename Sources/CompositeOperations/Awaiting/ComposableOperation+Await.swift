import Foundation

extension ComposableOperation {
  /// The value, once the operation has settled.
  ///
  /// Waits, without blocking a thread; neither starts nor cancels the operation. Cancelling the waiting task changes
  /// nothing: it keeps waiting. Returns after the operation's completion has run and its finish was announced.
  ///
  /// - Throws: the operation's error; `CancellationError` if it was cancelled.
  public var value: Value {
    get async throws { try await settledOutcome().get() }
  }

  /// Starts the operation, and waits until it has settled.
  ///
  /// The operation runs on a worker thread of Dispatch, neither on the caller's executor nor on the cooperative pool;
  /// it starts when its dependencies have finished. One that is executing, queued or composed elsewhere is not started
  /// but waited for; one that has settled gives its outcome. Cancelling the calling task cancels the operation, also
  /// if it was cancelled before.
  ///
  /// - Returns: the operation's value.
  /// - Throws: the operation's error; `CancellationError` if it was cancelled.
  @discardableResult
  public func run() async throws -> Value {
    // Whatever is not ours is left to a composite, which knows how to wait for its dependencies and to cancel it.
    let starter = self as? SettlingOperation ?? makeStarter()
    return try await withTaskCancellationHandler {
      if takeOver() { startOnWorker(starter) }
      return try await value
    } onCancel: {
      cancel()
      if starter !== self { starter.cancel() }
    }
  }

  private func makeStarter() -> SettlingOperation {
    let starter = CompositeOperation(operations: [self])
    starter.qualityOfService = qualityOfService
    return starter
  }

  // Not a checked continuation, which is one more object: an observer is told exactly once.
  fileprivate func settledOutcome() async -> Outcome<Value> {
    await withUnsafeContinuation { continuation in
      let waiter = Waiter(continuation)
      if let own = self as? SettlingOperation {
        if !own.observe(waiter) { continuation.resume() }
      } else if isFinished {
        continuation.resume()
      } else {
        ForeignOperations.observe(self, waiter)
      }
    }
    if let outcome { return outcome }
    return isCancelled ? .cancelled : .failure(OperationError(.missingOutcome, operation: self))
  }
}

extension OperationQueue {
  /// Runs the operation in this queue, and waits until it has settled.
  ///
  /// One that is executing, waits in a queue or is composed elsewhere is not added but waited for; one that has settled
  /// gives its outcome. Cancelling the calling task cancels the operation.
  ///
  /// - Returns: the operation's value.
  /// - Throws: the operation's error; `CancellationError` if it was cancelled.
  @discardableResult
  public func run<O: ComposableOperation>(_ operation: O) async throws -> O.Value {
    try await withTaskCancellationHandler {
      if operation.takeOver() {
        (operation as? SettlingOperation)?.willBeQueued()
        addOperation(operation)
      }
      return try await operation.value
    } onCancel: {
      operation.cancel()
    }
  }
}

/// Starts the operation on a worker, when its dependencies have finished.
private func startOnWorker(_ operation: SettlingOperation) {
  guard DependencyWait.isNeeded(for: operation), !operation.isCancelled else {
    return Workers.start(operation)
  }
  let isStarted = LockBox(false)
  let start: @Sendable () -> Void = {
    let isFirst = isStarted.withLock { isStarted in
      defer { isStarted = true }
      return !isStarted
    }
    if isFirst { Workers.start(operation) }
  }
  let wait = DependencyWait(for: operation, whenMet: start)
  operation.setWhenDecidedUnstarted {
    wait.cancel()
    start()
  }
  wait.begin()
}

/// A task that waits for an operation.
private final class Waiter: SettlementObserver {
  private let continuation: UnsafeContinuation<Void, Never>

  init(_ continuation: UnsafeContinuation<Void, Never>) {
    self.continuation = continuation
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    continuation.resume()
  }
}
