public import Foundation

// Completions and observers for code whose state belongs to the main actor.

extension SettlingOperation {
  /// Adds an observer that is called on the main actor with the operation's events from now on.
  ///
  /// ```swift
  /// @MainActor final class UploadModel {
  ///   var fraction = 0.0
  ///
  ///   func follow(_ upload: SimpleOperation<Receipt>) {
  ///     upload.addMainActorObserver { [weak self] event in
  ///       if let fraction = event.fractionCompleted { self?.fraction = fraction }
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// Events arrive in order, one at a time. The observer is called after the event, never inside
  /// the call that caused the event, even if that call was on the main actor. So the observer does
  /// not delay the operation, and the state of the operation may have changed by then. When the
  /// observer receives `settled`, the last event, `isFinished` is true.
  ///
  /// If the operation has already settled, the observer receives `settled`.
  ///
  /// The main thread must be free to call the observer. A main thread that waits in
  /// `waitUntilFinished()` calls no observer. A program that exits before calls none either.
  ///
  /// - Parameter observer: the observer. Released on the main actor after `settled`. Also released
  ///   when it is removed, or when the operation is released unsettled.
  /// - Returns: a token that removes the observer; it need not be kept. If `remove()` is called on
  ///   the main actor, the observer is not called after that.
  @discardableResult
  public final func addMainActorObserver(
    _ observer: @escaping @MainActor @Sendable (OperationEvent) -> Void
  ) -> ObservationToken {
    let record = ObserverRecord(interests: .everything, onMainActor: true) { event, _ in
      MainActor.assumeIsolated { observer(event) }
    }
    return add(record)
  }

  /// Adds an observer that is called on the main actor with the events of the operation and of all
  /// operations in it.
  ///
  /// ```swift
  /// @MainActor final class BackupModel {
  ///   var log: [String] = []
  ///
  ///   func follow(_ backup: CompositeOperation) {
  ///     backup.addMainActorTreeObserver { [weak self] operation, event in
  ///       self?.log.append("\(operation.name ?? "operation"): \(event)")
  ///     }
  ///   }
  /// }
  /// ```
  ///
  /// The events are those of ``addTreeObserver(_:)``. How they arrive is described at
  /// ``addMainActorObserver(_:)``: in order, one at a time, and never inside the call that caused
  /// the event.
  ///
  /// - Parameter observer: the observer. Receives the operation and its event. Released on the main
  ///   actor after `settled` of this operation. Also released when it is removed, or when this
  ///   operation is released unsettled.
  /// - Returns: a token that removes the observer; it need not be kept. If `remove()` is called on
  ///   the main actor, the observer is not called after that.
  @discardableResult
  public final func addMainActorTreeObserver(
    _ observer: @escaping @MainActor @Sendable (_ operation: Operation, _ event: OperationEvent) -> Void
  ) -> ObservationToken {
    let record = ObserverRecord(interests: [.tree, .stays], onMainActor: true) { event, subject in
      guard let subject else { return }
      MainActor.assumeIsolated { observer(subject.operation, event) }
    }
    return add(record)
  }
}

extension ComposableOperation where Self: SettlingOperation {
  /// Adds a completion that runs on the main actor.
  ///
  /// ```swift
  /// @MainActor final class ForecastModel {
  ///   var text = ""
  ///
  ///   func load() {
  ///     let fetch = FetchForecast()
  ///     fetch.addMainActorCompletion { [weak self] outcome in
  ///       self?.text = outcome.value?.summary ?? "no forecast"
  ///     }
  ///     queue.addOperation(fetch)
  ///   }
  /// }
  /// ```
  ///
  /// The completion is called with the outcome, exactly once, also when the operation is cancelled
  /// before it starts. It is called after ``SimpleOperation/completion``, when `isFinished` is
  /// true. It is never called inside the call that settled the operation, even if that call was on
  /// the main actor. If the operation has already settled, the completion is called soon after.
  /// Completions that were added before the operation settled are called in the order in which they
  /// were added.
  ///
  /// Unlike `completion`, it may run after awaiting tasks, dependents and `waitUntilFinished()`
  /// have continued. It waits while the main thread is blocked. A program that exits before does
  /// not call it.
  ///
  /// - Parameter completion: the completion. Released on the main actor when it has been called, or
  ///   when the operation is released unsettled.
  public func addMainActorCompletion(
    _ completion: @escaping @MainActor @Sendable (_ outcome: Outcome<Value>) -> Void
  ) {
    let delivery = MainActorCompletion(completion)
    if !observe(delivery) { delivery.operationDidSettle(self, tag: 0) }
  }
}

/// Calls a completion on the main actor once the operation has settled.
private final class MainActorCompletion<Value: Sendable>: SettlementObserver {
  private let completion: LockBox<(@MainActor @Sendable (Outcome<Value>) -> Void)?>

  init(_ completion: @escaping @MainActor @Sendable (Outcome<Value>) -> Void) {
    self.completion = LockBox(completion)
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    guard let operation = operation as? SettlingOperation, let outcome = operation.erasedOutcome else {
      preconditionFailure("\(operation) announced its end without an outcome")
    }
    let typed = outcome.map { $0 as! Value }
    let context = operation.context
    // Taken on the main actor, so that its captures are released there.
    onMainActor { [self] in
      let completion = completion.withLock { $0.take() }
      OperationContext.bind(context) { completion?(typed) }
    }
  }
}

/// Runs a closure on the main actor, never inside this call.
///
/// This uses a task rather than a block in the main queue. When `dispatchMain()` serves that queue
/// on Linux, its blocks run on any thread, and are not isolated to the main actor.
func onMainActor(_ body: @escaping @MainActor @Sendable () -> Void) {
  // Detached: without the task-local values of the task that settles the operation.
  _ = Task.detached(priority: .userInitiated) { @MainActor in body() }
}
