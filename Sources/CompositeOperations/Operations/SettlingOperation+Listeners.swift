import Foundation

// Notifies that an operation has settled, and makes the fields that few operations need.

extension SettlingOperation {
  /// Notifies observers first, and the listeners when all observers have returned.
  @inline(never)
  final func tellObserversOfEnd() {
    let (hub, progress) = StripedLock.withLock(of: self) { (rareFields?.hub, rareFields?.progress) }
    progress?.ownerDidSettle(succeeded: state.current.ending == .success)
    guard let hub, let outcome = erasedOutcome else { preconditionFailure("\(self) has no observers to notify") }
    // The parent composition and awaiting tasks come after the observers, even if another thread
    // calls these.
    hub.settle(outcome) { [self] in
      if state.apply({ $0.announce() }) { notifyListeners() }
    }
  }

  /// Notifies the listeners of the operation, and releases `onCancel`.
  final func notifyListeners() {
    var observation: Observation?
    var rareFields: RareFields?  // its contents are released outside the lock
    StripedLock.withLock(of: self) {
      swap(&observation, &self.observation)
      rareFields = self.rareFields
      if let rareFields { extras = rareFields.lasting }
    }
    rareFields?.progress?.ownerDidSettle(succeeded: state.current.ending == .success)
    rareFields?.whenDecidedUnstarted?()
    guard let observation else { return }
    let context = ThreadContext.current
    context.notify(observation, self)
    for further in rareFields?.furtherObservations ?? [] { context.notify(further, self) }
  }

  /// Called inside the striped lock.
  final func makeRareFields() -> RareFields {
    if let rareFields { return rareFields }
    let made = RareFields(context: extras?.context)
    extras = made
    return made
  }

  /// Sets a closure that is called, perhaps more than once, if the operation is cancelled or
  /// settled before it starts.
  final func setWhenDecidedUnstarted(_ action: @escaping @Sendable () -> Void) {
    var replaced: (@Sendable () -> Void)?  // released outside the lock
    let isLate = StripedLock.withLock(of: self) {
      guard state.apply({ $0.addCancelHook() }) == .keep, !state.current.has(.cancelled) else { return true }
      let fields = makeRareFields()
      // Not `swap`, which allocates for closures.
      (replaced, fields.whenDecidedUnstarted) = (fields.whenDecidedUnstarted, action)
      return false
    }
    withExtendedLifetime(replaced) {}
    if isLate { action() }
  }

  /// Sets a closure that is called when the last unfinished dependency is removed, in place of the
  /// one before. Afterwards the caller asks for ``awaitsNothingMore``.
  final func setWhenNothingIsAwaited(_ action: @escaping @Sendable () -> Void) {
    var replaced: (@Sendable () -> Void)?  // released outside the lock
    StripedLock.withLock(of: self) {
      guard state.current.phase == .pending else { return }
      let fields = makeRareFields()
      (replaced, fields.whenNothingIsAwaited) = (fields.whenNothingIsAwaited, action)
    }
    withExtendedLifetime(replaced) {}
  }

  /// Whether dependencies were removed, and none is left that has not finished.
  final var awaitsNothingMore: Bool {
    state.current.has(.lostDependency) && dependencies.allSatisfy(\.isFinished)
  }

  /// Adds an observer of the announced settlement. Returns false if that has happened already.
  package final func observe(_ observer: any SettlementObserver, tag: Int = 0) -> Bool {
    StripedLock.withLock(of: self) {
      guard state.apply({ $0.addObserver() }) else { return false }
      let added = Observation(observer: observer, tag: tag)
      if observation == nil { observation = added } else { makeRareFields().furtherObservations.append(added) }
      return true
    }
  }
}
