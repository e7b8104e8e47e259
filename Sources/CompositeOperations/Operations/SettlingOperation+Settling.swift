import Foundation

// The steps from the start to the outcome and its notifications.

extension SettlingOperation {
  // MARK: - Start

  /// - Parameters:
  ///   - hub: the hub that delivers `started`, if there is one.
  ///   - announced: whether key-value observers were notified that it will start.
  @inline(__always)
  final func carryOut(
    _ action: OperationState.StartAction, telling hub: (any EventSink)? = nil, announced: Bool, _ prepare: () -> Void
  ) {
    if announced { didStart() }
    switch action {
    case .run:
      prepare()
      if state.current.hasAny([.hasDependencies, .needsNoSlot]), !prepareStart() {
        hub?.deliver()
        return
      }
      if !announced { announceStart() }
      if let hub {
        hub.deliver()
        // An observer may have settled the operation.
        guard state.current.phase == .executing else { return discardWork() }
      }
      callMain()
      #if DEBUG
      if state.current.phase == .executing, state.apply({ $0.returnFromMain() }) { HangWatch.current.watch(self) }
      #endif
    case .settleCancelled:
      prepare()
      unwind()
    case .finish:
      finish()
    case .ignore:
      break
    }
  }

  @inline(never)
  final func startObserved(byOwner: Bool, announced: Bool, _ prepare: () -> Void) {
    // The event is posted in one step with the change of state, like all events: so they are in
    // order.
    let (action, hub) = StripedLock.withLock(of: self) {
      let action = state.apply { $0.start(byOwner: byOwner) }
      return (action, action == .run ? rareFields?.hub?.posting(.started) : nil)
    }
    carryOut(action, telling: hub, announced: announced, prepare)
  }

  /// Returns false if the operation has failed, because it depends on an operation inside it.
  private func prepareStart() -> Bool {
    if state.current.has(.hasDependencies), let unmet = dependencies.first(where: { !$0.isFinished }) {
      let content = compositionBase?.content(awaitedBy: self)
      require(
        content != nil,
        "\(OperationError.describe(self)) was started before its dependency \(OperationError.describe(unmet)) finished. "
          + "Add it to an OperationQueue or a composite, or call run(): they wait for dependencies.")
      let error = OperationError(circle: [self, content!])
      discardWork()
      settle(as: .failure, error: failure(unrunBecauseOf: error))
      return false
    }
    if state.current.has(.needsNoSlot) { compositionBase?.ownerWillStart(self) }
    return true
  }

  // MARK: - Settle

  /// Settles the operation unless it has settled: without a value, which means `()` for a success.
  ///
  /// - Parameter byHand: whether the caller is code other than the operation's own composition.
  /// - Returns: whether the passed ending became the outcome.
  @discardableResult
  final func settle(
    as ending: OperationState.Ending, error: consuming (any Error)? = nil, byHand: Bool = false
  ) -> Bool {
    let announces = ending == .cancelled && willCancel()
    guard case .win(let actual, let unstarted) = state.apply({ $0.settle(as: ending) }) else {
      if announces { announceCancel() }
      awaitPublication()
      return false
    }
    if actual == ending {
      storedError = error
      publish(unstarted: unstarted, cancelling: announces, byHand: byHand)
    } else {
      // Released after the outcome is readable: a deinitializer may use the operation.
      withExtendedLifetime(error) { publish(unstarted: unstarted, cancelling: announces, byHand: byHand) }
    }
    return actual == ending
  }

  /// Settles the operation as a success unless it has settled; like ``settle(as:error:byHand:)``.
  @discardableResult
  final func settle(value: consuming any Sendable, byHand: Bool = false) -> Bool {
    guard case .win(let actual, let unstarted) = state.apply({ $0.settle(as: .success) }) else {
      awaitPublication()
      return false
    }
    if actual == .success {
      storedValue = value
      publish(unstarted: unstarted, byHand: byHand)
    } else {
      withExtendedLifetime(value) { publish(unstarted: unstarted, byHand: byHand) }
    }
    return actual == .success
  }

  /// Makes the stored outcome readable, and takes the steps that follow.
  ///
  /// - Parameter cancelling: whether key-value observers were notified that `isCancelled` will turn
  ///   true.
  @inline(__always)
  private func publish(unstarted: Bool, cancelling: Bool = false, byHand: Bool) {
    let action = state.apply { $0.publish(finishing: FoundationDifferences.finishesInOneStep) }
    if state.current.has(.awaited) { Publication.announce() }
    if cancelling { announceCancel() }
    if unstarted { discardWork() }
    if action == .deliverCompletion { runUserCode { deliverCompletion() } }
    // Before parents and observers, which then find the work cancelled.
    if byHand, state.current.hasAny([.needsNoSlot, .endsByItself]) { wasSettledByHand() }
    if action == .announce { announce() } else { conclude() }
  }

  /// Waits until the outcome is readable, for a caller that was too late to settle or cancel.
  ///
  /// The winner is a few instructions away from that: it only stores the outcome, and runs no user
  /// code. The caller sleeps only if the winner was preempted there, which leaves it the processor.
  final func awaitPublication() {
    guard state.current.phase == .settling, state.apply({ $0.awaitPublication() }) else { return }
    Publication.wait { state.current.phase != .settling }
  }

  private func conclude() {
    // A queue finishes an operation that it holds with its `start()`. `super.cancel()` makes it
    // ready for Foundation, whatever its dependencies, so that this happens soon. Our own
    // `isCancelled` does not change.
    if !state.current.isStartedForQueue, isStartedByQueue, state.apply({ $0.deferFinish() }) {
      tellFoundation { super.cancel() }
      (self as? any FinishingLater)?.finishWasDeferred()
      return
    }
    finish()
  }

  private func finish() {
    let hasDependencies = state.current.has(.hasDependencies)
    // Foundation counts the dependencies that have finished; a cancel ends the count early.
    if hasDependencies, !super.isReady || state.current.hasAny([.cancelled, .finishesWhenStarted]) {
      leaveDependencies()
    }
    announceFinish { state.apply { $0.finish() } }
    if hasDependencies {
      // Not its own ones, which may be asked for now. Nor those that are just finishing: in a
      // circle, threads that release the dependencies of each other would wait for each other.
      for case let dependency as SettlingOperation in super.dependencies where dependency.isFinished {
        let haveEnded = dependency.dependencies.allSatisfy { operation in
          (operation as? SettlingOperation).map { $0.state.current.phase == .announced } ?? operation.isFinished
        }
        if haveEnded, dependency.state.apply({ $0.forgetDependencies() }) { dependency.releaseDependencies() }
      }
    }
    tellEnd()
  }

  /// Releases the dependencies of an operation that has finished or is released: one after the
  /// other, because each may be the last of a long chain.
  final func releaseDependencies() {
    var dependencies = super.dependencies
    // Foundation, which has emptied the list of that one, holds its lock on this thread.
    let announcing = ThreadContext.current.announcing
    changeDependencies {
      for dependency in dependencies where dependency !== announcing { super.removeDependency(dependency) }
    }
    ReleaseList.release(&dependencies)
  }

  /// Announces an operation that finished in one step, the usual case.
  private func announce() {
    announceFinish {}
    tellEnd()
  }

  /// Notifies observers and listeners, after Foundation.
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
    case .success: return .success(storedValue)
    case .failure: return .failure(storedError!)
    case .cancelled: return .cancelled
    case .none: preconditionFailure("\(self) settled without an ending")
    }
  }

  /// Releases the value when the operation is deinitialized.
  final func discardOutcome() { storedValue = () }
}
