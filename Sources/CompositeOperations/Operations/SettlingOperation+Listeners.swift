import Foundation

// Who is told that an operation has settled, and the fields that few operations need.

extension SettlingOperation {
  /// Tells the observers first, and those who wait when all of these have been told.
  @inline(never)
  final func tellObserversOfEnd() {
    let (hub, progress) = StripedLock.withLock(of: self) { (rareFields?.hub, rareFields?.progress) }
    progress?.ownerDidSettle(succeeded: state.current.ending == .success)
    guard let hub, let outcome = erasedOutcome else { preconditionFailure("\(self) is observed by nobody") }
    // The composition and who awaits the operation come after the observers, also where another thread tells these.
    hub.settle(outcome) { [self] in
      if state.apply({ $0.announce() }) { notifyListeners() }
    }
  }

  /// Tells those who wait for the operation, and releases `onCancel`.
  final func notifyListeners() {
    var observation: Observation?
    var rareFields: RareFields?  // also so that what it holds is released outside the lock
    StripedLock.withLock(of: self) {
      swap(&observation, &self.observation)
      swap(&rareFields, &self.rareFields)
      self.rareFields = rareFields?.lasting
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
    let made = RareFields()
    rareFields = made
    return made
  }

  /// Has something called if the operation is cancelled or settled before it starts, perhaps more than once.
  final func setWhenDecidedUnstarted(_ action: @escaping @Sendable () -> Void) {
    let isLate = StripedLock.withLock(of: self) {
      switch state.apply({ $0.addCancelHook() }) {
      case .keep where !state.current.has(.cancelled):
        makeRareFields().whenDecidedUnstarted = action
        return false
      case .keep, .call, .drop:
        return true
      }
    }
    if isLate { action() }
  }

  /// Asks to be told once the operation has settled and announced it. False if it has already.
  package final func observe(_ observer: any SettlementObserver, tag: Int = 0) -> Bool {
    StripedLock.withLock(of: self) {
      guard state.apply({ $0.addObserver() }) else { return false }
      let added = Observation(observer: observer, tag: tag)
      if observation == nil { observation = added } else { makeRareFields().furtherObservations.append(added) }
      return true
    }
  }
}
