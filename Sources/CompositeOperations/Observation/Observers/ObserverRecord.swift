import Foundation

/// An observer of an operation.
final class ObserverRecord: Sendable {
  typealias Body = @Sendable (OperationEvent, EventSubject?) -> Void

  /// The events that the observer receives.
  let interests: ObserverInterests
  /// Whether the main actor calls the observer, instead of the delivering thread.
  private let isOnMainActor: Bool
  private struct Observer {
    let body: Body
  }

  /// Nil once the observer was removed or has received the last event.
  private let observer: LockBox<Observer?>

  init(interests: ObserverInterests, onMainActor isOnMainActor: Bool = false, _ body: @escaping Body) {
    self.interests = interests
    self.isOnMainActor = isOnMainActor
    observer = LockBox(Observer(body: body))
  }

  /// Calls the observer on this thread, or lets the main actor call it. Called for one event at a
  /// time.
  ///
  /// - Parameters:
  ///   - subject: the operation of the event, if the observer needs it.
  ///   - context: the task-local values of that operation.
  func deliver(_ event: OperationEvent, of subject: EventSubject?, in context: ContextValues?) {
    guard isOnMainActor else { return call(event, of: subject, in: context) }
    // The main actor runs these in the order in which they are made.
    onMainActor { [self] in call(event, of: subject, in: context) }
  }

  private func call(_ event: OperationEvent, of subject: EventSubject?, in context: ContextValues?) {
    guard let observer = observer.withLock({ $0 }) else { return }
    ThreadContext.current.runUserCode(in: context) { observer.body(event, subject) }
    if case .settled = event.content, subject?.isInner != true { end() }
  }

  /// Releases the observer. No call of it begins after this.
  func end() {
    let ended = observer.withLock { $0.take() }
    withExtendedLifetime(ended) {}  // released outside the lock
  }
}

/// The events that an observer receives besides the start, a cancel and the end.
struct ObserverInterests: OptionSet {
  let rawValue: Int
  static let progress = ObserverInterests(rawValue: 1)
  static let children = ObserverInterests(rawValue: 2)
  /// Counts for `cancelsWhenLastObserverLeaves`.
  static let stays = ObserverInterests(rawValue: 4)
  /// The events of the operations inside.
  static let tree = ObserverInterests(rawValue: 8)
  /// That a composition inside stops waiting for an operation.
  static let leaving = ObserverInterests(rawValue: 16)

  static let everything: ObserverInterests = [.progress, .children, .stays]
}

/// The operation of an event, for observers of several operations.
struct EventSubject {
  let operation: Operation
  /// Whether the operation is inside the one that the observer was added to.
  let isInner: Bool
}
