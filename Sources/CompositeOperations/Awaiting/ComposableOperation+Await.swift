import Foundation

extension ComposableOperation {
  /// The value, once the operation has settled.
  ///
  /// Waits, without blocking a thread; neither starts nor cancels the operation. Cancelling the
  /// waiting task changes nothing: it keeps waiting. Returns after the operation's completion, its
  /// observers and sinks have returned. An observer on the main actor has been sent its event.
  ///
  /// - Throws: the operation's error; `CancellationError` if it was cancelled.
  public var value: Value {
    get async throws { try await settledOutcome().get() }
  }

  /// Starts the operation, and waits until it has settled, like ``value``.
  ///
  /// The operation runs on a worker thread of Dispatch, neither on the caller's executor nor on the
  /// cooperative pool; it starts when its dependencies have finished. An operation that is
  /// executing, queued or composed elsewhere is awaited, not started; a settled one returns its
  /// outcome at once. Of an operation of a type that is not of this package only that is known
  /// which it says itself, so call this once. Cancelling the calling task cancels the operation,
  /// also if the task was cancelled before the call.
  ///
  /// - Returns: the operation's value.
  /// - Throws: the operation's error; `CancellationError` if it was cancelled.
  @discardableResult
  public func run() async throws -> Value {
    // A composite runs operations of other types: it waits for their dependencies and cancels them.
    let starter = self as? SettlingOperation ?? makeStarter()
    return try await withTaskCancellationHandler {
      if adopt() { Workers.start(starter) }
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

  // Not a checked continuation, which allocates: an observer is called exactly once.
  fileprivate func settledOutcome() async -> Outcome<Value> {
    await withUnsafeContinuation { continuation in
      let waiter = Waiter(continuation)
      if let own = self as? SettlingOperation {
        if !own.observe(waiter) { waiter.operationDidSettle(own, tag: 0) }
      } else if isFinished {
        continuation.resume()
      } else {
        ForeignOperations.observe(self, waiter)
      }
    }
    return settledOutcome(nil)
  }
}

extension OperationQueue {
  /// Runs the operation in this queue, and waits until it has settled, like `value`.
  ///
  /// An operation that is executing, queued or composed elsewhere is awaited, not added; a settled
  /// one returns its outcome at once. If other code settles the operation before this queue has
  /// started it, this returns when the queue starts it. Cancelling the calling task cancels the
  /// operation.
  ///
  /// - Returns: the operation's value.
  /// - Throws: the operation's error; `CancellationError` if it was cancelled.
  @discardableResult
  public func run<O: ComposableOperation>(_ operation: O) async throws -> O.Value {
    try await withTaskCancellationHandler {
      if operation.adopt(entersQueue: true) { enter(operation) }
      return try await operation.value
    } onCancel: {
      operation.cancel()
    }
  }
}

/// An operation whose end its owner reports after its own observers: a handle of a manager, say.
package protocol ReportedByOwner: SettlingOperation {
  /// Resumes a task that waits for the operation, which has settled, after the owner's report.
  func resumeWhenReported(_ continuation: UnsafeContinuation<Void, Never>)
}

/// A task that waits for an operation.
private final class Waiter: SettlementObserver {
  private let continuation: UnsafeContinuation<Void, Never>

  init(_ continuation: UnsafeContinuation<Void, Never>) {
    self.continuation = continuation
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    // Asked first because it is cheap, and false for most operations.
    guard (operation as? SettlingOperation)?.state.current.has(.needsNoSlot) == true,
      let operation = operation as? any ReportedByOwner
    else { return continuation.resume() }
    operation.resumeWhenReported(continuation)
  }
}
