import Foundation

/// One observer.
final class ObserverRecord: Sendable {
  typealias Body = @Sendable (OperationEvent, EventSubject?) -> Void

  /// Where the observer is called.
  enum Place {
    /// On the thread that tells.
    case anywhere
    /// Elsewhere, together with the other observers of the operation that are called there.
    case mailbox(ObserverMailbox.Place)
  }

  private struct State {
    /// Nil once it was removed, or has been told of the end.
    var body: Body?
    /// Where its events wait; nil for an observer that is called on the thread that tells.
    var mailbox: ObserverMailbox?
  }

  /// What it wants to be told.
  let interests: ObserverInterests
  let place: Place
  private let state: LockBox<State>

  init(interests: ObserverInterests, at place: Place, _ body: @escaping Body) {
    self.interests = interests
    self.place = place
    self.state = LockBox(State(body: body))
  }

  /// Shares the mailbox with earlier observers. Called before the first delivery.
  func share(_ mailbox: ObserverMailbox) {
    state.withLock { $0.mailbox = mailbox }
  }

  /// Calls the observer, here or at its place. Called for one event after the other.
  ///
  /// - Parameter subject: what it happened to, if the observer wants to know.
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

  /// Releases the observer. No call of it begins from here on.
  func end() {
    var ended = State()
    state.withLock { swap(&ended, &$0) }
    // Outside the lock, as is the release.
    ended.mailbox?.dropEvents(for: self)
  }

  /// Calls the observer, on this thread.
  func call(_ event: OperationEvent, of subject: EventSubject?) {
    guard let body = state.withLock({ $0.body }) else { return }
    ThreadContext.current.runUserCode { body(event, subject) }
    if case .settled = event.content, subject?.isInner != true { end() }
  }
}

/// What an observer wants to be told besides the start, a cancel and the end.
struct ObserverInterests: OptionSet {
  let rawValue: Int
  static let progress = ObserverInterests(rawValue: 1)
  static let children = ObserverInterests(rawValue: 2)
  /// It is one of those of which the last one leaves.
  static let stays = ObserverInterests(rawValue: 4)
  /// What happens to the operations inside.
  static let tree = ObserverInterests(rawValue: 8)

  static let everything: ObserverInterests = [.progress, .children, .stays]
}

/// What an event happened to, for observers that are told of several operations.
struct EventSubject {
  let operation: Operation
  /// Whether it is inside the one that the observer was added to.
  let isInner: Bool
}
