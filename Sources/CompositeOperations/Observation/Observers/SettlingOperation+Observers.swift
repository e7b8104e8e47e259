import Foundation

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
  /// The observer is called in the order of events, for one event at a time, under no lock. It is
  /// called on the thread that caused the event, or on another thread that is calling the observers
  /// of this operation at that moment. Observers are called in the order in which they were added;
  /// one that is added after the operation has settled may come before earlier ones that still have
  /// events to receive.
  ///
  /// An observer delays the operation, so it should not block: `main` runs after `started` was
  /// delivered, and the parent composite and awaiting tasks continue after `settled` was delivered.
  /// For longer work, hop to a queue or a task in the observer. To be called on the main actor, use
  /// ``addMainActorObserver(_:)``.
  ///
  /// An observer may call any method of the operation. The call takes effect at once, and the
  /// resulting event is delivered after this observer and the others have returned. If an observer
  /// settles the operation in the call for `started`, `main` does not run. An observer that it adds
  /// receives the events from then on.
  ///
  /// If the operation has already settled, the observer is called with `settled` at once, on the
  /// calling thread.
  ///
  /// - Parameter observer: the observer. Released after `settled`, or when it is removed.
  /// - Returns: a token that removes the observer; it need not be kept.
  @discardableResult
  public final func addObserver(_ observer: @escaping @Sendable (OperationEvent) -> Void) -> ObservationToken {
    add(ObserverRecord(interests: .everything) { event, _ in observer(event) })
  }

  /// Adds an internal observer of the start, a cancel and the end. The observer costs next to
  /// nothing, and does not count for `cancelsWhenLastObserverLeaves`.
  @discardableResult
  package final func addLifecycleObserver(_ observer: @escaping @Sendable (OperationEvent) -> Void) -> ObservationToken
  {
    add(ObserverRecord(interests: []) { event, _ in observer(event) })
  }

  /// Adds an internal observer of progress, which does not count for
  /// `cancelsWhenLastObserverLeaves`.
  package final func addProgressObserver(_ observer: @escaping @Sendable (_ fraction: Double) -> Void) {
    _ = add(
      ObserverRecord(interests: .progress) { event, _ in
        if let fraction = event.fractionCompleted { observer(fraction) }
      })
  }

  /// Whether to cancel the unsettled operation when its last observer leaves. False by default.
  ///
  /// An observer leaves when it is removed, or when its event stream is no longer read. Observers
  /// and event streams both count, telemetry sinks do not. An operation that never had an observer
  /// is not cancelled. Setting this after the last observer has left does nothing.
  public final var cancelsWhenLastObserverLeaves: Bool {
    get {
      let hub = StripedLock.withLock(of: self) { rareFields?.observerHub }
      return hub?.state.withLock { $0.cancelsWhenLastLeaves } ?? false
    }
    set {
      guard newValue || cancelsWhenLastObserverLeaves else { return }
      withHub { $0 }?.state.withLock { $0.cancelsWhenLastLeaves = newValue }
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
      if state.current.phase != .pending { hub.state.withLock { $0.hasBegun = true } }
      fields.hub = hub
      return body(hub)
    }
  }

  /// Adds an observer. If the operation has settled, the observer is notified of that.
  final func add(_ record: ObserverRecord) -> ObservationToken {
    let added = withHub { hub in (hub, hub.state.withLock { $0.add(record) }) }
    if let (hub, delivers) = added {
      if delivers { hub.deliver() }
      if record.interests.contains(.children), let composition { hub.monitor(composition) }
      if record.interests.contains(.tree) { hub.watchTree(of: self) }
      if record.interests.contains(.progress) { reportProgress(to: hub) }
    } else if let outcome = erasedOutcome {
      let isTree = record.interests.contains(.tree)
      let subject = isTree ? EventSubject(operation: self, isInner: false) : nil
      record.deliver(.settled(outcome), of: subject, in: context)
    }
    return ObservationToken { [weak record, weak hub = added?.0] in
      guard let record else { return }
      record.end()
      hub?.remove(record)
    }
  }
}

extension RareFields {
  /// The hub is the only kind of sink.
  fileprivate var observerHub: ObserverHub? { hub.map { unsafeDowncast($0, to: ObserverHub.self) } }
}
