import Foundation

/// The undelivered events for those observers of one operation that are called in the same queue,
/// or on the main actor.
///
/// The observers share a mailbox, so that they are called in the order in which they were added.
/// With a mailbox for each observer, a delivery that still waits would also deliver the next event,
/// before earlier observers receive it.
final class ObserverMailbox: Sendable {
  /// Where a mailbox calls its observers.
  enum Place: Equatable {
    case queue(OperationQueue)
    case mainActor

    /// By identity: a subclass may override `isEqual(_:)`, and this is called inside a lock.
    static func == (left: Place, right: Place) -> Bool {
      switch (left, right) {
      case (.queue(let left), .queue(let right)): left === right
      case (.mainActor, .mainActor): true
      case (.queue, .mainActor), (.mainActor, .queue): false
      }
    }
  }

  private typealias Entry = (event: OperationEvent, subject: EventSubject?, record: ObserverRecord)

  private struct State {
    var waiting: [Entry] = []
    /// Whether an operation in the queue, or a task, will deliver or is delivering.
    var isScheduled = false

    /// Returns whether the caller must schedule a delivery.
    mutating func enqueue(_ entry: Entry) -> Bool {
      waiting.append(entry)
      defer { isScheduled = true }
      return !isScheduled
    }

    mutating func takeBatch() -> [Entry] {
      defer { waiting = [] }
      return waiting
    }

    /// Ends a delivered batch. Returns whether the caller must schedule the delivery of events that
    /// came meanwhile.
    mutating func endBatch() -> Bool {
      isScheduled = !waiting.isEmpty
      return isScheduled
    }
  }

  let place: Place
  private let state = LockBox(State())

  init(at place: Place) {
    self.place = place
  }

  /// Calls the observer in the queue or on the main actor, after the events that already wait.
  func deliver(_ event: OperationEvent, of subject: EventSubject?, to record: ObserverRecord) {
    if state.withLock({ $0.enqueue((event, subject, record)) }) { schedule() }
  }

  private func schedule() {
    switch place {
    case .queue(let queue): queue.addOperation(Delivery(self))
    case .mainActor: onMainActor { [self] in deliverWaiting() }
    }
  }

  /// Drops the events that wait for a removed observer.
  func dropEvents(for record: ObserverRecord) {
    let all = state.withLock { state in
      let all = state.waiting
      state.waiting.removeAll { $0.record === record }
      return all
    }
    withExtendedLifetime(all) {}  // released outside the lock
  }

  private func deliverWaiting() {
    for (event, subject, record) in state.withLock({ $0.takeBatch() }) { record.call(event, of: subject) }
    // Not in a loop: other work of the queue or the main actor gets its turn in between.
    if state.withLock({ $0.endBatch() }) { schedule() }
  }

  /// Calls the observers with the waiting events, in their queue.
  private final class Delivery: Operation, @unchecked Sendable {  // immutable
    private let mailbox: ObserverMailbox

    init(_ mailbox: ObserverMailbox) {
      self.mailbox = mailbox
    }

    // Not `main`: `cancelAllOperations()` of the queue must not lose events.
    override func start() {
      mailbox.deliverWaiting()
      super.start()
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
