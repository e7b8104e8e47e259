import Dispatch
import Foundation
import Synchronization

// How a composition starts its children, waits for their dependencies, cancels them, or settles
// them without running them.

/// The children of a composition that wait for their dependencies.
struct Waits {
  /// A composition without a place may wait for several operations inside it; one that can start is
  /// enough.
  var pending: [Int: [DependencyWait]] = [:]
  var circles = DependencyCircles()
  /// The errors of children that cannot hold one themselves: plain ones in a circle of
  /// dependencies, and those that a queue holds.
  var refused: [Int: OperationError] = [:]
  /// The tags, by number, of children whose end monitors are being notified of.
  var told: [Int: Int] = [:]
  /// How often plain children were polled that are not ready for no known reason.
  var polls: [Int: Int] = [:]
}

extension Composition {
  /// Starts a child. Returns nil if the child has finished, which the caller handles; `inFlight` if
  /// the child keeps the slot; `done` if the slot is free: the child is a composition, was started
  /// by other code, waits for its dependencies, or may no longer start. Then this composition is
  /// notified when the child, or the last dependency, has finished.
  ///
  /// - Parameter isOurs: whether the caller knows that this composition has adopted the child.
  final func launch(
    _ child: Operation, tag: Int, isOurs: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult? {
    guard child.isOwn else { return launchForeign(child, tag: tag, isOurs: isOurs, in: slot, context) }
    let child = child.asOwn
    if child.waitsInQueue || joins && !isOurs {
      guard child.adopt() else {
        guard joins else { return leaveToQueue(child, tag: tag) }
        // Monitors first: once the child is joined, the thread that ends the composition may report
        // its settlement.
        tellWillStart(child, tag: tag)
        guard table.withLock({ $0.mark(tag, .joined) }) else { return left(child, tag) }
        if !child.observe(self, tag: tag) { operationDidSettle(child, tag: tag) }
        return .done
      }
      guard table.withLock({ $0.mark(tag, .ours) }) else { return mayNotStart(child, tag, context) }
    }
    let state = child.state.current
    if state.phase == .pending, state.has(.hasDependencies), !state.has(.cancelled) {
      // In this order: once one child of a circle was refused, the others are ready, and known.
      let waits = DependencyWait.isNeeded(for: child)
      if let error = knownCircle(of: child) { return refuse(child, tag: tag, error, context) }
      if waits { return park(child, tag: tag, context) }
    }
    let isLimiting = state.has(.needsNoSlot) && self.isLimiting
    if isLimiting {
      // It would wait in its place, which one of those that it waits for may need.
      let blocked = child.blockedContents
      if !blocked.isEmpty { return park(child, tag: tag, behind: blocked, context) }
    }
    if OperationContext.isUsed { passContext(to: child) }
    // A child that was cancelled before settles in `start()`, and never runs.
    let isTold = (state.phase != .pending || !state.has(.cancelled)) && tellWillStart(child, tag: tag)
    if state.has(.needsNoSlot) {
      context.expect(child.composition) {
        child.start(byOwner: true) {
          child.composition?.inherited = environmentForChildren
          if isLimiting { child.composition?.inherited?.limit = LimitAround(self) }
          child.composition?.takePlace { place(of: tag) }
        }
      }
      return child.observe(self, tag: tag) ? .done : nil
    }
    slot.willStart(child)
    context.startChild(child, qualityOfService: environment.qualityOfService)
    if child.state.current.phase == .announced { return nil }
    // A monitor that was attached meanwhile may have found that the child had not started.
    if !isTold { tellWillStart(child, tag: tag) }
    return child.observe(observer(for: slot), tag: tag) ? .inFlight : nil
  }

  /// Stops waiting for a child that other code starts.
  private func left(_ child: Operation, _ tag: Int) -> WorkResult {
    switch tableKind {
    case .steps: leaveStep(child, tag)
    case .list: leave(tag, child)
    case .tags: operationDidSettle(child, tag: tag)
    }
    return .done
  }

  /// Settles a child without running it, because no further child may start.
  private func mayNotStart(_ child: Operation, _ tag: Int, _ context: ThreadContext) -> WorkResult {
    if tableKind == .steps { abandonStep(child, tag, context) } else { refused(child, tag, context) }
    return .done
  }

  /// Starts an operation of a type outside the package: exactly once, and only when it is ready.
  private func launchForeign(
    _ child: Operation, tag: Int, isOurs: Bool, in slot: any WorkSlot, _ context: ThreadContext
  ) -> WorkResult? {
    if child.isFinished { return nil }
    let isInQueue = child.isInQueue
    if isInQueue, !joins { return leaveToQueue(child, tag: tag) }
    if child.isExecuting || isInQueue {
      tellWillStart(child, tag: tag)
      if joins, !table.withLock({ $0.mark(tag, .joined) }) { return left(child, tag) }
      ForeignOperations.observe(child, self, tag: tag)
      return .done
    }
    if joins, !isOurs, !table.withLock({ $0.mark(tag, .ours) }) { return mayNotStart(child, tag, context) }
    let isReady = child.isReady
    if let error = knownCircle(of: child) { return refuse(child, tag: tag, error, context) }
    if !isReady { return park(child, tag: tag, context) }
    if !child.isCancelled { tellWillStart(child, tag: tag) }
    slot.willStart(child)
    runUserCode(context) {
      if child.isCancelled { child.startCancelled() } else { child.start() }
    }
    if child.isFinished { return nil }
    ForeignOperations.observe(child, observer(for: slot), tag: tag)
    return .inFlight
  }

  /// The quality of service of a child that runs at a higher one than the composition; nil for
  /// others. In a queue that was given, the queue decides, and a composition applies its own.
  final func higherQualityOfService(of child: Operation) -> QualityOfService? {
    guard environment.pool == nil else { return nil }
    if let child = child as? SettlingOperation {
      let state = child.state.current
      guard state.has(.hasQualityOfService), !state.has(.needsNoSlot) else { return nil }
    }
    let own = child.qualityOfService
    // Plain operations that were given none have the default one.
    return own != .default && own.urgency > environment.qualityOfService.urgency ? own : nil
  }

  private func observer(for slot: any WorkSlot) -> any SettlementObserver {
    environment.pool == nil ? self : SlotHolder(composition: self, slot: slot)
  }

  // MARK: - Dependencies of children

  /// Lets a child wait outside of its place.
  ///
  /// - Parameter blocked: the operations inside it that it waits for; empty if it waits for its own
  ///   dependencies.
  private func park(
    _ child: Operation, tag: Int, behind blocked: [Operation] = [], _ context: ThreadContext
  ) -> WorkResult? {
    if let error = newCircle(of: child, tag: tag) { return refuse(child, tag: tag, error, context) }
    let end: @Sendable () -> Void = { [self] in endWait(tag) }
    let waiting = blocked.isEmpty ? [child] : blocked.filter { !$0.isTaken }
    // Of those inside, other code may settle each, or is to start it.
    let waits =
      waiting.map { DependencyWait(for: $0, whenMet: end) }
      + blocked.map { DependencyWait(untilSettled: $0, whenMet: end) }
    self.waits.withLock { $0.pending[tag] = waits }
    guard table.withLock({ $0.mark(tag, .waiting) }) else { return mayNotStart(child, tag, context) }
    (child as? SettlingOperation)?.setWhenDecidedUnstarted(end)
    for case let operation as SettlingOperation in waiting {
      operation.setWhenDecidedUnstarted(end)
      operation.setWhenNothingIsAwaited(end)
    }
    if !(child is SettlingOperation), !DependencyWait.isNeeded(for: child) {
      poll(tag)
      return .done
    }
    for wait in waits { wait.begin() }
    if waiting.contains(where: { ($0 as? SettlingOperation)?.awaitsNothingMore == true }) { endWait(tag) }
    return .done
  }

  /// The error of a child that an earlier search found in a circle of dependencies.
  @inline(__always)
  private func knownCircle(of child: Operation) -> OperationError? {
    guard hasRefusals.load(ordering: .acquiring) else { return nil }
    return waits.withLock { $0.circles.error(of: child) }
  }

  /// The error of a child that is about to wait, if it would wait for itself.
  private func newCircle(of child: Operation, tag: Int) -> OperationError? {
    let (isHarmless, isKnown) = waits.withLock { waits in
      waits.circles.beginSearch()
      return (waits.circles.isHarmless(child), waits.circles.isKnown(child))
    }
    guard !isHarmless else { return nil }
    // A child in a circle that an earlier search visited searches it again, to find its members.
    let search = DependencyCircles.Search(from: child) { next in
      next === child || (next as? SettlingOperation)?.isExecuting(self) == true
    } skips: { operation in
      waits.withLock { isKnown ? $0.circles.isHarmless(operation) : $0.circles.isKnown(operation) }
    }
    let found = search.found.map { OperationError(circle: $0) }
    let error = waits.withLock { waits in
      waits.circles.add(search, found, tag: tag)
      return waits.circles.error(of: child)
    }
    return error ?? circleOfPlaces(through: child, search)
  }

  /// Fails a child that can never start because it is in a circle of dependencies.
  private func refuse(_ child: Operation, tag: Int, _ error: OperationError, _ context: ThreadContext) -> WorkResult? {
    // The other members of the circle become ready once this one has finished.
    hasRefusals.store(true, ordering: .releasing)
    if let child = child as? SettlingOperation {
      if OperationContext.isUsed { passContext(to: child) }
      context.runUserCode { _ = child.settle(as: .failure, error: child.failure(unrunBecauseOf: error)) }
      return child.observe(self, tag: tag) ? .done : nil
    }
    waits.withLock { $0.refused[shownTag(tag)] = error }
    return abandon(child, tag: tag, context) ? nil : .done
  }

  /// Fails a child that other code has added to a queue since the composition adopted it. The queue
  /// runs it, and the composition does not wait for it.
  private func leaveToQueue(_ child: Operation, tag: Int) -> WorkResult? {
    hasRefusals.store(true, ordering: .releasing)
    waits.withLock { $0.refused[shownTag(tag)] = OperationError(.alreadyInUse, operation: child) }
    return nil
  }

  /// The outcome of a child, as the composition sees it.
  final func outcome(of child: Operation, tag: Int) -> Outcome<any Sendable> {
    if let error = refusal(of: tag) { return .failure(error) }
    return child.anyOutcome ?? .success(())
  }

  /// The error of a child that cannot hold it: see ``Waits/refused``.
  final func refusal(of tag: Int) -> OperationError? { refusals[tag] }

  final var refusals: [Int: OperationError] {
    hasRefusals.load(ordering: .acquiring) ? waits.withLock { $0.refused } : [:]
  }

  /// Polls a plain operation that has no unfinished dependency and is still not ready.
  ///
  /// Foundation notifies the dependents of a finished operation one after the other, in any order,
  /// so this may last a moment. It lasts longer if the operation overrides `isReady`, which cannot
  /// be observed on Linux.
  private func poll(_ tag: Int) {
    let polls = waits.withLock { waits in
      waits.polls[tag, default: -1] += 1
      return waits.polls[tag]!
    }
    let delay = polls == 0 ? nil : DispatchTimeInterval.milliseconds(1 << min(polls - 1, 5))
    Threads.later(after: delay, qualityOfService: environment.qualityOfService) { [self] in endWait(tag) }
  }

  private func endWait(_ tag: Int) {
    abandonWait(tag)
    childBecameReady(tag)
  }

  private func abandonWait(_ tag: Int) {
    let ended = waits.withLockIfMade { waits in
      waits.circles.forget(tag)
      return waits.pending.removeValue(forKey: tag)
    }
    for wait in (ended ?? nil) ?? [] { wait.cancel() }
  }

  /// Settles a child without running its `main`. Returns false if it has not finished yet; it then
  /// notifies the observer when it has.
  ///
  /// - Parameters:
  ///   - joins: whether to leave a child alone, as if finished, that other code starts.
  ///   - observer: the observer of the child; nil for this composition.
  final func abandon(
    _ child: Operation, tag: Int, joins: Bool = false, observer: (any SettlementObserver)? = nil,
    _ context: ThreadContext
  ) -> Bool {
    let observer = observer ?? self
    abandonWait(tag)
    if joins, !child.adopt() { return true }
    if let child = child as? SettlingOperation {
      if OperationContext.isUsed { passContext(to: child) }
      if child.state.current.has(.needsNoSlot) {
        guard child.observe(observer, tag: tag) else { return true }
        context.perform(.unwind(child))
        return false
      }
      context.runUserCode {
        child.cancel()
        child.start(byOwner: true) {}
      }
      return !child.observe(observer, tag: tag)
    }
    runUserCode(context) {
      child.cancel()
      guard !child.isFinished, !child.isExecuting, !child.isInQueue else { return }
      child.startCancelled()
    }
    if child.isFinished { return true }
    ForeignOperations.observe(child, observer, tag: tag)
    return false
  }

  /// Cancels a child that waits for its turn, like other code would; not one that other code
  /// starts.
  ///
  /// - Parameter isOurs: whether it is known that this composition starts the child.
  final func cancelWaiting(_ child: Operation, isOurs: Bool, _ context: ThreadContext) {
    if isOurs || !child.isTaken { cancel(child, context) }
  }

  /// Cancels a child that was started or is about to be.
  final func cancel(_ child: Operation, _ context: ThreadContext) {
    if let child = child as? SettlingOperation, child.state.current.has(.needsNoSlot) {
      context.perform(.cancel(child))
    } else {
      context.runUserCode { child.cancel() }
    }
  }
}

/// Notifies both the composition and the slot that a leaf has settled.
private final class SlotHolder: SettlementObserver {
  private let composition: Composition
  private let slot: any WorkSlot

  init(composition: Composition, slot: any WorkSlot) {
    self.composition = composition
    self.slot = slot
  }

  func operationDidSettle(_ operation: Operation, tag: Int) {
    composition.operationDidSettle(operation, tag: tag)
    slot.operationDidSettle()
  }
}
