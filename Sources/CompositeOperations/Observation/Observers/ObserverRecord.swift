import Foundation

/// An observer of an operation.
final class ObserverRecord: Sendable {
  typealias Body = @Sendable (OperationEvent, EventSubject?) -> Void

  /// Where the observer is called.
  enum Place {
    /// On the delivering thread.
    case anywhere
    /// In a queue or on the main actor, in order with the other observers of the operation that are
    /// called there.
    case mailbox(ObserverMailbox.Place)
  }

  private struct State {
    /// Nil once the observer was removed or has received the last event.
    var body: Body?
    /// Where the observer's events wait; nil for an observer that is called on the delivering
    /// thread.
    var mailbox: ObserverMailbox?
  }

  /// The events that the observer receives.
  let interests: ObserverInterests
  let place: Place
  private let state: LockBox<State>

  init(interests: ObserverInterests, at place: Place, _ body: @escaping Body) {
    self.interests = interests
    self.place = place
    self.state = LockBox(State(body: body))
  }

  /// Shares a mailbox with earlier observers. Called before the first delivery.
  func share(_ mailbox: ObserverMailbox) {
    state.withLock { $0.mailbox = mailbox }
  }

  /// Calls the observer on this thread, or puts the event into its mailbox. Called for one event at
  /// a time.
  ///
  /// - Parameter subject: the operation of the event, if the observer needs it.
  func deliver(_ event: OperationEvent, of subject: EventSubject?) {
    guard case .mailbox(let place) = place else { return call(event, of: subject) }
    let mailbox: ObserverMailbox? = state.withLock { state in
      guard state.body != nil else { return nil }
      let mailbox = state.mailbox ?? ObserverMailbox(at: place)
      state.mailbox = mailbox
      return mailbox
    }
    mailbox?.deliver(event, of: subject, to: self)
  }

  /// Releases the observer. No call of it begins after this.
  func end() {
    var ended = State()
    state.withLock { swap(&ended, &$0) }
    // Outside the lock, like the release.
    ended.mailbox?.dropEvents(for: self)
  }

  /// Calls the observer, on this thread.
  func call(_ event: OperationEvent, of subject: EventSubject?) {
    guard let body = state.withLock({ $0.body }) else { return }
    ThreadContext.current.runUserCode { body(event, subject) }
    if case .settled = event.content, subject?.isInner != true { end() }
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
