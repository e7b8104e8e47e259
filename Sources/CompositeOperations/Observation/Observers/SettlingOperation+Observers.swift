public import Foundation

extension SettlingOperation {
  /// Adds an observer that is called with the operation's events from now on, until the operation
  /// has settled.
  ///
  /// ```swift
  /// upload.addObserver { event in
  ///   if let outcome = event.outcome { log("upload: \(outcome)") }
  /// }
  /// ```
  ///
  /// The observer is called in the order of events, for one event at a time, under no lock. With a
  /// queue, it is called in that queue. Without a queue, it is called on the thread that caused the
  /// event, or on another thread that is calling the observers of this operation at that moment.
  /// Observers are called in the order in which they were added; one that is added after the
  /// operation has settled may come before earlier ones that still have events to receive. An
  /// observer without a queue delays the operation, so it should not block: `main` runs after
  /// `started` was delivered, and the parent composite and awaiting tasks continue after `settled`
  /// was delivered.
  ///
  /// An observer may call any method of the operation. The call takes effect at once, and the
  /// resulting event is delivered after this observer and the others have returned. If an observer
  /// settles the operation in the call for `started`, `main` does not run. An observer that it adds
  /// receives the events from then on.
  ///
  /// If the operation has already settled, the observer is called with `settled` at once, on the
  /// calling thread or in its queue.
  ///
  /// - Parameters:
  ///   - queue: where to call the observer, for one event at a time, whatever the queue's limit.
  ///     `cancelAllOperations()` of the queue drops no events.
  ///   - observer: the observer. Released after `settled`, or when it is removed.
  /// - Returns: a token that removes the observer; it need not be kept.
  @discardableResult
  public final func addObserver(
    on queue: OperationQueue? = nil, _ observer: @escaping @Sendable (OperationEvent) -> Void
  ) -> ObservationToken {
    let record = ObserverRecord(interests: .everything, at: queue.map { .mailbox(.queue($0)) } ?? .anywhere) {
      event, _ in observer(event)
    }
    return ObservationToken(record, in: add(record))
  }

  /// Adds an internal observer of the start, a cancel and the end. The observer costs next to
  /// nothing, and does not count for `cancelsWhenLastObserverLeaves`.
  @discardableResult
  package final func addLifecycleObserver(_ observer: @escaping @Sendable (OperationEvent) -> Void) -> ObservationToken
  {
    let record = ObserverRecord(interests: [], at: .anywhere) { event, _ in observer(event) }
    return ObservationToken(record, in: add(record))
  }

  /// Adds an internal observer of progress, which does not count for
  /// `cancelsWhenLastObserverLeaves`.
  package final func addProgressObserver(_ observer: @escaping @Sendable (_ fraction: Double) -> Void) {
    _ = add(
      ObserverRecord(interests: .progress, at: .anywhere) { event, _ in
        if let fraction = event.fractionCompleted { observer(fraction) }
      })
  }

  /// Whether to cancel the unsettled operation when its last observer leaves. False by default.
  ///
  /// An observer leaves when it is removed, or when its event stream is no longer read. Observers
  /// and event streams both count, telemetry sinks do not. An operation that never had an observer
  /// is not cancelled. Setting this after the last observer has left does nothing.
  public final var cancelsWhenLastObserverLeaves: Bool {
    get { StripedLock.withLock(of: self) { rareFields?.observerHub }?.cancelsWhenLastLeaves ?? false }
    set {
      if newValue || cancelsWhenLastObserverLeaves { withHub { $0 }?.cancelsWhenLastLeaves = newValue }
    }
  }

  /// Calls `body` with the hub, which is made if needed. Returns nil once the operation was
  /// announced as finished.
  ///
  /// - Parameter body: called inside the lock.
  @discardableResult
  private func withHub<R>(_ body: (ObserverHub) -> R) -> R? {
    StripedLock.withLock(of: self) {
      guard state.apply({ $0.addHub() }) else { return nil }
      let fields = makeRareFields()
      if let hub = fields.observerHub { return body(hub) }
      let hub = ObserverHub(of: self)
      if state.current.phase != .pending { hub.whileLocked { $0.hasBegun = true } }
      fields.hub = hub
      return body(hub)
    }
  }

  /// Adds an observer. Returns the hub of the operation; nil if the operation had already settled
  /// and the observer was notified of that.
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
  /// The hub is the only kind of sink.
  fileprivate var observerHub: ObserverHub? { hub.map { unsafeDowncast($0, to: ObserverHub.self) } }
}
