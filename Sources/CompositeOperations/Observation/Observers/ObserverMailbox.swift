import Foundation

/// What the observers of one operation that are called in one place have not been told yet.
///
/// They share it so that they are told in the order in which they were added: each with a mailbox of its own, one whose
/// delivery still waits would take the next event along with it, before observers that come first.
final class ObserverMailbox: Sendable {
  /// A place that is not the thread that tells.
  enum Place: Equatable {
    case queue(OperationQueue)
    case mainActor
  }

  private typealias Entry = (event: OperationEvent, subject: EventSubject?, record: ObserverRecord)

  private struct State {
    var waiting: [Entry] = []
    /// Whether an operation in the queue, or a task, will look at what waits, or is looking.
    var isScheduled = false

    /// Returns whether the caller has to schedule a delivery.
    mutating func enqueue(_ entry: Entry) -> Bool {
      waiting.append(entry)
      defer { isScheduled = true }
      return !isScheduled
    }

    mutating func takeBatch() -> [Entry] {
      defer { waiting = [] }
      return waiting
    }

    /// The batch has been delivered. Returns whether the caller has to schedule a delivery of what came meanwhile.
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

  /// Calls the observer at the place, after what waits there already.
  func deliver(_ event: OperationEvent, of subject: EventSubject?, to record: ObserverRecord) {
    if state.withLock({ $0.enqueue((event, subject, record)) }) { schedule() }
  }

  private func schedule() {
    switch place {
    case .queue(let queue): queue.addOperation(Delivery(self))
    case .mainActor: onMainActor { [self] in deliverWaiting() }
    }
  }

  /// Drops what waits for an observer that was removed.
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
    // Not in a loop: what else waits in the queue, or for the main actor, has its turn in between.
    if state.withLock({ $0.endBatch() }) { schedule() }
  }

  /// Calls the observers with what waits, in their queue.
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

/// Runs something on the main actor, later: never within the call.
///
/// A task rather than a block in the main queue: where `dispatchMain()` serves that queue on Linux, its blocks run on any
/// thread, and are not on the main actor for the language.
func onMainActor(_ body: @escaping @MainActor @Sendable () -> Void) {
  // Without the locals of the task that happens to settle the operation.
  _ = Task.detached(priority: .userInitiated) { @MainActor in body() }
}
