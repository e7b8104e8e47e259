import Foundation

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
    let record = ObserverRecord(interests: .everything, at: .mailbox(.mainActor)) { event, _ in
      MainActor.assumeIsolated { observer(event) }
    }
    return ObservationToken(record, in: add(record))
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
    // Taken on the main actor, so that its captures are released there.
    onMainActor { [self] in
      let completion = completion.withLock { $0.take() }
      completion?(typed)
    }
  }
}
