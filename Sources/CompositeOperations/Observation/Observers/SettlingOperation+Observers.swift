public import Foundation

extension SettlingOperation {
  /// Has an observer told what happens to the operation from now on, until it has settled.
  ///
  /// ```swift
  /// upload.addObserver { event in
  ///   if let outcome = event.outcome { log("upload: \(outcome)") }
  /// }
  /// ```
  ///
  /// Events are told in the order in which they happen, one at a time, under no lock: on the thread that made them happen
  /// or, if another one is just telling the observers of this operation something, on that one; with a queue, in that
  /// queue. Observers are told in the order in which they were added. Without a queue they hold the operation up, so they
  /// should not block: `main` runs when they have been told of the start, and the parent composite, and who awaits the
  /// operation, go on when they have been told of the end.
  ///
  /// An observer may do with the operation whatever it likes. What it does takes effect at once, and is told when it and
  /// the other observers have returned. If it settles the operation when told of the start, `main` does not run. One that
  /// it adds is told of what happens from then on.
  ///
  /// On an operation that has settled, the observer is told of that at once, on the calling thread or in its queue.
  ///
  /// - Parameters:
  ///   - queue: where to call the observer. It is called there one event after the other, whatever the queue's limit is,
  ///     also for events that were waiting when the operations of the queue were cancelled.
  ///   - observer: the observer. Released when it has been told of the end, or removed.
  /// - Returns: a token to remove the observer with, which need not be kept.
  @discardableResult
  public final func addObserver(
    on queue: OperationQueue? = nil, _ observer: @escaping @Sendable (OperationEvent) -> Void
  ) -> ObservationToken {
    let record = ObserverRecord(interests: .everything, at: queue.map { .mailbox(.queue($0)) } ?? .anywhere) {
      event, _ in observer(event)
    }
    return ObservationToken(record, in: add(record))
  }

  /// Has an observer of the package's own told of the start, a cancel and the end: it costs next to nothing, and is none
  /// of those of which the last one leaves.
  @discardableResult
  package final func addLifecycleObserver(_ observer: @escaping @Sendable (OperationEvent) -> Void) -> ObservationToken
  {
    let record = ObserverRecord(interests: [], at: .anywhere) { event, _ in observer(event) }
    return ObservationToken(record, in: add(record))
  }

  /// Has an observer of the package's own told of progress. It is none of those of which the last one leaves.
  package final func addProgressObserver(_ observer: @escaping @Sendable (_ fraction: Double) -> Void) {
    _ = add(
      ObserverRecord(interests: .progress, at: .anywhere) { event, _ in
        if let fraction = event.fractionCompleted { observer(fraction) }
      })
  }

  /// Whether the operation is cancelled when the last of its observers has left before it settled: was removed, or gave up
  /// reading its stream. False unless set otherwise.
  ///
  /// Observers and event streams both count. As long as there was none yet, none has left. Setting it when the last one
  /// has left already does nothing.
  public final var cancelsWhenLastObserverLeaves: Bool {
    get { StripedLock.withLock(of: self) { rareFields?.observerHub }?.cancelsWhenLastLeaves ?? false }
    set {
      if newValue || cancelsWhenLastObserverLeaves { withHub { $0 }?.cancelsWhenLastLeaves = newValue }
    }
  }

  /// The hub, if there is one, and the operation has not been announced as finished.
  ///
  /// - Parameter body: called inside the lock.
  @discardableResult
  private func withHub<R>(_ body: (ObserverHub) -> R) -> R? {
    StripedLock.withLock(of: self) {
      guard state.apply({ $0.addHub() }) else { return nil }
      let fields = makeRareFields()
      let hub = fields.observerHub ?? ObserverHub(of: self)
      fields.hub = hub
      return body(hub)
    }
  }

  /// Returns the hub that knows the observer; nil if it has been told of the end already, because the operation had
  /// settled.
  final func add(_ record: ObserverRecord) -> ObserverHub? {
    guard let (hub, delivers) = withHub({ ($0, $0.adding(record)) }) else {
      if let outcome = erasedOutcome {
        let isTree = record.interests.contains(.tree)
        record.deliver(.settled(outcome), of: isTree ? EventSubject(operation: self, isInner: false) : nil)
      }
      return nil
    }
    delivers?.deliver()
    if record.interests.contains(.children), let source { hub.monitor(source) }
    if record.interests.contains(.tree) { hub.watchTree(of: self) }
    if record.interests.contains(.progress) { reportProgress(to: hub) }
    return hub
  }
}

extension RareFields {
  /// There is no other sink.
  fileprivate var observerHub: ObserverHub? { hub.map { unsafeDowncast($0, to: ObserverHub.self) } }
}
