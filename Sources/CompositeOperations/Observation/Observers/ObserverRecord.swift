import Foundation

/// One observer, and what waits for its queue if it has one.
final class ObserverRecord: Sendable {
  typealias Body = @Sendable (OperationEvent) -> Void

  private struct State {
    /// Nil once it was removed, or has been told of the end.
    var body: Body?
    var waiting: [OperationEvent] = []
    /// Whether an operation in the queue will look at what waits, or is looking.
    var isScheduled = false

    /// Returns whether somebody has to be scheduled.
    mutating func enqueue(_ event: OperationEvent) -> Bool {
      guard body != nil else { return false }
      waiting.append(event)
      defer { isScheduled = true }
      return !isScheduled
    }

    mutating func takeBatch() -> [OperationEvent]? {
      guard !waiting.isEmpty else {
        isScheduled = false
        return nil
      }
      defer { waiting = [] }
      return waiting
    }
  }

  /// What it wants to be told.
  let interests: ObserverInterests
  private let queue: OperationQueue?
  private let state: LockBox<State>

  init(interests: ObserverInterests, queue: OperationQueue?, _ body: @escaping Body) {
    self.interests = interests
    self.queue = queue
    self.state = LockBox(State(body: body))
  }

  /// Tells it, here or in its queue. Called for one event after the other.
  func deliver(_ event: OperationEvent) {
    guard let queue else { return call(event) }
    if state.withLock({ $0.enqueue(event) }) { queue.addOperation(Delivery(self)) }
  }

  /// Whether it is to be told no more.
  var isEnded: Bool { state.withLock { $0.body == nil } }

  /// Lets go of the observer. Nothing begins to call it from here on.
  func end() {
    var ended = State()
    state.withLock { state in
      swap(&ended.body, &state.body)
      swap(&ended.waiting, &state.waiting)
    }
    withExtendedLifetime(ended) {}  // released outside the lock
  }

  private func call(_ event: OperationEvent) {
    guard let body = state.withLock({ $0.body }) else { return }
    ThreadContext.current.runUserCode { body(event) }
    if case .settled = event { end() }
  }

  fileprivate func deliverWaiting() {
    while let batch = state.withLock({ $0.takeBatch() }) {
      for event in batch { call(event) }
    }
  }

  /// Tells the observer of what waits, in its queue.
  private final class Delivery: Operation, @unchecked Sendable {  // immutable
    private let record: ObserverRecord

    init(_ record: ObserverRecord) {
      self.record = record
    }

    // Not `main`: `cancelAllOperations()` of the queue must not lose events.
    override func start() {
      record.deliverWaiting()
      super.start()
    }
  }
}

/// What an observer wants to be told besides the start, a cancel and the end.
struct ObserverInterests: OptionSet {
  let rawValue: Int
  static let progress = ObserverInterests(rawValue: 1)
  static let children = ObserverInterests(rawValue: 2)
  /// It is one of those of which the last one leaves.
  static let stays = ObserverInterests(rawValue: 4)

  static let everything: ObserverInterests = [.progress, .children, .stays]
}
