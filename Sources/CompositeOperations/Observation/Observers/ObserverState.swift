import Foundation

/// The observers of one operation, and the events that are not delivered yet.
///
/// Events are posted in the order in which they happen, to the observers of that moment. One thread
/// at a time delivers them: the thread that posted when no other thread was delivering. The post
/// itself decides that, so no other thread can begin to deliver in between.
struct ObserverState {
  enum Delivery {
    /// - Parameter inner: the operation of the event, if it is inside the observed operation.
    case event(OperationEvent, inner: Operation? = nil, to: [ObserverRecord])
    /// Let the operation continue.
    case proceed(@Sendable () -> Void)
  }

  private(set) var records: [ObserverRecord] = []
  private var mailbox = HeadedQueue<Delivery>()
  private(set) var isDelivering = false
  /// The outcome of the operation, once it has settled.
  private(set) var outcome: Outcome<any Sendable>?
  /// Whether the operation runs. What happens inside one that never runs is no event.
  var hasBegun = false
  /// The fraction before the operation runs, which is told when it starts.
  private var earlyFraction = 0.0
  private var lastFraction = 0.0
  private var isMonitoring = false
  var cancelsWhenLastLeaves = false
  /// How many threads are searching the operations inside, to watch them for tree observers.
  var treeWalks = 0

  // MARK: - Posting

  /// Posts an event. Like the other `post` methods, returns whether the caller must deliver.

  mutating func post(_ event: OperationEvent) -> Bool {
    guard outcome == nil else { return false }
    let isFirst = deposit(.event(event, to: records))
    if case .started = event.content {
      hasBegun = true
      _ = postProgress(earlyFraction)
    }
    return isFirst
  }

  mutating func postChild(_ child: Operation) -> Bool {
    let interested = records.filter { $0.interests.contains(.children) }
    guard hasBegun, outcome == nil, !interested.isEmpty else { return false }
    return deposit(.event(.childAdded(child), to: interested))
  }

  /// Posts an event of an operation inside the observed one.
  mutating func postInner(_ event: OperationEvent, of operation: Operation) -> Bool {
    let interest: ObserverInterests = if case .left = event.content { .leaving } else { .tree }
    let interested = records.filter { $0.interests.contains(interest) }
    guard hasBegun, outcome == nil, !interested.isEmpty else { return false }
    return deposit(.event(event, inner: operation, to: interested))
  }

  /// Posts a fraction if it is new. Fractions may come from several threads, out of order.
  mutating func postProgress(_ fraction: Double) -> Bool {
    guard hasBegun else {
      earlyFraction = max(earlyFraction, fraction)
      return false
    }
    // Steps of exactly a thousandth may be a little shorter as floating-point numbers.
    let isGreater = fraction - lastFraction > 0.001 - 1e-9
    guard outcome == nil, isGreater || fraction == 1 && lastFraction < 1 else { return false }
    lastFraction = fraction
    let interested = records.filter { $0.interests.contains(.progress) }
    return interested.isEmpty ? false : deposit(.event(.progress(fraction), to: interested))
  }

  /// Posts the outcome. The operation continues after the outcome was delivered to all observers.
  mutating func settle(_ outcome: Outcome<any Sendable>, _ proceed: @escaping @Sendable () -> Void) -> Bool {
    precondition(self.outcome == nil, "settle() after the end")
    self.outcome = outcome
    let isFirst = deposit(.event(.settled(outcome), to: records))
    records = []
    return deposit(.proceed(proceed)) || isFirst
  }

  mutating func add(_ record: ObserverRecord) -> Bool {
    guard let outcome else {
      records.append(record)
      return false
    }
    return deposit(.event(.settled(outcome), to: [record]))
  }

  private mutating func deposit(_ delivery: Delivery) -> Bool {
    mailbox.append(delivery)
    defer { isDelivering = true }
    return !isDelivering
  }

  // MARK: - Delivering

  /// Returns the next delivery; nil if there is none, which ends delivering.
  mutating func nextDelivery() -> Delivery? {
    precondition(isDelivering, "nextDelivery() while no thread delivers")
    let delivery = mailbox.popFirst(leaving: .event(.started, to: []))
    if delivery == nil { isDelivering = false }
    return delivery
  }

  /// Begins to post children. Returns false if that has begun before, or the operation has settled.
  mutating func beginMonitoring() -> Bool {
    defer { isMonitoring = true }
    return !isMonitoring && outcome == nil
  }

  // MARK: - Leaving

  /// Removes an observer. Returns whether the caller must cancel the operation.
  mutating func remove(_ record: ObserverRecord) -> Bool {
    guard outcome == nil, let index = records.firstIndex(where: { $0 === record }) else { return false }
    records.remove(at: index)
    return cancelsWhenLastLeaves && record.interests.contains(.stays)
      && !records.contains { $0.interests.contains(.stays) }
  }
}
