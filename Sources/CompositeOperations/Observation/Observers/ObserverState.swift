import Foundation

/// The observers of one operation and what they have not been told yet.
///
/// Events are posted in the order in which they happen, to those who are there by then, and delivered one after the other
/// by one thread at a time: the one that found nobody delivering. It is known at once, when the event is posted, that it
/// will; so nobody else can begin to deliver before it does.
struct ObserverState {
  enum Delivery {
    /// - Parameter inner: what it happened to, if that is inside the operation.
    case event(OperationEvent, inner: Operation? = nil, to: [ObserverRecord])
    /// The operation goes on.
    case proceed(@Sendable () -> Void)
  }

  private(set) var records: [ObserverRecord] = []
  /// One for each place at which observers are called. Kept to the end, for events may wait there.
  private var places: [ObserverMailbox] = []
  private var mailbox: [Delivery] = []
  private var first = 0
  private(set) var isDelivering = false
  /// How the operation has ended, if it has.
  private(set) var outcome: Outcome<any Sendable>?
  private var lastFraction = 0.0
  private var isMonitoring = false
  var cancelsWhenLastLeaves = false
  /// How many threads look for what is inside the operation, to have its tree observers told of it.
  var treeWalks = 0

  // MARK: - Posting

  /// Each of these returns whether the caller has to deliver.

  mutating func post(_ event: OperationEvent) -> Bool {
    guard outcome == nil else { return false }
    return deposit(.event(event, to: records))
  }

  mutating func postChild(_ child: Operation) -> Bool {
    let interested = records.filter { $0.interests.contains(.children) }
    guard outcome == nil, !interested.isEmpty else { return false }
    return deposit(.event(.childAdded(child), to: interested))
  }

  /// Something has happened to an operation inside.
  mutating func postInner(_ event: OperationEvent, of operation: Operation) -> Bool {
    let interested = records.filter { $0.interests.contains(.tree) }
    guard outcome == nil, !interested.isEmpty else { return false }
    return deposit(.event(event, inner: operation, to: interested))
  }

  /// Fractions may come from several threads, out of order.
  mutating func postProgress(_ fraction: Double) -> Bool {
    guard outcome == nil, fraction >= lastFraction + 0.001 || fraction == 1 && lastFraction < 1 else { return false }
    lastFraction = fraction
    let interested = records.filter { $0.interests.contains(.progress) }
    return interested.isEmpty ? false : deposit(.event(.progress(fraction), to: interested))
  }

  /// The operation has settled. It goes on when all have been told.
  mutating func settle(_ outcome: Outcome<any Sendable>, _ proceed: @escaping @Sendable () -> Void) -> Bool {
    precondition(self.outcome == nil, "settle() after the end")
    self.outcome = outcome
    let isFirst = deposit(.event(.settled(outcome), to: records))
    records = []
    return deposit(.proceed(proceed)) || isFirst
  }

  mutating func add(_ record: ObserverRecord) -> Bool {
    if case .mailbox(let place) = record.place { record.share(mailbox(at: place)) }
    guard let outcome else {
      records.append(record)
      return false
    }
    return deposit(.event(.settled(outcome), to: [record]))
  }

  private mutating func mailbox(at place: ObserverMailbox.Place) -> ObserverMailbox {
    if let shared = places.first(where: { $0.place == place }) { return shared }
    let made = ObserverMailbox(at: place)
    places.append(made)
    return made
  }

  private mutating func deposit(_ delivery: Delivery) -> Bool {
    mailbox.append(delivery)
    defer { isDelivering = true }
    return !isDelivering
  }

  // MARK: - Delivering

  /// What to deliver next; nil if there is nothing, and nobody delivers any more.
  mutating func nextDelivery() -> Delivery? {
    precondition(isDelivering, "nextDelivery() while nobody delivers")
    guard first < mailbox.count else {
      mailbox.removeAll(keepingCapacity: mailbox.count < 1024)
      first = 0
      isDelivering = false
      return nil
    }
    let delivery = mailbox[first]
    // Let go of what was delivered.
    mailbox[first] = .event(.started, to: [])
    first += 1
    return delivery
  }

  /// Somebody wants to know of children. Returns whether that is new.
  mutating func beginMonitoring() -> Bool {
    defer { isMonitoring = true }
    return !isMonitoring && outcome == nil
  }

  // MARK: - Leaving

  /// One is gone. Returns whether the operation is to be cancelled for it.
  mutating func remove(_ record: ObserverRecord) -> Bool {
    guard outcome == nil, let index = records.firstIndex(where: { $0 === record }) else { return false }
    records.remove(at: index)
    return cancelsWhenLastLeaves && record.interests.contains(.stays)
      && !records.contains { $0.interests.contains(.stays) }
  }
}
