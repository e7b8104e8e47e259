import Foundation

// The steps from the start to the outcome, and to those who are told of it.

extension SettlingOperation {
  // MARK: - Start

  /// - Parameters:
  ///   - hub: delivers that the operation has started, if it is to.
  ///   - announced: whether observers by key have been told that it will.
  @inline(__always)
  final func carryOut(_ action: OperationState.StartAction, telling hub: (any EventSink)? = nil, announced: Bool) {
    if announced { didStart() }
    switch action {
    case .run:
      if state.current.has([.hasDependencies, .needsNoSlot]) { prepareStart() }
      if !announced { announceStart() }
      if let hub {
        hub.deliver()
        // An observer may have settled it.
        guard state.current.phase == .executing else { return discardWork() }
      }
      withAutoreleasePool { main() }
      #if DEBUG
      if state.current.phase == .executing, state.apply({ $0.returnFromMain() }) { HangWatch.current.watch(self) }
      #endif
    case .settleCancelled:
      unwind()
    case .finish:
      finish()
    case .ignore:
      break
    }
  }

  @inline(never)
  final func startObserved(announced: Bool) {
    // In one step with the change of the state, like all events: so they come in the order in which things happen.
    let (action, hub) = StripedLock.withLock(of: self) {
      let action = state.apply { $0.start() }
      return (action, action == .run ? rareFields?.hub?.posting(.started) : nil)
    }
    carryOut(action, telling: hub, announced: announced)
  }

  private func prepareStart() {
    if state.current.has(.hasDependencies) { requireReadiness() }
    if state.current.has(.needsNoSlot) { composition?.ownerWillStart(self) }
  }

  private func requireReadiness() {
    let unmet = dependencies.first { !$0.isFinished }
    require(
      unmet == nil,
      "\(OperationError.describe(self)) was started before its dependency \(OperationError.describe(unmet!)) finished. "
        + "Add it to an OperationQueue or a composite, or call run(): they wait for dependencies.")
  }

  // MARK: - Settle

  /// Settles the operation, if nobody has yet.
  ///
  /// - Parameter byHand: whether the caller is other code than the operation's own source.
  /// - Returns: whether what was passed became the outcome.
  @discardableResult
  final func settle(
    as ending: OperationState.Ending, value: consuming (any Sendable)? = nil, error: consuming (any Error)? = nil,
    byHand: Bool = false
  ) -> Bool {
    let announces = ending == .cancelled && willCancel()
    guard case .win(let actual, let unstarted) = state.apply({ $0.settle(as: ending) }) else {
      if announces { announceCancel() }
      awaitPublication()
      return false
    }
    if actual == ending {
      storedValue = value
      storedError = error
      publish(unstarted: unstarted, cancelling: announces, byHand: byHand)
    } else {
      // Released when the outcome is readable: that may run code that uses the operation.
      withExtendedLifetime((value, error)) { publish(unstarted: unstarted, cancelling: announces, byHand: byHand) }
    }
    return actual == ending
  }

  /// Makes the outcome, which has been stored, readable, and does what follows from it.
  ///
  /// - Parameter cancelling: whether observers by key have been told that `isCancelled` turns true.
  @inline(__always)
  private func publish(unstarted: Bool, cancelling: Bool, byHand: Bool) {
    let action = state.apply { $0.publish(finishing: FoundationDifferences.finishesInOneStep) }
    if state.current.has(.awaited) { Publication.announce() }
    if cancelling { announceCancel() }
    if unstarted { discardWork() }
    if action == .deliverCompletion { ThreadContext.current.runUserCode { deliverCompletion() } }
    // Before parents and observers are told: they find the work cancelled.
    if byHand, state.current.has(.needsNoSlot) { wasSettledByHand() }
    if action == .announce { announce() } else { conclude(unstarted: unstarted) }
  }

  /// A caller that comes too late to settle or to cancel returns with the outcome readable.
  ///
  /// The winner is a few instructions away from that: between the two steps it only stores the outcome, and runs no code
  /// of the user's. Only if it lost its processor there the caller sleeps until then, which leaves the processor to it.
  final func awaitPublication() {
    guard state.current.phase == .settling, state.apply({ $0.awaitPublication() }) else { return }
    Publication.wait { state.current.phase != .settling }
  }

  private func conclude(unstarted: Bool) {
    // An operation that a queue holds is finished by that queue's start(), which `super.cancel()` hastens: it makes
    // the operation ready in Foundation's eyes, whatever its dependencies. Our own `isCancelled` stays as it is.
    if unstarted, state.current.has(.readinessWasRead), isHeldByQueue, state.apply({ $0.deferFinish() }) {
      tellFoundation { super.cancel() }
      return
    }
    finish()
  }

  private func finish() {
    if state.current.has(.hasDependencies) { leaveDependenciesThatWereNotMet() }
    announceFinish { state.apply { $0.finish() } }
    tellEnd()
  }

  final func leaveDependenciesThatWereNotMet() {
    // Foundation counts those that have told it; a cancel sets the count to zero without that.
    if !super.isReady || state.current.has([.cancelled, .finishesWhenStarted]) { leaveDependencies() }
  }

  /// The same for an operation that is finished already, in the usual case that nothing stands between.
  private func announce() {
    announceFinish {}
    tellEnd()
  }

  /// Foundation has been told; now the others are.
  @inline(__always)
  private func tellEnd() {
    if let hasListeners = state.apply({ $0.has(.observed) ? nil : $0.announce() }) {
      if hasListeners { notifyListeners() }
    } else {
      tellObserversOfEnd()
    }
  }

  // MARK: - Outcome

  /// The outcome with its value's type erased; nil until settled.
  final var erasedOutcome: Outcome<any Sendable>? {
    let state = state.current
    guard state.isSettled else { return nil }
    switch state.ending {
    case .success: return .success(storedValue ?? ())
    case .failure: return .failure(storedError!)
    case .cancelled: return .cancelled
    case .none: preconditionFailure("\(self) settled without an ending")
    }
  }

  /// The value of an operation known to have succeeded.
  final var succeededValue: any Sendable { storedValue ?? () }

  /// Gives up the value, when the operation is being released.
  final func discardOutcome() { storedValue = nil }
}
