import Foundation

// Completions and observers for code whose state belongs to the main actor.

extension SettlingOperation {
  /// Tells an observer on the main actor what happens to the operation from now on, until it has settled.
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
  /// Events arrive in the order in which they happen, one at a time. The observer is called some time after the event, never
  /// inside the call that made it happen, also when that was on the main actor; so it does not hold the operation up,
  /// and may find it further on. It is told of the end when `isFinished` is true.
  ///
  /// On an operation that has settled, the observer is told of that.
  ///
  /// The main thread must be free to call it: while that waits in `waitUntilFinished()`, no observer on the main actor is
  /// called, and none is in a program that exits before.
  ///
  /// - Parameter observer: the observer. Released on the main actor when it has been told of the end; or when it is
  ///   removed, or the operation is released unsettled.
  /// - Returns: a token to remove the observer with, which need not be kept. Removed on the main actor, the observer is not
  ///   called any more.
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
  /// Adds a completion that runs on the main actor, and may touch its state.
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
  /// The completion is called with the outcome, exactly once on every path, also when the operation is cancelled before it starts. It is
  /// called after ``SimpleOperation/completion``, when `isFinished` is true, and always later: never inside the call that
  /// settled the operation, also when that was on the main actor. Added to an operation that has settled, it is called,
  /// later as well. Several are called in the order in which they were added.
  ///
  /// In contrast to `completion` it may run after those who wait for the operation have gone on: awaiting tasks, dependents,
  /// `waitUntilFinished()`. While the main thread is blocked, it waits; in a program that exits before, it is not called.
  ///
  /// - Parameter completion: the completion. Released on the main actor when it has been called, or when the operation is
  ///   released unsettled.
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
      preconditionFailure("\(operation) told of its end before that")
    }
    let typed = outcome.map { $0 as! Value }
    // Taken there, so that what it captures is released there.
    onMainActor { [self] in
      let completion = completion.withLock { $0.take() }
      completion?(typed)
    }
  }
}
